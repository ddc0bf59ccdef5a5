"""An operator, its graph and the compilation target, for the conditions of errata."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ethosgen.values.network import ABSENT, Graph, Operator, Tensor
from ethosgen.values.plan import IoStyle

Array = np.ndarray[Any, Any]
Table = np.ndarray[Any, np.dtype[np.int8]]

TABLES = ("HARD_SWISH", "LEAKY_RELU", "LOGISTIC", "TANH", "ELU", "GELU", "EXP", "LOG", "RSQRT")
"""Operators that Vela computes by a table."""


class ErrataTarget(Protocol):
    """The compilation target, as the errata's conditions need it."""

    @property
    def npu(self) -> str:
        """The NPU's name."""

    @property
    def io(self) -> IoStyle:
        """The I/O style of the network."""

    def table_of(self, operator: Operator, graph: Graph, /) -> Table | None:
        """Return the CPU's lookup table of an 8-bit operator, None if it has none."""


@dataclass(frozen=True)
class OperatorSite:
    """An operator of a network, and the target of the compilation."""

    graph: Graph
    operator: Operator
    setting: ErrataTarget

    @property
    def code(self) -> str:
        """The operator's name."""
        return self.operator.code

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that it reads, without absent ones."""
        return [self.graph.tensors[i] for i in self.operator.inputs if i != ABSENT]

    @property
    def output(self) -> Tensor:
        """The first tensor that it writes."""
        return self.graph.tensors[self.operator.outputs[0]]

    @property
    def dtype(self) -> str:
        """The type of its output."""
        return self.output.dtype

    def constant(self, position: int) -> list[int]:
        """Return the values of a constant input; LookupError if it is not a constant."""
        tensor = self.inputs[position]
        if tensor.data is None:
            raise LookupError(f"'{tensor.name}' is not a constant")
        return [int(v) for v in tensor.array().reshape(-1)]

    @property
    def axes(self) -> list[int]:
        """The axes of a reduction, counted from the front."""
        rank = len(self.inputs[0].shape)
        return [axis % rank for axis in self.constant(1)] if rank else []


def type_values(dtype: str) -> Array:
    """Return all values of a type of 8 or 16 bits."""
    info = np.iinfo(dtype)
    return np.arange(info.min, info.max + 1, dtype=np.int64)


def stored_values(tensor: Tensor) -> Array:
    """Return the values that a tensor can have: those of a constant, else all of its type."""
    if tensor.data is None:
        return type_values(tensor.dtype)
    return np.unique(tensor.array()).astype(np.int64)


def reach_of(tensor: Tensor) -> int:
    """Return the largest magnitude of a tensor's values without its zero point."""
    if tensor.data is None:
        info = np.iinfo(tensor.dtype)
        return max(int(info.max) - tensor.first_zero_point, tensor.first_zero_point - int(info.min))
    return int(abs(tensor.array().astype(np.int64) - tensor.first_zero_point).max(initial=0))


def scale_of(tensor: Tensor) -> float:
    """Return a tensor's scale; 1 if it has none."""
    known = tensor.quantization
    return float(known.scale[0]) if known and known.scale else 1.0
