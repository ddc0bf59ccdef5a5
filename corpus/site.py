"""An operator where it stands: what conditions and predictions are told."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.settings import Setting
from ethosgen.model import Graph, Operator, Tensor

TFLM, LITERT, FAULT = "tflm", "litert", "fault"

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Site:
    """An operator of a network, and the setting that the network is compiled with."""

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
        return [self.graph.tensors[i] for i in self.operator.inputs if i >= 0]

    @property
    def output(self) -> Tensor:
        """The first tensor that it writes."""
        return self.graph.tensors[self.operator.outputs[0]]

    @property
    def dtype(self) -> str:
        """The type of its output."""
        return self.output.dtype

    def constant(self, position: int) -> list[int]:
        """Return the values of a constant input."""
        return [int(v) for v in self.inputs[position].array().reshape(-1)]

    @property
    def axes(self) -> list[int]:
        """The axes of a reduction, counted from the front."""
        rank = len(self.inputs[0].shape)
        return [axis % rank for axis in self.constant(1)]


def scale_of(tensor: Tensor) -> float:
    """Return a tensor's scale; 1 where it has none."""
    known = tensor.quantization
    return float(known.scale[0]) if known and known.scale else 1.0


def point_of(tensor: Tensor) -> int:
    """Return a tensor's zero point; 0 where it has none."""
    known = tensor.quantization
    return int(known.zero_point[0]) if known and known.zero_point else 0


Values = Sequence[Array]
"""What an operator reads, constants too, or what it writes, of one sample."""
