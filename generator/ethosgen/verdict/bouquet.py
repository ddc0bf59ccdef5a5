"""Several operators of a network side by side, each with inputs and outputs of its own.

So one compilation and one run of an oracle answer for all of them, each at the ends of its inputs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ethosgen.values.excerpt import single_operator
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor


@dataclass(frozen=True)
class Bouquet:
    """The network; `origins` has its operators' indices in the network that they come from."""

    network: Network
    origins: tuple[int, ...]

    def origin_of(self, output: str) -> int:
        """Return the index of the original operator that makes an output."""
        graph = self.network.graph
        return next(
            origin
            for origin, operator in zip(self.origins, graph.operators, strict=True)
            if output in {graph.tensors[i].name for i in operator.outputs}
        )


def gather(network: Network, indices: Iterable[int]) -> Bouquet | None:
    """Return these operators of the entry graph side by side; None if none can be alone.

    One with a state, with side effects, or without inputs that vary is left out.
    """
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: list[int] = []
    outputs: list[int] = []
    origins: list[int] = []
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
        origins.append(index)
    if not operators:
        return None
    graph = Graph("ends", tuple(tensors), tuple(operators), tuple(inputs), tuple(outputs))
    return Bouquet(network.edited(graph, metadata={}), tuple(origins))


def _moved(indices: tuple[int, ...], by: int) -> tuple[int, ...]:
    return tuple(i if i == ABSENT else i + by for i in indices)
