"""The output stage: zero point, clipping, activation functions, and the write."""

import dataclasses
from collections.abc import Callable
from enum import IntEnum
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import (
    ActivationClipRange,
    ActivationFunction,
    OfmScaleMode,
)
from ethosgen.backend.ethosu.simulator.operation import Activation, Output
from ethosgen.backend.ethosu.simulator.ops import curves
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.ops.ufuncs import clip
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, scalar
from ethosgen.values.errors import NpuFault

_FORCED: dict[IntEnum, tuple[int, int]] = {
    ActivationClipRange.FORCE_UINT8: (0, 255),
    ActivationClipRange.FORCE_INT8: (-128, 127),
    ActivationClipRange.FORCE_INT16: (-32768, 32767),
}
_CURVES = {ActivationFunction.TANH: curves.tanh, ActivationFunction.SIGMOID: curves.sigmoid}
_LUT8_ENTRIES = 256
_LUT16_ENTRIES = 512
LUT16_FRACTION_BITS = 7

Finish = Callable[[Ints], None]


class OutputTarget(Protocol):
    """The target of an operation's results: a feature map, or in U85 a chaining buffer."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The elements' type."""

    @property
    def whole(self) -> NDArray[Any] | None:
        """A view of all of it as (height, width, depth), None if there is none."""

    def views(self) -> list[NDArray[Any]]:
        """Return its parts as views of the memory."""

    def write(self, data: NDArray[Any]) -> None:
        """Store all elements, which must fit the type."""

    def write_rows(self, data: NDArray[Any], top: int) -> None:
        """Store (rows, width, depth) from row `top` on; the rows of an operation come in order."""


def scaler(ofm: Output, bound: int | None = None) -> Callable[[Ints], Ints]:
    """Return a function that applies OFM_SCALE, if any; `bound` is as for `Rescale`."""
    if ofm.scale_mode is not OfmScaleMode.GLOBAL or (ofm.scale.scale, ofm.scale.shift) == (1, 0):
        return _unchanged
    return Rescale(ofm.scale.scale, ofm.scale.shift, ofm.rounding, bound=bound)


def _unchanged(values: Ints) -> Ints:
    return values


def finisher(context: Context, ofm: Output, placed: OutputTarget) -> Finish:
    """Return a function that adds the zero point to scaled values, activates, and writes the OFM.

    It accepts (height, width, depth) or a shape that broadcasts to it, and can modify its argument.
    """
    activate = activation(context, ofm)
    shape = ofm.shape

    def finish(values: Ints) -> None:
        data = activate(values)
        placed.write(data if data.shape == shape else np.broadcast_to(data, shape))

    return finish


def activation(context: Context, ofm: Output) -> Callable[[Ints], NDArray[Any]]:
    """Return a function that adds the zero point, applies the activation function, and clips.

    A table is indexed by clipped values. The function modifies values in place, and its result fits
    the OFM's dtype. Raises NpuFault of kind "parse" for an invalid activation function.
    """
    zero_point = effective_zero_point(ofm)
    offset = scalar(zero_point)
    curve = curve_of(ofm)
    low, high = (scalar(limit) for limit in clip_limits(ofm))
    look_up = table(ofm, context)

    def activate(values: Ints) -> NDArray[Any]:
        if zero_point:
            np.add(values, offset, out=values)
        if curve is not None:
            values = curve(values)
        clip(values, low, high, values)
        return values if look_up is None else look_up(values)

    return activate


@singledispatch
def curve_of(ofm: Output) -> Callable[[Ints], Ints] | None:
    """Return the function that is applied before clipping, None if there is none."""
    curve = _CURVES.get(ActivationFunction(ofm.activation.function))
    if curve is not None and np.dtype(ofm.fm.dtype) != np.int16:
        raise NpuFault("parse", "TANH and SIGMOID are modelled only for 16-bit signed OFMs")
    return curve


@singledispatch
def is_plain(ofm: Output) -> bool:
    """Return whether only clipping follows the zero point."""
    return bool(ofm.activation.function == ActivationFunction.RELU)


@singledispatch
def effective_zero_point(ofm: Output) -> int:
    """Return the offset added to results: OFM_ZERO_POINT, or 0 for 32 bits without a table.

    Regor requires 0 there (SupportedZeroPoint, ethos_u55_constraints.cpp). Vela up to 4.2, and
    Regor's predecessor in 5.2, leave a softmax's zero point in it and rely on it being ignored.
    """
    wide = np.dtype(ofm.fm.dtype).itemsize == 4
    return 0 if wide and is_plain(ofm) else ofm.fm.zero_point


@singledispatch
def clip_limits(ofm: Output) -> tuple[int, int]:
    """Return the range set by ACTIVATION, ACTIVATION_MIN and ACTIVATION_MAX.

    ACTIVATION_MIN and MAX have 16 bits, so they clip a 32-bit OFM only if the clip range is
    forced.
    """
    info = np.iinfo(ofm.fm.dtype)
    low, high = int(info.min), int(info.max)
    activation = ofm.activation
    if activation.clip_range is ActivationClipRange.OFM_PRECISION:
        if info.bits == 32:
            return low, high
    else:
        forced = _FORCED[activation.clip_range]
        low, high = max(low, forced[0]), min(high, forced[1])
    return (
        min(max(low, activation.minimum), high),
        max(min(high, activation.maximum), low),
    )


@singledispatch
def table(ofm: Output, context: Context) -> Callable[[Ints], NDArray[Any]] | None:
    """Return a function that looks up clipped values, None without a table."""
    slot = ofm.activation.table
    if slot is None:
        return None
    low, high = _index_range(ofm)
    entries, _ = _table_format(ofm)
    if entries != _LUT8_ENTRIES and np.dtype(ofm.fm.dtype) != np.int16:
        raise NpuFault("parse", f"a table cannot be indexed by a range of {low}..{high}")
    view = table_view(ofm, context)
    assert view is not None
    if entries == _LUT8_ENTRIES:
        first = scalar(low if low < 0 else 0)
        return lambda values: view[values - first]
    return lambda values: interpolate(view.astype(np.int64), values)


@singledispatch
def table_view(ofm: Output, context: Context) -> NDArray[Any] | None:
    """Return the lookup table in the NPU's memory, None without one; NpuFault if it is beyond."""
    slot = ofm.activation.table
    return None if slot is None else context.view_table(slot, *_table_format(ofm))


def _table_format(ofm: Output) -> tuple[int, str]:
    """Return the number of entries of an operation's table, and their dtype."""
    low, high = _index_range(ofm)
    if high - low < _LUT8_ENTRIES:
        return _LUT8_ENTRIES, ofm.fm.dtype
    return _LUT16_ENTRIES, "<u4"


def _index_range(ofm: Output) -> tuple[int, int]:
    return clip_limits(dataclasses.replace(ofm, activation=_unlimited(ofm.activation)))


def _unlimited(activation: Activation) -> Activation:
    return dataclasses.replace(activation, minimum=-(1 << 16), maximum=1 << 16)


def interpolate(table: Ints, values: Ints) -> Ints:
    """Look up 16-bit values, and round values between two entries."""
    base, slope, fraction = line_of(table, values)
    result: Ints = base + (slope * fraction + 64 >> LUT16_FRACTION_BITS)
    return result


def line_of(table: Ints, values: Ints) -> tuple[Ints, Ints, Ints]:
    """Return base and slope of each 16-bit value's entry, its low and high half, and the rest."""
    offset = values + 32768
    entry = table[offset >> LUT16_FRACTION_BITS]
    base = (entry & 0xFFFF ^ 0x8000) - 0x8000
    slope = (entry >> 16 ^ 0x8000) - 0x8000
    return base, slope, offset & (1 << LUT16_FRACTION_BITS) - 1
