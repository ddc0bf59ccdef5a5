"""Excerpts of a network, as separate networks: one operator, several side by side, the first.

A single operator contains none of the user's other weights, names or metadata. Several side by side
have separate inputs and outputs, so one compilation and one run of an oracle answer for all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.network import ABSENT, HANDLE, STATEFUL, Graph, Network, Operator, Tensor


def single_operator(network: Network, index: int, with_states: bool = False) -> Network | None:
    """Return an operator of the entry graph as a network; None for one with side effects.

    Also None for one with a state, unless `with_states`: the network then keeps the state.
    """
    graph = network.graph
    operator, tensors = graph.operators[index], graph.tensors
    ports = (*operator.inputs, *operator.outputs, *operator.intermediates)
    used = [i for i in dict.fromkeys(ports) if i != ABSENT]
    is_plain = all(tensors[i].dtype != HANDLE for i in used)
    has_states = any(tensors[i].is_variable for i in used)
    if operator.code in STATEFUL or not is_plain or not operator.outputs:
        return None
    if has_states and not with_states:
        return None
    places = {old: new for new, old in enumerate(used)} | {ABSENT: ABSENT}

    def moved(indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(places[i] for i in indices)

    read = (i for i in operator.inputs if i != ABSENT and not tensors[i].is_variable)
    varying = [  # an empty constant has no data either
        i for i in dict.fromkeys(read) if tensors[i].data is None and tensors[i].elements
    ]
    alone = replace(
        operator,
        index=0,
        inputs=moved(operator.inputs),
        outputs=moved(operator.outputs),
        intermediates=moved(operator.intermediates),
    )
    ours = tuple(replace(tensors[old], index=new) for old, new in places.items() if old != ABSENT)
    inputs, outputs = moved(varying), alone.outputs
    return Network(network.name, (Graph(graph.name, ours, (alone,), inputs, outputs),))


@dataclass(frozen=True)
class Bouquet:
    """The network, and each of its operators `alone`, by its original index."""

    network: Network
    alone: Mapping[OperatorIndex, Network]

    @property
    def origins(self) -> tuple[OperatorIndex, ...]:
        """The operators' original indices, in order."""
        return tuple(self.alone)

    @cached_property
    def origin_of(self) -> Mapping[str, OperatorIndex]:
        """The index of the original operator that writes an output, by the output's name."""
        graph = self.network.graph
        pairs = zip(self.origins, graph.operators, strict=True)
        return {graph.tensors[i].name: origin for origin, op in pairs for i in op.outputs}


def gather(network: Network, indices: Iterable[int]) -> Bouquet | None:
    """Return these operators of the entry graph side by side; None if none can be separate.

    One with a state, with side effects, or without inputs that vary is left out.
    """
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: list[int] = []
    outputs: list[int] = []
    singles: dict[OperatorIndex, Network] = {}
    for index in indices:
        alone = single_operator(network, index)
        if alone is None or not alone.graph.inputs:
            continue
        first = len(tensors)
        (operator,) = alone.graph.operators
        operators.append(
            replace(
                operator,
                index=len(operators),
                inputs=_moved(operator.inputs, first),
                outputs=_moved(operator.outputs, first),
                intermediates=_moved(operator.intermediates, first),
            )
        )
        tensors += (
            replace(tensor, index=first + tensor.index, name=f"{index}:{tensor.index}")
            for tensor in alone.graph.tensors
        )
        inputs += _moved(alone.graph.inputs, first)
        outputs += _moved(alone.graph.outputs, first)
        singles[OperatorIndex(index)] = alone
    if not operators:
        return None
    graph = Graph("ends", tuple(tensors), tuple(operators), tuple(inputs), tuple(outputs))
    return Bouquet(Network(network.name, (graph,)), singles)


def _moved(indices: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(i if i == ABSENT else i + by for i in indices)


def first_operators(network: Network, count: int) -> Network | None:
    """Return the network of the first `count` operators, None if they have no outputs.

    Its outputs are the tensors that the remaining operators read.
    """
    graph = network.graph
    outputs = _alive(graph, count)
    if not outputs:
        return None
    operators = graph.operators[:count]
    read = {i for op in operators for i in op.inputs}
    inputs = tuple(i for i in graph.inputs if i in read)
    first = replace(graph, operators=operators, inputs=inputs, outputs=outputs)
    return network.edited(first, *network.graphs[1:])


def _alive(graph: Graph, count: int) -> tuple[int, ...]:
    """Return the outputs of the first operators that later ones or the caller read."""
    read = {i for op in graph.operators[count:] for i in op.inputs} | set(graph.outputs)
    written = [i for op in graph.operators[:count] for i in op.outputs]
    return tuple(
        i for i in dict.fromkeys(written) if i in read and graph.tensors[i].dtype != HANDLE
    )
