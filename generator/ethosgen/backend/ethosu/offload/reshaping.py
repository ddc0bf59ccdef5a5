"""Restore the network's shapes and scales for operators on the CPU.

Vela treats tensors with the same bytes as one: a CPU operator can read the input of an EXPAND_DIMS
or RESHAPE instead of its output, or the reverse, in any shape. Where Vela transposes twice, an
operator writes an intermediate tensor of Vela's, which has no scale.
"""

from collections.abc import Mapping
from dataclasses import replace

from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor


def with_own_shapes(
    graph: Graph, original: Graph, sources: Mapping[ResidualIndex, OperatorIndex]
) -> Graph:
    """Return a residual graph with a RESHAPE wherever an operator expects another shape.

    `sources` maps operators of the residual graph to the original ones. A RESHAPE costs nothing if
    both tensors can share their bytes in the arena.
    """
    grown = _Growth(graph)
    for operator in graph.operators:
        source = sources.get(ResidualIndex(operator.index))
        theirs = None if source is None else original.operators[source]
        if theirs is None or len(theirs.inputs) != len(operator.inputs):
            grown.operators.append(operator)
            continue
        inputs = [
            grown.read(ours, original.tensors[other]) if ABSENT not in (ours, other) else ours
            for ours, other in zip(operator.inputs, theirs.inputs, strict=True)
        ]
        renamed = [
            grown.written(ours, original.tensors[other])
            for ours, other in zip(operator.outputs, theirs.outputs, strict=False)
        ]
        outputs = [*renamed, *operator.outputs[len(renamed) :]]
        grown.operators.append(replace(operator, inputs=tuple(inputs), outputs=tuple(outputs)))
        for new, ours in zip(outputs, operator.outputs, strict=True):
            if new != ours:
                grown.reshape(new, ours)
    return grown.graph()


class _Growth:
    """Adds tensors and operators to a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors = list(graph.tensors)
        self._next = max((op.index for op in graph.operators), default=-1) + 1
        self._shaped: dict[tuple[int, tuple[int, ...]], int] = {}
        self.operators: list[Operator] = []

    def read(self, ours: int, theirs: Tensor) -> int:
        """Return a tensor of the original shape for reading, derived from Vela's tensor."""
        tensor = self._scaled(ours, theirs)
        if not _is_reshaped(tensor, theirs):
            return ours
        key = (ours, theirs.shape)
        if key not in self._shaped:
            self._shaped[key] = self._add(tensor, theirs)
            if tensor.data is None:
                self.reshape(ours, self._shaped[key])
        return self._shaped[key]

    def written(self, ours: int, theirs: Tensor) -> int:
        """Return a tensor of the original shape for writing; Vela's is derived from it."""
        tensor = self._scaled(ours, theirs)
        return self._add(tensor, theirs) if _is_reshaped(tensor, theirs) else ours

    def _scaled(self, ours: int, theirs: Tensor) -> Tensor:
        """Return Vela's tensor, with the original scale if Vela has lost it."""
        tensor = self._tensors[ours]
        if tensor.quantization is None and tensor.dtype == theirs.dtype:
            self._tensors[ours] = tensor = replace(tensor, quantization=theirs.quantization)
        return tensor

    def reshape(self, source: int, target: int) -> None:
        """Add a RESHAPE."""
        self.operators.append(Operator(self._next, "RESHAPE", (source,), (target,)))
        self._next += 1

    def _add(self, tensor: Tensor, theirs: Tensor) -> int:
        index = len(self._tensors)
        name = f"{tensor.name}_as_{'x'.join(map(str, theirs.shape)) or 'scalar'}_{index}"
        self._tensors.append(replace(tensor, index=index, name=name, shape=theirs.shape))
        return index

    def graph(self) -> Graph:
        """Return the graph."""
        return replace(self._graph, tensors=tuple(self._tensors), operators=tuple(self.operators))


def _is_reshaped(tensor: Tensor, theirs: Tensor) -> bool:
    is_alike = tensor.dtype == theirs.dtype and tensor.elements == theirs.elements
    return is_alike and tensor.shape != theirs.shape and not tensor.is_variable
