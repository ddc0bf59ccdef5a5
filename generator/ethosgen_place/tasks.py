"""A network as a task graph: runs of operators, their cycles and memory, what they hand over."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from ethosgen.backend import compiler_of, find_accelerator
from ethosgen.backend.protocol import DivisionTask, Offer
from ethosgen.stages.cuts import positions
from ethosgen.stages.task_graph import Edge, TaskGraph
from ethosgen.stages.task_graph import Task as Stage
from ethosgen.values.allocation import FREE, OperatorIndex
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Graph, Network
from ethosgen.values.plan import IoStyle
from ethosgen_place.stages import cut

GRAPH_SUFFIX = ".json"
"""The suffix of a task graph's file; any other file is a network."""


def task_graph(network: Network, stages: int | None, cycles: Sequence[int]) -> TaskGraph:
    """Return a network as a task graph of stages, as many as possible if None.

    A stage is a run of consecutive operators between two places where `ethosgen pipeline` can cut,
    too: variables and resources stay within one, and operators that only move bytes stay with a
    neighbour. `cycles` are those of operators. InputError for more stages than the network can be
    cut into.
    """
    graph = network.graph
    lives = _Lives(graph)
    boundaries = stage_boundaries(network, stages, cycles, lives.crossing)
    starts, ends = boundaries[:-1], boundaries[1:]
    names = [run_name(graph, *span) for span in zip(starts, ends, strict=True)]
    tasks = tuple(
        Stage(
            name=name,
            cycles=sum(cycles[a:b]),
            memory_bytes=lives.memory(a, b),
            multiplications=sum(graph.macs(op) for op in graph.operators[a:b]),
            input_bytes=lives.inputs(a, b),
            output_bytes=lives.outputs(a, b),
            operators=(a, b - 1),
        )
        for name, a, b in zip(names, starts, ends, strict=True)
    )
    stage_of = [s for s, (a, b) in enumerate(zip(starts, ends, strict=True)) for _ in range(a, b)]
    edges = tuple(
        Edge.model_validate({"from": names[i], "to": names[j], "bytes": size})
        for (i, j), size in sorted(lives.hand_overs(stage_of).items())
    )
    return TaskGraph(schema_version=1, name=network.name, tasks=tasks, edges=edges)


def stage_boundaries(
    network: Network, stages: int | None, cycles: Sequence[int], crossing: Sequence[int]
) -> list[int]:
    """Return the first operator of each stage, and the end."""
    graph = network.graph
    if not graph.operators:
        raise InputError(f"'{network.name}' has no operators, so there is nothing to place")
    runs = list(pairwise(starts_of(graph)))
    if stages is not None and stages > len(runs):
        raise InputError(
            f"'{network.name}' can be cut into at most {counted(len(runs), 'stage')}, so it cannot "
            f"be cut into {stages}; pass --stages {len(runs)} or fewer"
        )
    costs = [sum(cycles[a:b]) for a, b in runs]
    first = cut(costs, stages or len(runs), [crossing[a] for a, _ in runs])
    return [*(runs[i][0] for i in first), len(graph.operators)]


_MOVING = frozenset("PAD PADV2 MIRROR_PAD RESHAPE SQUEEZE EXPAND_DIMS".split())
"""Operators without work of their own: an element for one would only pass on bytes."""


def starts_of(graph: Graph) -> list[int]:
    """Return the possible starts of stages, and the end: each stage computes, if any operator does.

    Operators that move bytes stay with the operator after them, at the end with the one before.
    """
    works = [operator.code not in _MOVING for operator in graph.operators]
    starts = [0]
    for start in positions(graph)[1:]:
        if any(works[starts[-1] : start]) and any(works[start:]):
            starts.append(start)
    return [*starts, len(works)]


def estimated_cycles(network: Network, npu: str | None) -> list[int]:
    """Return the estimated cycles of each operator: the NPU's if it takes it, else the CPU's.

    UnsupportedError if one has no estimate.
    """
    from ethosgen import aot

    graph = network.graph
    offers: dict[OperatorIndex, Offer] = {}
    if npu is not None:
        accelerator = find_accelerator(npu)
        task = DivisionTask(network, accelerator, IoStyle.ARENA, aot)
        offers = dict(compiler_of(accelerator).offers(task, FREE))
    estimates = []
    for operator in graph.operators:
        offer = offers.get(OperatorIndex(operator.index))
        if offer is not None and offer.cycles is not None:
            estimates.append(max(1, offer.cycles))
            continue
        if npu is not None and offer is None:  # it disappears in another operator
            estimates.append(1)
            continue
        cycles = aot.cpu_cycles(operator, graph)
        if cycles is None:
            output = graph.tensors[operator.outputs[0]].name if operator.outputs else "nothing"
            raise UnsupportedError(
                f"'{network.name}': there is no estimate of the cycles of {operator.title}, "
                f"operator {operator.index}, which computes '{output}'; write a task graph "
                f"({GRAPH_SUFFIX}) with your own figures"
            )
        estimates.append(max(1, cycles))
    return estimates


class _Lives:
    """The operators that write and read the tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.makers = {t: op.index for op in graph.operators for t in op.outputs}
        self.used: dict[int, list[int]] = {}
        for op in graph.operators:
            for tensor in dict.fromkeys(op.inputs):
                if tensor != ABSENT:
                    self.used.setdefault(tensor, []).append(op.index)

    @property
    def crossing(self) -> Sequence[int]:
        """The bytes that are alive between each operator and the one before it."""
        changes = [0] * (len(self.graph.operators) + 1)
        for tensor, maker in self.makers.items():
            last = max(self.used.get(tensor, [maker]))
            changes[maker + 1] += self.graph.tensors[tensor].bytes
            changes[last + 1] -= self.graph.tensors[tensor].bytes
        return list(accumulate(changes))

    def memory(self, first: int, end: int) -> int:
        """Return the constants of operators, and the most that they have in memory at a time."""
        constants = {
            t
            for op in self.graph.operators[first:end]
            for t in op.inputs
            if t != ABSENT and self.graph.tensors[t].data is not None
        }
        inner = [
            (maker, max(self.used[tensor]), self.graph.tensors[tensor].bytes)
            for tensor, maker in self.makers.items()
            if first <= maker < end and self.used.get(tensor) and max(self.used[tensor]) < end
        ]
        alive = [sum(size for a, b, size in inner if a <= op <= b) for op in range(first, end)]
        return sum(self.graph.tensors[t].bytes for t in constants) + max(alive)

    def inputs(self, first: int, end: int) -> int:
        """Return the bytes of the graph's inputs that operators use."""
        return sum(
            self.graph.tensors[tensor].bytes
            for tensor in dict.fromkeys(self.graph.inputs)
            if any(first <= user < end for user in self.used.get(tensor, ()))
        )

    def outputs(self, first: int, end: int) -> int:
        """Return the bytes of the graph's outputs that operators make."""
        return sum(
            self.graph.tensors[tensor].bytes
            for tensor in dict.fromkeys(self.graph.outputs)
            if first <= self.makers.get(tensor, -1) < end
        )

    def hand_overs(self, stage_of: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the bytes from each stage to each other one that needs its tensors."""
        frames: dict[tuple[int, int], int] = {}
        for tensor, maker in self.makers.items():
            sender = stage_of[maker]
            for receiver in {stage_of[user] for user in self.used.get(tensor, ())} - {sender}:
                pair = sender, receiver
                frames[pair] = frames.get(pair, 0) + self.graph.tensors[tensor].bytes
        return frames


def run_name(graph: Graph, first: int, end: int) -> str:
    """Return a name for a stage from its operators."""
    code = graph.operators[first].title
    if end - first == 1:
        return f"{first} {code}"
    return f"{first}-{end - 1} {code} to {graph.operators[end - 1].title}"
