"""The bounds of a tensor's values: an interval for each channel, the last axis."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.network import Tensor

Ints = np.ndarray[Any, np.dtype[np.int64]]

_TYPES = frozenset({"int8", "uint8", "int16"})
"""The types with intervals; others have none."""


@dataclass(frozen=True)
class Bounds:
    """The least and the largest value of each channel, as int64 arrays of one axis."""

    low: Ints
    high: Ints

    @property
    def constant(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The channels that can take only one value."""
        is_one: np.ndarray[Any, np.dtype[np.bool_]] = self.low == self.high
        return is_one

    def hull(self) -> "Bounds":
        """Return the bounds of all channels together, as those of one."""
        return Bounds(self.low.min(keepdims=True), self.high.max(keepdims=True))

    def over(self, channels: int) -> "Bounds":
        """Return the bounds with one channel's repeated, if they have one."""
        return Bounds(np.broadcast_to(self.low, channels), np.broadcast_to(self.high, channels))

    def clamped(self, low: int, high: int) -> "Bounds":
        """Return the bounds after a clamp."""
        return Bounds(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def joined(self, other: "Bounds") -> "Bounds":
        """Return the bounds of values that are in either."""
        return Bounds(np.minimum(self.low, other.low), np.maximum(self.high, other.high))


def channels_of(tensor: Tensor) -> int:
    """Return the size of the last axis, 1 for a scalar."""
    return tensor.shape[-1] if tensor.shape else 1


def whole(tensor: Tensor) -> Bounds | None:
    """Return the whole range of a tensor's type, None for a type without intervals."""
    if tensor.dtype not in _TYPES:
        return None
    info, ones = np.iinfo(tensor.dtype), np.ones(channels_of(tensor), np.int64)
    return Bounds(ones * int(info.min), ones * int(info.max))


def of_constant(tensor: Tensor) -> Bounds | None:
    """Return the bounds of a constant."""
    if tensor.dtype not in _TYPES or not tensor.elements:
        return None
    values = tensor.array().astype(np.int64).reshape(-1, channels_of(tensor))
    return Bounds(values.min(axis=0), values.max(axis=0))
