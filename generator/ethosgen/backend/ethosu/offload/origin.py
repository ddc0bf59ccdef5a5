"""Map the original operators to Vela's output, using Regor's database.

Regor numbers the operators that it reads (source) and the ones that it derives from them
(optimised). It lists the command stream of each derived one (queue) and their order (perf).
"""

from collections.abc import Mapping, Sequence

from ethosgen.backend.ethosu.offload.origins import Sources, read_sources
from ethosgen.backend.ethosu.offload.vela import Row
from ethosgen.backend.ethosu.payload import CUSTOM_CODE
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.network import Graph

KEPT = "Passthrough"
"""Regor's name for an operator that it leaves unchanged."""


class Origin:
    """The partition or CPU operator of each operator of the original graph.

    `on_npu[i]` are the original operators of partition i, in order. `on_cpu` maps operators of the
    residual graph to the original ones, if known.
    """

    def __init__(
        self, original: Graph, residual: Graph, tables: Mapping[str, Sequence[Row]]
    ) -> None:
        self._original = original
        self._tables = tables
        self.on_cpu = self._match_cpu(residual)
        count = sum(op.custom_code == CUSTOM_CODE for op in residual.operators)
        self.on_npu = self._match_npu(count)

    def _source(self, row: Row) -> OperatorIndex | None:
        """Return the index of a row's original operator.

        Sources are numbered from 1, graph by graph, and the entry graph comes first.
        """
        number = int(row.get("source_id") or 0)
        return OperatorIndex(number - 1) if 1 <= number <= len(self._original.operators) else None

    def _match_cpu(self, residual: Graph) -> dict[ResidualIndex, OperatorIndex]:
        """Match the residual graph's CPU operators by Regor's schedule, else by their outputs."""
        rows = [row for row in self._tables.get("perf", ()) if row["operator"] == KEPT]
        scheduled = [self._source(row) for row in rows]
        on_cpu = [op for op in residual.operators if op.custom_code != CUSTOM_CODE]
        makers = {
            self._original.tensors[index].name: OperatorIndex(op.index)
            for op in self._original.operators
            for index in op.outputs
        }
        origins: dict[ResidualIndex, OperatorIndex] = {}
        for position, op in enumerate(on_cpu):
            source = scheduled[position] if len(scheduled) == len(on_cpu) else None
            if source is None or self._original.operators[source].code != op.code:
                names = (residual.tensors[index].name for index in op.outputs)
                source = next((makers[name] for name in names if name in makers), None)
            if source is not None:
                origins[ResidualIndex(op.index)] = source
        return origins

    def _match_npu(self, count: int) -> list[tuple[OperatorIndex, ...]]:
        """Match partitions with the operators of their command streams.

        An operator without commands (RESHAPE) belongs to the reader of its output, else to the
        writer of its input.
        """
        sources = {row["id"]: self._source(row) for row in self._tables.get("optimised", ())}
        home: dict[OperatorIndex, int] = {}
        for row in self._tables.get("queue", ()):
            source, stream = sources.get(row["optimised_id"]), int(row["cmdstream_id"]) - 1
            if source is not None and 0 <= stream < count:
                home.setdefault(source, stream)
        on_cpu = set(self.on_cpu.values())
        homeless = [i for i in self._live() if i not in home and i not in on_cpu]
        for operator in reversed(homeless):
            self._house(operator, home, self._readers(operator))
        for operator in homeless:
            self._house(operator, home, self._writers(operator))
        if count == 1:
            home = dict.fromkeys(homeless, 0) | home
        return [tuple(sorted(i for i, h in home.items() if h == p)) for p in range(count)]

    def sources(self) -> list[Sources]:
        """Return, for each partition, the operators of its commands."""
        return read_sources(self._tables, len(self.on_npu), self._source)

    @staticmethod
    def _house(
        operator: OperatorIndex, home: dict[OperatorIndex, int], neighbours: list[OperatorIndex]
    ) -> None:
        near = [home[i] for i in neighbours if i in home]
        if near:
            home.setdefault(operator, near[0])

    def _readers(self, operator: OperatorIndex) -> list[OperatorIndex]:
        outputs = set(self._original.operators[operator].outputs)
        return [
            OperatorIndex(op.index) for op in self._original.operators if outputs & set(op.inputs)
        ]

    def _writers(self, operator: OperatorIndex) -> list[OperatorIndex]:
        read = set(self._original.operators[operator].inputs)
        return [
            OperatorIndex(op.index) for op in self._original.operators if read & set(op.outputs)
        ]

    def _live(self) -> list[OperatorIndex]:
        """Return the operators on which the network's outputs depend, in order."""
        wanted = set(self._original.outputs)
        live: list[OperatorIndex] = []
        for op in reversed(self._original.operators):
            if wanted & set(op.outputs):
                wanted.update(op.inputs)
                live.append(OperatorIndex(op.index))
        return live[::-1]
