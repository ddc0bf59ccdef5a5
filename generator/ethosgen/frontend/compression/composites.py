"""STABLEHLO_COMPOSITE by what it stands for: a converter keeps each one's operators as a subgraph.

Neither Vela nor TensorFlow Lite Micro knows the composite. The operators of its decomposition take
its place in the file, between its inputs and its outputs, before anything else reads the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ethosgen.frontend.compression.insertion import OFFSET, Front, Link, OldTable
from ethosgen.values.errors import InputError
from ethosgen.values.model import ABSENT, CONTROL, Graph, Model, Operator

COMPOSITE = "STABLEHLO_COMPOSITE"
_DECOMPOSITION = "decomposition_subgraph_index"

_MODEL = (4, *[OFFSET] * 7)
_MODEL_GRAPHS, _MODEL_BUFFERS = 2, 4
_GRAPH = (*[OFFSET] * 5, 4)
_GRAPH_TENSORS, _GRAPH_OPERATORS = 0, 3
_OPERATOR = (4, OFFSET, OFFSET, 1, OFFSET, OFFSET, 1, OFFSET, OFFSET, 8, 8, 1, OFFSET, 4)
_INPUTS, _OUTPUTS, _INTERMEDIATES = 1, 2, 8
"""Fields of the tables Model, SubGraph and Operator: their sizes and places in the schema."""


@dataclass(frozen=True)
class _Place:
    """An operator of another graph, and which tensors it has here."""

    graph: int
    operator: Operator
    tensors: Mapping[int, int]


def has_composites(model: Model) -> bool:
    """Return whether an operator of a network stands for a subgraph."""
    return any(op.code == COMPOSITE for graph in model.graphs for op in graph.operators)


def inline_composites(model: Model) -> bytes:
    """Return the file with each composite's operators in its place.

    Subgraphs that nothing runs any more are left out. InputError where a composite and its subgraph
    do not fit each other.
    """
    data = model.data
    root = OldTable(data, int.from_bytes(data[:4], "little"))
    front = Front(data[4:8])
    top, slots = front.table(root.fields(_MODEL))
    front.connect(slots[_MODEL_BUFFERS], front.near_buffers(data, root.elements(_MODEL_BUFFERS)))
    links = root.elements(_MODEL_GRAPHS)
    codes = {op.code for graph in model.graphs for op in graph.operators}
    count = len(links) if codes & CONTROL else 1
    vector = front.vector(links[:count])
    front.connect(slots[_MODEL_GRAPHS], vector)
    tables = [OldTable(data, link.place) for link in links]
    for number in range(count):
        if any(op.code == COMPOSITE for op in model.graphs[number].operators):
            front.lead(vector, number, _graph(front, tables, model, number))
    return front.before(data, top)


def _graph(front: Front, tables: Sequence[OldTable], model: Model, number: int) -> Link:
    made, slots = front.table(tables[number].fields(_GRAPH))
    tensors = tables[number].elements(_GRAPH_TENSORS)
    places = list(_places(model, number, {}, tensors, tables, (number,)))
    front.connect(slots[_GRAPH_TENSORS], front.vector(tensors))
    vector = front.vector([_link(tables, place) for place in places])
    front.connect(slots[_GRAPH_OPERATORS], vector)
    for index, place in enumerate(places):
        if place.graph != number:
            front.lead(vector, index, _operator(front, tables, place))
    return made


def _places(
    model: Model,
    number: int,
    tensors: Mapping[int, int],
    links: list[Link],
    tables: Sequence[OldTable],
    within: tuple[int, ...],
) -> Iterator[_Place]:
    """Yield a graph's operators in order; the tensors of what composites stand for join `links`."""
    for operator in model.graphs[number].operators:
        if operator.code != COMPOSITE:
            yield _Place(number, operator, tensors)
            continue
        chosen = int(operator.options.get(_DECOMPOSITION, -1))
        if not 0 < chosen < len(model.graphs) or chosen in within:
            raise _misfit(model, operator, f"it stands for subgraph {chosen}, which cannot be")
        ends = [[tensors.get(i, i) for i in side] for side in (operator.inputs, operator.outputs)]
        inner = _joined(model, operator, model.graphs[chosen], *ends)
        for index, link in enumerate(tables[chosen].elements(_GRAPH_TENSORS)):
            if index not in inner:
                inner[index] = len(links)
                links.append(link)
        yield from _places(model, chosen, inner, links, tables, (*within, chosen))


def _joined(
    model: Model, operator: Operator, inner: Graph, inputs: Sequence[int], outputs: Sequence[int]
) -> dict[int, int]:
    """Return which tensors of a composite's graph are its inputs and outputs."""
    made = {i for op in inner.operators for i in op.outputs}
    fits = (len(inputs), len(outputs)) == (len(inner.inputs), len(inner.outputs))
    if not fits or not made.issuperset(inner.outputs):
        raise _misfit(model, operator, f"its inputs and outputs are not those of '{inner.name}'")
    pairs = [*zip(inner.inputs, inputs, strict=True), *zip(inner.outputs, outputs, strict=True)]
    return dict(pairs)


def _link(tables: Sequence[OldTable], place: _Place) -> Link:
    return tables[place.graph].elements(_GRAPH_OPERATORS)[place.operator.index]


def _operator(front: Front, tables: Sequence[OldTable], place: _Place) -> Link:
    """Add an operator with the tensors that it has here."""
    operator = place.operator
    fields = OldTable(tables[0].data, _link(tables, place).place).fields(_OPERATOR)
    made, slots = front.table(fields)
    for number, indices in (
        (_INPUTS, operator.inputs),
        (_OUTPUTS, operator.outputs),
        (_INTERMEDIATES, operator.intermediates),
    ):
        if number in slots:
            moved = [i if i == ABSENT else place.tensors.get(i, i) for i in indices]
            front.connect(slots[number], front.numbers(moved))
    return made


def _misfit(model: Model, operator: Operator, what: str) -> InputError:
    return InputError(f"'{model.name}' is damaged: operator {operator.index} ({COMPOSITE}), {what}")
