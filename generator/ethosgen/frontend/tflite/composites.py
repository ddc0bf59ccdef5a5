"""Inline STABLEHLO_COMPOSITE, whose operators a converter stores as a subgraph.

Neither Vela nor TensorFlow Lite Micro supports composites. The operators of the subgraph replace
the composite, between its inputs and its outputs, before anything else reads the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ethosgen.values.errors import InputError
from ethosgen.values.naming import unique_name
from ethosgen.values.network import ABSENT, CONTROL, PLACEMENT, Graph, Network, Operator, Tensor

COMPOSITE = "STABLEHLO_COMPOSITE"
_DECOMPOSITION = "decomposition_subgraph_index"


def has_composites(network: Network) -> bool:
    """Return whether an operator of a network represents a subgraph."""
    return any(op.code == COMPOSITE for graph in network.graphs for op in graph.operators)


def inline_composites(network: Network) -> Network:
    """Return the network with each composite's operators in its place.

    Subgraphs that are no longer used are omitted, and so is a placement of the former tensors.
    InputError if a composite and its subgraph do not match.
    """
    codes = {op.code for graph in network.graphs for op in graph.operators}
    count = len(network.graphs) if codes & CONTROL else 1
    metadata = {name: data for name, data in network.metadata.items() if name != PLACEMENT}
    inlined = network.edited(*(_inlined(network, n) for n in range(count)), metadata=metadata)
    return replace(inlined, source=network.source)


def _inlined(network: Network, number: int) -> Graph:
    graph = network.graphs[number]
    tensors = _Tensors(graph.tensors)
    operators = enumerate(_operators(network, number, {}, tensors, (number,)))
    numbered = tuple(replace(operator, index=index) for index, operator in operators)
    return replace(graph, tensors=tuple(tensors.all), operators=numbered)


class _Tensors:
    """A graph's tensors, to which others are added."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.all = list(tensors)
        self._taken = {tensor.name for tensor in tensors}

    def add(self, tensor: Tensor) -> int:
        """Add a tensor of another graph; return its index here."""
        index = len(self.all)
        name = unique_name(tensor.name, index, self._taken)
        self.all.append(replace(tensor, index=index, name=name))
        return index


def _operators(
    network: Network,
    number: int,
    here: Mapping[int, int],
    tensors: _Tensors,
    within: tuple[int, ...],
) -> Iterator[Operator]:
    """Yield a graph's operators in order, with their tensors mapped by `here`."""
    for operator in network.graphs[number].operators:
        moved = replace(
            operator,
            inputs=_moved(operator.inputs, here),
            outputs=_moved(operator.outputs, here),
            intermediates=_moved(operator.intermediates, here),
        )
        if operator.code != COMPOSITE:
            yield moved
            continue
        chosen = int(operator.options.get(_DECOMPOSITION, -1))
        if not 0 < chosen < len(network.graphs) or chosen in within:
            raise _misfit(network, operator, f"it refers to subgraph {chosen}, which is invalid")
        inner = _joined(network, moved, network.graphs[chosen])
        for tensor in network.graphs[chosen].tensors:
            if tensor.index not in inner:
                inner[tensor.index] = tensors.add(tensor)
        yield from _operators(network, chosen, inner, tensors, (*within, chosen))


def _moved(indices: Sequence[int], here: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(i if i == ABSENT else here.get(i, i) for i in indices)


def _joined(network: Network, operator: Operator, inner: Graph) -> dict[int, int]:
    """Map the inputs and outputs of a composite's graph to the operator's tensors."""
    inputs, outputs = operator.inputs, operator.outputs
    fits = (len(inputs), len(outputs)) == (len(inner.inputs), len(inner.outputs))
    if not fits or not inner.written.issuperset(inner.outputs):
        raise _misfit(network, operator, f"its inputs and outputs are not those of '{inner.name}'")
    pairs = [*zip(inner.inputs, inputs, strict=True), *zip(inner.outputs, outputs, strict=True)]
    return dict(pairs)


def _misfit(network: Network, operator: Operator, what: str) -> InputError:
    return InputError(
        f"'{network.name}' is damaged: operator {operator.index} ({COMPOSITE}), {what}"
    )
