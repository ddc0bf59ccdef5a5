"""Weights and scales in the order in which the DSP kernels read them.

templates/kernels/dsp/ethosgen_dsp.h defines that order; change both together.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, channel_table
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.quantization import zero_point_of

CHANNELS, STEP = 2, 4
"""Channels that the matrix kernel computes at a time, and places of a step."""
ROUND = 4
"""Steps of a round of the loop: a part of the depth has whole rounds, except the first."""
PART_BITS = 24
"""Bits of an odd channel's sum over a part of the depth."""
LIFT = 29
"""What the sums of channels without a shift are raised by, as a power of two."""
UNSATURATED = 600
"""Sums of at least this magnitude saturate all outputs of channels without a shift."""
EXCESS = 128
"""What is added to the weights of even channels."""
MOST_INPUT = 128
"""The greatest magnitude of an input."""


def dsp_scales(layer: Layer, weights: Array) -> Array | None:
    """Return (channels, 4) of structs ethosgen_core_scale, with single biases.

    None if the kernels cannot compute the layer: twice a sum or an addend has more than 32 bits.
    Weights are (channels, products).
    """
    point = zero_point_of(layer.target)
    table = channel_table(layer, weights).astype(np.int64)
    most = MOST_INPUT * np.abs(weights.astype(np.int64)).sum(axis=1)
    made = [dsp_scale(*one, point) for one in zip(table.tolist(), most.tolist(), strict=True)]
    known = [one for one in made if one is not None]
    return np.array(known, np.int32) if len(known) == len(made) else None


def dsp_scale(row: Sequence[int], products: int, point: int) -> tuple[int, int, int, int] | None:
    """Return a channel's bias, mantissa, addend and shift; `products` is its greatest sum."""
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
    rounded = [(sums * one + (1 << 30)) >> 31 for one in (mantissa, near << step)]
    if (rounded[0] != rounded[1]).any():
        return None
    return bias + (1 << LIFT), near << step, point - near, 0


def _rescaled(value: int, mantissa: int, shift: int) -> int:
    """Return a sum times its multiplier, rounded as TFLite does."""
    product = (value * mantissa + (1 << 30)) >> 31
    if shift == 0:
        return product
    return (product + (1 << (-shift - 1)) - (product < 0)) >> -shift


def parts(weights: Array) -> tuple[int, int]:
    """Return the steps of the first part of the depth, and those of each other or 0.

    Weights are (groups, channels, depth). The sum of an odd channel fits in each part.
    """
    odd = np.abs(weights[:, 1::2].astype(np.int64))
    count = -(-weights.shape[2] // STEP)
    rows = _padded(odd, STEP, 2).reshape(odd.shape[0] * odd.shape[1], count, STEP)
    most = MOST_INPUT * rows.sum(axis=2)
    rounds = -(-count // ROUND)
    for number in range(1, rounds + 1):
        part = -(-rounds // number) * ROUND
        whole = np.pad(most, ((0, 0), (-count % part, 0)))
        sums = np.add.reduceat(whole, range(0, whole.shape[1], part), axis=1)
        if (sums < 1 << (PART_BITS - 1)).all():
            break
    others = part * (sums.shape[1] - 1)
    return count - others, part if others else 0


def matrix_scales(made: Array) -> Array:
    """Return the scales of a matrix: the biases of odd channels are doubled."""
    made = made.copy()
    made[1::2, 0] *= 2
    return _padded(made, CHANNELS, 0).reshape(-1)


def matrix_weights(weights: Array) -> Array:
    """Pack (channels, depth): for each pair of channels, for every 4 places, both channels'.

    The order of the places is 0, 2, 1, 3.
    """
    blocks = _padded(_padded(weights, CHANNELS, 0), STEP, 1).astype(np.int16)
    split = blocks.reshape(len(blocks) // CHANNELS, CHANNELS, -1, 2, 2)
    split[:, 0] += EXCESS
    # Axes: pair, channel of the pair, step, half of the step, place of the half.
    ordered = split.transpose(0, 2, 4, 3, 1)
    return np.ascontiguousarray(ordered).reshape(-1).astype(np.uint8).view(np.int8)


def depthwise_scales(made: Array) -> Array:
    """Return the scales of a depthwise layer: all biases are doubled."""
    made = made.copy()
    made[:, 0] *= 2
    return made.reshape(-1)


def depthwise_weights(weights: Array) -> Array:
    """Pack (row, column, channel): for each channel rows, each padded to whole words."""
    rows = _padded(weights.transpose(2, 0, 1), STEP, 2)
    return np.ascontiguousarray(rows).reshape(-1)


def _padded(array: Array, multiple: int, axis: int) -> Array:
    """Return an array zero-padded at the end of an axis to a multiple of a length."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, -array.shape[axis] % multiple)
    return np.pad(array, widths)
