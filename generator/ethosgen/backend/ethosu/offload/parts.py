"""Parts of a graph of TOSA's operators that Vela compiles as separate files.

Vela takes a .tosa file completely or not at all, so operators that it refuses divide the graph into
stages: a part never waits for the CPU after it has started. An operator belongs to the stage after
the last CPU operator on which it depends.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.ethosu.stream import OWN_BASES
from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.network import Graph, Network, Operator

WIDE = "int64"
"""The dtype of int48 sums, which exist on the NPU only within a part."""


@dataclass(frozen=True)
class Part:
    """Operators for the NPU, by index and in order, with their inputs and outputs."""

    operators: tuple[OperatorIndex, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def ends(self) -> int:
        """The number of its inputs and outputs."""
        return len(self.inputs) + len(self.outputs)

    def network(self, whole: Network) -> Network:
        """Return the part as a network; its tensors have the indices of the whole one."""
        operators = tuple(
            replace(whole.graph.operators[index], index=position)
            for position, index in enumerate(self.operators)
        )
        graph = replace(whole.graph, operators=operators, inputs=self.inputs, outputs=self.outputs)
        return whole.edited(graph)


def units(graph: Graph, staying: Collection[int]) -> list[tuple[OperatorIndex, ...]]:
    """Return the operators that do not stay in groups that only the NPU or only the CPU can run.

    A group is connected by int48 sums, which the NPU does not store.
    """
    group = {op.index: op.index for op in graph.operators}
    makers = _makers(graph)

    def find(index: int) -> int:
        while group[index] != index:
            index = group[index]
        return index

    for op in graph.operators:
        for tensor in op.inputs:
            if graph.tensors[tensor].dtype == WIDE and tensor in makers:
                group[find(op.index)] = find(makers[tensor])
    members: dict[int, list[OperatorIndex]] = {}
    for op in graph.operators:
        members.setdefault(find(op.index), []).append(OperatorIndex(op.index))
    return [tuple(unit) for unit in members.values() if not set(unit) & set(staying)]


def make_part(graph: Graph, operators: Sequence[int]) -> Part:
    """Return the part of some operators, which are in order."""
    chosen = set(operators)
    produced = {i for index in operators for i in graph.operators[index].outputs}
    read = dict.fromkeys(
        i
        for index in operators
        for i in graph.operators[index].inputs
        if i not in produced and graph.tensors[i].data is None
    )
    outside = {i for op in graph.operators if op.index not in chosen for i in op.inputs}
    wanted = outside | set(graph.outputs)
    outputs = [i for index in operators for i in graph.operators[index].outputs if i in wanted]
    return Part(tuple(map(OperatorIndex, operators)), tuple(read), tuple(outputs))


def divide_graph(graph: Graph, on_npu: Collection[int]) -> list[Part | Operator]:
    """Return the parts and the operators on the CPU, in an order in which they can run.

    A part has at most OWN_BASES inputs and outputs, unless it is a single operator.
    """
    stages = _stages(graph, on_npu)
    steps: list[Part | Operator] = []
    for stage in range(max(stages.values(), default=-1) + 1):
        here = [op for op in graph.operators if stages[op.index] == stage]
        steps += _parts(graph, [op.index for op in here if op.index in on_npu])
        steps += [op for op in here if op.index not in on_npu]
    return steps


def _stages(graph: Graph, on_npu: Collection[int]) -> dict[int, int]:
    makers, stages = _makers(graph), dict[int, int]()
    for op in graph.operators:
        before = [makers[i] for i in op.inputs if i in makers]
        waits = op.index in on_npu
        stages[op.index] = max((stages[i] + (waits and i not in on_npu) for i in before), default=0)
    return stages


def _parts(graph: Graph, operators: Sequence[int]) -> Iterator[Part]:
    """Yield parts whose operators share tensors, split if they have too many ends."""
    for connected in _connected(graph, operators):
        part = make_part(graph, connected)
        if part.ends <= OWN_BASES or len(connected) == 1:
            yield part
        else:
            middle = len(connected) // 2
            yield from _parts(graph, connected[:middle])
            yield from _parts(graph, connected[middle:])


def _connected(graph: Graph, operators: Sequence[int]) -> list[list[int]]:
    groups: list[tuple[set[int], list[int]]] = []
    for index in operators:
        op = graph.operators[index]
        ends = {i for i in (*op.inputs, *op.outputs) if graph.tensors[i].data is None}
        mine = [index]
        for group in [candidate for candidate in groups if candidate[0] & ends]:
            groups.remove(group)
            ends |= group[0]
            mine = group[1] + mine
        groups.append((ends, sorted(mine)))
    return sorted((members for _, members in groups), key=min)


def _makers(graph: Graph) -> dict[int, int]:
    return {i: op.index for op in graph.operators for i in op.outputs}
