"""A graph under edit: new constants, and the removal of unused tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ethosgen.values.network import (
    ABSENT,
    PLACEMENT,
    Graph,
    Network,
    Operator,
    Quantization,
    Tensor,
)


@dataclass
class GraphEdit:
    """The tensors and operators of a graph while they change; indices of tensors stay."""

    graph: Graph
    tensors: list[Tensor] = field(init=False)
    operators: dict[int, Operator] = field(init=False)

    def __post_init__(self) -> None:
        """Start with the graph's own."""
        self.tensors = list(self.graph.tensors)
        self.operators = {operator.index: operator for operator in self.graph.operators}

    def constant(
        self, like: Tensor, values: np.ndarray[Any, Any], quantization: Quantization | None
    ) -> int:
        """Add a constant with another's name and type; return its index."""
        data = np.ascontiguousarray(values).astype(like.dtype)
        tensor = replace(
            like,
            index=len(self.tensors),
            shape=data.shape,
            data=data.tobytes(),
            quantization=quantization,
        )
        self.tensors.append(tensor)
        return tensor.index

    def set_input(self, operator: int, position: int, tensor: int) -> None:
        """Let an operator read another tensor; a missing optional input is added."""
        edited = self.operators[operator]
        inputs = [*edited.inputs, *(ABSENT for _ in range(position + 1 - len(edited.inputs)))]
        inputs[position] = tensor
        self.operators[operator] = replace(edited, inputs=tuple(inputs))

    def done(self) -> Graph:
        """Return the graph, without unused tensors; both are renumbered."""
        return compacted(self.graph, self.tensors, list(self.operators.values()))


def compacted(graph: Graph, tensors: Sequence[Tensor], operators: Sequence[Operator]) -> Graph:
    """Return a graph of these operators and the tensors that they, inputs and outputs use."""
    used = {*graph.inputs, *graph.outputs}
    for op in operators:
        used |= {*op.inputs, *op.outputs, *op.intermediates}
    new = {old: number for number, old in enumerate(sorted(used - {ABSENT}))} | {ABSENT: ABSENT}

    def moved(indices: Sequence[int]) -> tuple[int, ...]:
        return tuple(new[index] for index in indices)

    return replace(
        graph,
        tensors=tuple(replace(tensors[old], index=new[old]) for old in sorted(used - {ABSENT})),
        operators=tuple(
            replace(
                op,
                index=number,
                inputs=moved(op.inputs),
                outputs=moved(op.outputs),
                intermediates=moved(op.intermediates),
            )
            for number, op in enumerate(operators)
        ),
        inputs=moved(graph.inputs),
        outputs=moved(graph.outputs),
    )


def with_graphs(network: Network, graphs: Mapping[int, Graph]) -> Network:
    """Return a network with some graphs replaced; a placement in memory no longer fits."""
    return replace(
        network,
        graphs=tuple(graphs.get(number, graph) for number, graph in enumerate(network.graphs)),
        metadata={name: data for name, data in network.metadata.items() if name != PLACEMENT},
        is_as_given=False,
    )
