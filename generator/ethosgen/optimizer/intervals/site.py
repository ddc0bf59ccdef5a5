"""An operator in its graph, with the bounds of its inputs."""

from collections.abc import Mapping
from dataclasses import dataclass

from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor


@dataclass(frozen=True)
class BoundedSite:
    """An operator with the bounds of all tensors that were written before it."""

    operator: Operator
    graph: Graph
    known: Mapping[int, Bounds]

    def tensor(self, position: int) -> Tensor | None:
        """Return an input, None if it is absent."""
        inputs = self.operator.inputs
        if position >= len(inputs) or inputs[position] == ABSENT:
            return None
        return self.graph.tensors[inputs[position]]

    def bounds(self, position: int) -> Bounds | None:
        """Return the bounds of an input, None if it has none."""
        tensor = self.tensor(position)
        return None if tensor is None else self.known.get(tensor.index)

    @property
    def inputs(self) -> list[Tensor]:
        """The inputs that are present."""
        return [self.graph.tensors[i] for i in self.operator.inputs if i != ABSENT]

    @property
    def target(self) -> Tensor:
        """The first output."""
        return self.graph.tensors[self.operator.outputs[0]]
