"""Task graphs whose tasks are parts of operators, for networks larger than an element's memory."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.splitting.boxes import meet
from ethosgen.splitting.choice import Split, SplitRun, Splitter
from ethosgen.splitting.grid import Grid
from ethosgen.splitting.means import CostWeights, Means, cycles_of
from ethosgen.splitting.network import network_of
from ethosgen.splitting.parts import OperatorPart, bytes_of
from ethosgen.splitting.reading import PARTIAL, TOTAL
from ethosgen.stages.task_graph import Edge, Task, TaskGraph
from ethosgen.values.errors import CapacityError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Graph, Network
from ethosgen_place.system import MeshSystem
from ethosgen_place.tasks import run_name


@dataclass(frozen=True)
class RunCut:
    """How the operators of a run were cut; `halo` are the rows that two neighbours both read.

    `part` is "" or the kind of sums: those over some input channels, or the one of them all.
    """

    name: str
    cut: Grid
    halo: int
    kind: str = ""

    @property
    def text(self) -> str:
        """The cut for people: "'2 CONV_2D' in 24 parts: 12 by rows (halo 2), 2 by channels"."""
        ways = [
            f"{count} by {axis}" + (f" (halo {self.halo})" if axis == "rows" and self.halo else "")
            for axis, count in self.ways.items()
        ]
        of = {PARTIAL: "sums of ", TOTAL: "total of "}.get(self.kind, "")
        return f"{of}'{self.name}' in {counted(self.parts, 'part')}: {', '.join(ways)}"

    @property
    def parts(self) -> int:
        """The number of parts."""
        return self.cut.parts * self.cut.depth

    @property
    def ways(self) -> dict[str, int]:
        """The numbers of parts by axis, where there are several."""
        counts = {
            "input channels": self.cut.depth,
            "rows": self.cut.rows,
            "columns": self.cut.columns,
            "channels": self.cut.channels,
        }
        return {axis: count for axis, count in counts.items() if count > 1}

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON types."""
        kind = {PARTIAL: "sums", TOTAL: "total"}.get(self.kind, "operators")
        return {"name": self.name, "of": kind, "parts": self.parts, "halo": self.halo, **self.ways}


@dataclass(frozen=True)
class SplitNetwork:
    """A network cut into parts: their task graph, and what was cut how.

    `parts` is the network of the parts in TFLite's operators, None if it was not asked for.
    """

    graph: TaskGraph
    cuts: tuple[RunCut, ...]
    parts: Network | None = None


class NetworkSplitter:
    """Cuts a network into parts that fit.

    `boundaries` are where runs of operators may start, and the end; `merges` tells whether a run
    may extend over several. `finer` allows more parts than the memory demands, and `always` demands
    to cut what can be cut. With the network of the parts, the tasks name its operators. Then no
    layer is cut along its input channels.
    """

    def __init__(
        self,
        network: Network,
        cycles: Sequence[int],
        boundaries: Sequence[int],
        system: MeshSystem,
        *,
        merges: bool = True,
        finer: bool = False,
        always: bool = False,
        with_parts: bool = False,
    ) -> None:
        self._network, self._with_parts = network, with_parts
        means = replace(_means(system), sums=not with_parts, finer=finer or always)
        self._splitter = Splitter(
            network.graph, cycles, boundaries, means, merges=merges, always=always
        )

    def split(self, weights: CostWeights) -> SplitNetwork:
        """Return the parts that cost least; CapacityError if an operator has none that fit."""
        network = self._network
        split = self._splitter.split(weights)
        if isinstance(split, int):
            end = next(stop for stop in self._splitter.boundaries if stop > split)
            name = run_name(network.graph, split, end)
            raise CapacityError(
                f"'{network.name}': '{name}' has no parts that fit the "
                f"{self._splitter.means.memory_bytes:,} B of an element with their buffers; give "
                "the elements more"
            )
        cuts, graph = tuple(_cuts(network.graph, split)), _tasks_of(network, split)
        if not self._with_parts:
            return SplitNetwork(graph, cuts)
        parts = network_of(network, [part for run in split.runs for part in run.parts])
        tasks = tuple(
            task.model_copy(update={"operators": span})
            for task, span in zip(graph.tasks, parts.spans, strict=True)
        )
        return SplitNetwork(graph.model_copy(update={"tasks": tasks}), cuts, parts.network)


def _means(system: MeshSystem) -> Means:
    """Return the resources of an element, with a memory that at least half of them have."""
    alive = np.flatnonzero(system.alive)
    memory = int(np.sort(system.memories[alive])[(len(alive) - 1) // 2])
    some = alive[system.memories[alive] >= memory]
    clock = float(np.median(system.clocks[some]))
    return Means(memory, clock, system.link.bytes_per_s, len(some))


def _tasks_of(network: Network, split: Split) -> TaskGraph:
    tasks, owners = list[Task](), defaultdict[int, list[tuple[int, OperatorPart]]](list)
    edges: dict[tuple[int, int], int] = {}
    names = list[str]()
    for run in split.runs:
        title = _title(network.graph, run, split.graph)
        for number, part in enumerate(run.parts):
            task = len(names)
            name = title if len(run.parts) == 1 else f"{title}, part {number + 1}"
            names.append(name)
            for tensor, box in part.reads.items():
                for owner, maker in owners[tensor]:
                    shared = meet(maker.makes[tensor], box)
                    if shared is not None:
                        size = bytes_of(split.graph, tensor, shared)
                        edges[owner, task] = edges.get((owner, task), 0) + size
            tasks.append(_task(name, network, split, run, part))
        for number, part in enumerate(run.parts, len(names) - len(run.parts)):
            for tensor in part.makes:
                owners[tensor].append((number, part))
    hand_overs = tuple(
        Edge.model_validate({"from": names[i], "to": names[j], "bytes": size})
        for (i, j), size in sorted(edges.items())
    )
    return TaskGraph(schema_version=1, name=network.name, tasks=tuple(tasks), edges=hand_overs)


def _task(name: str, network: Network, split: Split, run: SplitRun, part: OperatorPart) -> Task:
    graph, ports = split.graph, network.graph
    makes = {t: bytes_of(graph, t, box) for t, box in part.makes.items()}
    outputs = sum(size for tensor, size in makes.items() if tensor in ports.outputs)
    return Task(
        name=name,
        cycles=max(1, cycles_of(part, split.cycles)),
        memory_bytes=part.memory_bytes,
        made_bytes=sum(makes.values()) - outputs,
        multiplications=sum(
            pieces(graph.macs(graph.operators[op]) * some, whole)
            for op, some, whole in part.shares()
        ),
        input_bytes=sum(bytes_of(graph, t, b) for t, b in part.reads.items() if t in ports.inputs),
        output_bytes=outputs,
        operators=run.origin if len(run.parts) == 1 and not _kind(graph, run) else None,
    )


def _title(original: Graph, run: SplitRun, graph: Graph) -> str:
    first, last = run.origin
    title = run_name(original, first, last + 1)
    operator = graph.operators[run.run.start]
    if operator.custom_code == PARTIAL:
        start, end = operator.options["depth"]
        return f"{title}, inputs {start}-{end - 1}"
    return f"{title}, total" if operator.custom_code == TOTAL else title


def _kind(graph: Graph, run: SplitRun) -> str:
    code = graph.operators[run.run.start].custom_code
    return code if code in (PARTIAL, TOTAL) else ""


def _cuts(original: Graph, split: Split) -> Iterator[RunCut]:
    """Yield what was cut, the partial sums of a layer together."""
    kinds: dict[tuple[tuple[int, int], str], list[SplitRun]] = {}
    for run in split.runs:
        kinds.setdefault((run.origin, _kind(split.graph, run)), []).append(run)
    for ((first, last), kind), runs in kinds.items():
        cut = Grid(*runs[0].cut.counts, depth=len(runs))
        if cut.parts * cut.depth > 1:
            name = run_name(original, first, last + 1)
            yield RunCut(name, cut, _halo(split.graph, runs[0]), kind)


def _halo(graph: Graph, run: SplitRun) -> int:
    """Return the most rows that two parts, one below the other, both read of a tensor."""
    if run.cut.rows == 1:
        return 0
    below = len(run.parts) // run.cut.rows
    most = 0
    for upper, lower in zip(run.parts, run.parts[below:], strict=False):
        for tensor, box in upper.reads.items():
            if len(box) == _IMAGE and (other := lower.reads.get(tensor)):
                most = max(most, box[1][1] - other[1][0])
    return most


_IMAGE = 4
"""The rank of tensors with rows in the sense of images."""
