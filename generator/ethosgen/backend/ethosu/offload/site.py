"""An operator where it stands: what the conditions of errata are asked about."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ethosgen.values.model import ABSENT, Graph, Operator, Tensor
from ethosgen.values.plan import IoStyle

Table = np.ndarray[Any, np.dtype[np.int8]]


class Setting(Protocol):
    """What a network is compiled for."""

    @property
    def npu(self) -> str:
        """The NPU's name."""

    @property
    def io(self) -> IoStyle:
        """Where its inputs and outputs live."""

    def table_of(self, operator: Operator, graph: Graph, /) -> Table | None:
        """Return the CPU's table of an 8-bit operator, None if it has none."""


@dataclass(frozen=True)
class Site:
    """An operator of a network, and what the network is compiled for."""

    graph: Graph
    operator: Operator
    setting: Setting

    @property
    def code(self) -> str:
        """The operator's name."""
        return self.operator.code

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that it reads; those that are absent are left out."""
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
        """Return the values of a constant input; LookupError if it is none."""
        tensor = self.inputs[position]
        if tensor.data is None:
            raise LookupError(f"'{tensor.name}' is no constant")
        return [int(v) for v in tensor.array().reshape(-1)]

    @property
    def axes(self) -> list[int]:
        """The axes of a reduction, counted from the front."""
        rank = len(self.inputs[0].shape)
        return [axis % rank for axis in self.constant(1)] if rank else []


def scale_of(tensor: Tensor) -> float:
    """Return a tensor's scale; 1 where it has none."""
    known = tensor.quantization
    return float(known.scale[0]) if known and known.scale else 1.0


def point_of(tensor: Tensor) -> int:
    """Return a tensor's zero point; 0 where it has none."""
    known = tensor.quantization
    return int(known.zero_point[0]) if known and known.zero_point else 0
