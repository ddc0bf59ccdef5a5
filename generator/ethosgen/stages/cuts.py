"""Find the possible cuts of a network and the tensors that cross; make networks of the parts
between.

Operators keep the file's order. A cut at `position` is before the operator of that index: 0 is the
start, the number of operators is the end. Variables and resources stay within one stage.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ethosgen.values.network import ABSENT, CONTROL, HANDLE, STATEFUL, Graph, Network, Operator


@dataclass(frozen=True)
class Stage:
    """Operators `start` to `stop` - 1 of a network, as a separate network.

    It reads `reads` and writes `makes` for others, by index in the whole network, in the order of
    its network's inputs and outputs.
    """

    start: int
    stop: int
    network: Network
    reads: tuple[int, ...]
    makes: tuple[int, ...]


def positions(graph: Graph) -> list[int]:
    """Return the positions where the graph can be cut, 0 and the end included."""
    count = len(graph.operators)
    joined = _joined(graph)
    return [
        position
        for position in range(count + 1)
        if position in (0, count)
        or (not any(a < position <= b for a, b in joined) and _can_cross(graph, position))
    ]


def crossing(graph: Graph, position: int) -> tuple[int, ...]:
    """Return the live tensors at a cut: written before it, and read or returned after it."""
    count = len(graph.operators)
    if position == 0:
        return tuple(dict.fromkeys(graph.inputs))
    before = [*graph.inputs, *(i for op in graph.operators[:position] for i in op.outputs)]
    wanted = set(graph.outputs)
    if position < count:
        wanted |= {i for op in graph.operators[position:] for i in op.inputs}
    else:
        return tuple(dict.fromkeys(graph.outputs))
    return tuple(
        i for i in dict.fromkeys(before) if i in wanted and not graph.tensors[i].is_variable
    )


def ports(graph: Graph, start: int, stop: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tensors that the operators from one cut to another read, and make for others."""
    operators = graph.operators[start:stop]
    read = {i for op in operators for i in op.inputs}
    written = {i for op in operators for i in op.outputs}
    reads = tuple(i for i in crossing(graph, start) if i in read)
    return reads, tuple(i for i in crossing(graph, stop) if i in written)


def has_state(graph: Graph, start: int, stop: int) -> bool:
    """Return whether the operators from one cut to another remember anything between samples."""
    operators = graph.operators[start:stop]
    tensors = {i for op in operators for i in (*op.inputs, *op.outputs, *op.intermediates)}
    return any(op.code in STATEFUL or op.code == "CUSTOM" for op in operators) or any(
        graph.tensors[i].is_variable for i in tensors if i != ABSENT
    )


def cut(network: Network, boundaries: Sequence[int]) -> list[Stage]:
    """Cut a network at `boundaries`, which include both ends; a stage's name ends in its number."""
    return [
        _stage(network, number, start, stop)
        for number, (start, stop) in enumerate(pairwise(boundaries))
    ]


def _stage(network: Network, number: int, start: int, stop: int) -> Stage:
    graph = network.graph
    operators = graph.operators[start:stop]
    reads, makes = ports(graph, start, stop)
    used = _used(operators, reads, makes)
    places = {old: new for new, old in enumerate(used)} | {ABSENT: ABSENT}

    def moved(indices: Iterable[int]) -> tuple[int, ...]:
        return tuple(places[i] for i in indices)

    part = Graph(
        graph.name,
        tuple(replace(graph.tensors[old], index=new) for new, old in enumerate(used)),
        tuple(
            replace(
                op,
                index=index,
                inputs=moved(op.inputs),
                outputs=moved(op.outputs),
                intermediates=moved(op.intermediates),
            )
            for index, op in enumerate(operators)
        ),
        moved(reads),
        moved(makes),
    )
    others = network.graphs[1:] if any(op.code in CONTROL for op in operators) else ()
    alone = replace(
        network.edited(part, *others, metadata={}),
        name=f"{network.name}_{number}",
        in_float=network.in_float,
    )
    return Stage(start, stop, alone, reads, makes)


def _used(operators: Sequence[Operator], reads: Sequence[int], makes: Sequence[int]) -> list[int]:
    ports = [i for op in operators for i in (*op.inputs, *op.outputs, *op.intermediates)]
    return [i for i in dict.fromkeys([*reads, *ports, *makes]) if i != ABSENT]


def _can_cross(graph: Graph, position: int) -> bool:
    """Return whether the live tensors at a cut can be handed over, and each stage has an input."""
    live = crossing(graph, position)
    if any(graph.tensors[i].dtype == HANDLE for i in live):
        return False
    first = {i for op in graph.operators[:position] for i in op.outputs}
    return any(i in first and graph.tensors[i].bytes for i in live)


def _joined(graph: Graph) -> list[tuple[int, int]]:
    """Return the first and the last operator of each group that must stay in one stage."""
    groups: dict[object, list[int]] = {}
    has_handles = any(op.code == "VAR_HANDLE" for op in graph.operators)
    for op in graph.operators:
        if op.code in STATEFUL and (has_handles or op.code == "CALL_ONCE"):
            groups.setdefault("resources", []).append(op.index)
        for i in (*op.inputs, *op.outputs, *op.intermediates):
            if i != ABSENT and graph.tensors[i].is_variable:
                groups.setdefault(i, []).append(op.index)
    return [(min(members), max(members)) for members in groups.values()]
