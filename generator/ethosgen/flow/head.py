"""The head of a network, which the CPU computes in bands of rows while the NPU gets the rest.

The first layers of an image network have the largest tensors. The NPU needs them whole, or most of
them in Vela's stripes; bands of rows need less, and more time.
"""

from ethosgen.values.allocation import Allocation, Kept, OperatorIndex
from ethosgen.values.network import Graph
from ethosgen.values.schedule import Schedule

REASON = "the limit of the SRAM leaves room only for bands of its rows"


def with_head(
    graph: Graph, schedule: Schedule, allocation: Allocation[OperatorIndex]
) -> Allocation[OperatorIndex]:
    """Return an allocation in which the head that a schedule asks for stays on the CPU."""
    if schedule.bands_above is None:
        return allocation
    head = graph.operators[: head_length(graph, schedule.bands_above)]
    return Allocation({OperatorIndex(op.index): Kept(REASON) for op in head}) | allocation


def head_length(graph: Graph, above: int) -> int:
    """Return the number of operators up to the last that needs more bytes for whole tensors."""
    return max((i + 1 for i, live in enumerate(_live_bytes(graph)) if live > above), default=0)


def head_limits(graph: Graph) -> list[int]:
    """Return the limits that give different heads but not the whole network, shortest first."""
    limits = sorted(set(_live_bytes(graph)), reverse=True)
    by_length = {head_length(graph, limit): limit for limit in reversed(limits)}
    return [by_length[length] for length in sorted(by_length.keys() - {0, len(graph.operators)})]


def fullest_output(graph: Graph) -> str:
    """Return the first output of the operator at which whole tensors take the most bytes."""
    live = _live_bytes(graph)
    return graph.output_name(graph.operators[live.index(max(live))]) if live else ""


def _live_bytes(graph: Graph) -> list[int]:
    """Return the bytes of the whole tensors that are live at each operator."""
    last = {i: place for place, op in enumerate(graph.operators) for i in op.inputs}
    last |= dict.fromkeys(graph.outputs, len(graph.operators))
    sizes = {t.index: t.bytes for t in graph.tensors if t.data is None}
    live, held = set(graph.inputs), []
    for place, op in enumerate(graph.operators):
        live |= set(op.outputs)
        held.append(sum(sizes.get(i, 0) for i in live))
        live = {i for i in live if last.get(i, 0) > place}
    return held
