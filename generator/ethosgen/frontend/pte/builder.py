"""The graph that a program becomes: tensors and operators as they are added."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.values.dialect import OPS
from ethosgen.values.naming import unique_name
from ethosgen.values.network import Graph, Operator, Quantization, Tensor


class GraphBuilder:
    """Tensors and operators of a graph; tensors are identified by their index."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self._taken: set[str] = set()

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        data: bytes | None = None,
        quantization: Quantization | None = None,
    ) -> int:
        """Add a tensor, a constant if it has data."""
        index = len(self.tensors)
        chosen = unique_name(name, index, self._taken)
        self.tensors.append(Tensor(index, chosen, tuple(shape), dtype, quantization, data))
        return index

    def copied(self, tensor: Tensor) -> int:
        """Add a tensor of another graph, under its name if that is free."""
        index = len(self.tensors)
        name = unique_name(tensor.name, index, self._taken)
        self.tensors.append(replace(tensor, index=index, name=name))
        return index

    def constant(self, name: str, values: np.ndarray[Any, Any]) -> int:
        """Add a constant."""
        return self.tensor(name, values.shape, str(values.dtype), values.tobytes())

    def quantize(self, index: int, scale: float, zero_point: int) -> None:
        """Record a tensor's quantization, unless one is known."""
        if self.tensors[index].quantization is None:
            known = Quantization((scale,), (zero_point,))
            self.tensors[index] = replace(self.tensors[index], quantization=known)

    def rename(self, index: int, name: str) -> None:
        """Give a tensor another name, which no other tensor may have."""
        self._taken.discard(self.tensors[index].name)
        self.tensors[index] = replace(
            self.tensors[index], name=unique_name(name, index, self._taken)
        )

    def operator(
        self,
        code: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Mapping[str, Any] | None = None,
        custom_code: str | None = None,
    ) -> None:
        """Add an operator after the others, with the dialect's defaults for options not given."""
        wanted = {**OPS[code].defaults(), **(options or {})}
        added = Operator(
            len(self.operators), code, tuple(inputs), tuple(outputs), custom_code, wanted
        )
        self.operators.append(added)

    def apply(self, code: str, inputs: Sequence[int], name: str, shape: Sequence[int]) -> int:
        """Add an operator with one new output, of the first input's type; return the output."""
        output = self.tensor(name, shape, self.tensors[inputs[0]].dtype)
        self.operator(code, inputs, [output])
        return output

    def reshape(self, source: int, target: int) -> None:
        """Add a copy of a tensor into one of as many elements."""
        shape = self.tensors[target].shape
        wanted = self.constant("shape", np.array(shape, np.int32))
        self.operator("RESHAPE", [source, wanted], [target], {"new_shape": shape})

    def transpose(self, source: int, axes: Sequence[int], target: int) -> None:
        """Add a transposition, or a copy if it moves no element."""
        shape = self.tensors[source].shape
        if [i for i in axes if shape[i] != 1] == [i for i in range(len(shape)) if shape[i] != 1]:
            self.reshape(source, target)
            return
        order = self.constant("axes", np.array(axes, np.int32))
        self.operator("TRANSPOSE", [source, order], [target])

    def graph(self, name: str, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
        """Return the graph."""
        return Graph(
            name, tuple(self.tensors), tuple(self.operators), tuple(inputs), tuple(outputs)
        )
