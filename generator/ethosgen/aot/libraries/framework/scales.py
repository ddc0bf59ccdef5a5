"""Scales of int8 channels as structs ethosgen_core_scale, for processors without Helium."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, channel_table
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.quantization import zero_point_of

LIFT = 29
"""What the sums of channels without a shift are raised by, as a power of two."""
UNSATURATED = 600
"""Sums of at least this magnitude saturate all outputs of channels without a shift."""
MOST_INPUT = 128
"""The greatest magnitude of an input."""


def channel_scales(layer: Layer, weights: Array) -> Array | None:
    """Return (channels, 4) of structs ethosgen_core_scale, with single biases.

    None if the kernels cannot compute the layer: twice a sum or an addend has more than 32 bits.
    Weights are (channels, products).
    """
    point = zero_point_of(layer.target)
    table = channel_table(layer, weights).astype(np.int64)
    most = MOST_INPUT * np.abs(weights.astype(np.int64)).sum(axis=1)
    rows = [
        channel_scale(*channel, point)
        for channel in zip(table.tolist(), most.tolist(), strict=True)
    ]
    known = [row for row in rows if row is not None]
    return np.array(known, np.int32) if len(known) == len(rows) else None


def channel_scale(
    row: Sequence[int], products: int, point: int
) -> tuple[int, int, int, int] | None:
    """Return a channel's bias, mantissa, addend and shift; `products` is its largest sum."""
    bias, mantissa, shift = row[0], row[1], -row[2]
    if products == 0:
        return _constant(point + _rescaled(bias, mantissa, -shift))
    most = abs(bias) + products
    if most >= 1 << 30 or shift < 0:
        return None
    if shift == 0:
        return _unshifted(bias, mantissa, point) if most < 1 << LIFT else None
    rescaled = (most * mantissa >> 31) + 1
    half = 1 << (shift - 1)
    if rescaled < half:
        return _constant(point)
    addend = half + (point << shift)
    return (bias, mantissa, addend, shift) if abs(addend) + rescaled < 1 << 31 else None


def _constant(value: int) -> tuple[int, int, int, int]:
    """Return the scale of an output that depends on no input."""
    return 0, 0, min(max(value, -128), 127) * 2, 1


def _unshifted(bias: int, mantissa: int, point: int) -> tuple[int, int, int, int] | None:
    """Return the scale of a channel without a shift.

    The kernels subtract 1 from negative products, so the sums are raised until products that do not
    saturate are positive. The mantissa is rounded so that this changes all products by the same
    integer; None if this changes an output.
    """
    step = 31 - LIFT
    near = min((mantissa + (1 << step >> 1)) >> step, (1 << LIFT) - 1)
    sums = np.arange(-UNSATURATED, UNSATURATED + 1, dtype=np.int64)
    rounded = [(sums * factor + (1 << 30)) >> 31 for factor in (mantissa, near << step)]
    if (rounded[0] != rounded[1]).any():
        return None
    return bias + (1 << LIFT), near << step, point - near, 0


def _rescaled(value: int, mantissa: int, shift: int) -> int:
    """Return a sum times its multiplier, rounded as TFLite does."""
    product = (value * mantissa + (1 << 30)) >> 31
    if shift == 0:
        return product
    return (product + (1 << (-shift - 1)) - (product < 0)) >> -shift
