"""Weights and scales in the order in which the DSP kernels read them.

templates/kernels/dsp/ethosgen_dsp.h defines that order; change both together.
"""

import numpy as np

from ethosgen.aot.arithmetic.quantization import zero_point_of
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.packed.order import Array, channel_table

CHANNELS, STEP = 2, 4
"""Channels that the matrix kernel computes at a time, and places of a step."""
SHIFTS = (*range(1, 23),)
"""The shifts with which an addend fits in 32 bits."""
PAIR_BITS = 24
"""Bits of a sum of an odd channel of a matrix."""
EXCESS = 128
"""What is added to the weights of even channels."""
MOST_INPUT = 128
"""The greatest magnitude of an input."""


def dsp_scales(layer: Layer, weights: Array, most_product_bits: int) -> Array | None:
    """Return (channels, 4) of structs ethosgen_dsp_scale, with single biases.

    None if the kernels cannot compute the layer: a shift is outside SHIFTS, twice a sum has more
    than 32 bits, or a sum without its bias more than `most_product_bits`. Weights are (channels,
    products).
    """
    table = channel_table(layer, weights).astype(np.int64)
    bias, mantissa, shift = table[:, 0], table[:, 1], -table[:, 2]
    products = MOST_INPUT * np.abs(weights.astype(np.int64)).sum(axis=1)
    is_live = products > 0
    fit = np.isin(shift, SHIFTS) & (np.abs(bias) + products < 1 << 30)
    fit &= products < 1 << (most_product_bits - 1)
    if not fit[is_live].all():
        return None
    point = zero_point_of(layer.target)
    addend = (1 << (shift - 1)[is_live]) + (point << shift[is_live])
    made = np.zeros((len(table), 4), np.int32)
    made[is_live] = np.stack([bias[is_live], mantissa[is_live], addend, shift[is_live]], axis=1)
    constant = [point + _rescaled(*row) for row in table[~is_live].tolist()]
    made[~is_live, 2] = np.clip(constant, -128, 127) * 2
    made[~is_live, 3] = 1
    return made


def _rescaled(value: int, mantissa: int, shift: int) -> int:
    """Return a sum times its multiplier, rounded as TFLite does."""
    product = (value * mantissa + (1 << 30)) >> 31
    if shift == 0:
        return product
    return (product + (1 << (-shift - 1)) - (product < 0)) >> -shift


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
