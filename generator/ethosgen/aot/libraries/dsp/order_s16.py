"""Weights and scales in the reading order of the DSP kernels for int16.

templates/kernels/dsp/ethosgen_dsp_s16.h defines that order; change both together.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.quantization import Multiplier, shorten
from ethosgen.values.multiples import pieces

CHANNELS, PAIR = 2, 2
"""Channels that the matrix kernel computes at a time, and places of a step."""
MOST_INPUT = 1 << 15
"""The greatest magnitude of an input."""
MOST_RAISED = 16
"""Bits by which a mantissa can be raised."""
WORD = 32
"""Bits of a product that the kernels drop before they shift."""


def scales(layer: Layer, weights: Array) -> Array | None:
    """Return the scales of a layer's channels; weights are (channels, products)."""
    biases = [0] * layer.channels if layer.biases is None else layer.biases.array().tolist()
    multipliers = list(layer.multipliers)
    multipliers *= layer.channels if len(multipliers) == 1 else 1
    return channel_scales(biases, multipliers, weights)


def channel_scales(
    biases: Sequence[int], multipliers: Sequence[Multiplier], weights: Array
) -> Array | None:
    """Return (channels, 4) of structs ethosgen_dsp_scale_s16; weights are (channels, products).

    None if the kernels cannot compute a channel: its scaled sums may have more than 64 bits.
    """
    most = (MOST_INPUT * np.abs(weights.astype(np.int64)).sum(axis=1)).tolist()
    rows = [scale(*channel) for channel in zip(biases, multipliers, most, strict=True)]
    known = [row for row in rows if row is not None]
    return np.array(known, np.int32) if len(known) == len(rows) else None


def scale(bias: int, multiplier: Multiplier, most: int) -> tuple[int, int, int, int] | None:
    """Return a channel's addend in two words, mantissa and shift; `most` is its largest sum.

    TFLite shifts the product of a sum and a mantissa of 16 bits. Here both are raised, if possible
    until the shift is at least a word, which is then dropped.
    """
    mantissa, shift = shorten(multiplier)
    raised = min(max(WORD - shift, 0), MOST_RAISED)
    addend = (bias * mantissa + (1 << (shift - 1))) << raised
    mantissa <<= raised
    if abs(addend) + most * mantissa >= 1 << 63:
        return None
    low, high = np.array([addend], np.int64).view(np.int32).tolist()
    return low, high, mantissa, min(shift + raised - WORD, WORD - 1)


def part(weights: Array, scales: Array) -> int:
    """Return the pairs of places whose sums fit in 32 bits, for weights (channels, depth).

    Parts are equal, except that the last may be shorter. 0 if there is one, and no shift of
    `scales` is negative.
    """
    pairs = np.abs(padded(weights, PAIR, 1).astype(np.int64)).reshape(len(weights), -1, PAIR)
    most = MOST_INPUT * pairs.sum(axis=2)
    count: int = most.shape[1]
    for number in range(1, count + 1):
        length = pieces(count, number)
        sums = np.add.reduceat(most, range(0, count, length), axis=1)
        if (sums < 1 << 31).all():
            break
    return 0 if length == count and (scales[:, 3] >= 0).all() else length


def matrix_weights(weights: Array) -> Array:
    """Pack (channels, depth): for each pair of channels, for every 2 places, weights of both."""
    blocks = padded(padded(weights, CHANNELS, 0), PAIR, 1)
    split = blocks.reshape(len(blocks) // CHANNELS, CHANNELS, -1)
    return np.ascontiguousarray(split.transpose(0, 2, 1)).reshape(-1)


def matrix_scales(scales: Array) -> Array:
    """Return the scales of a matrix, and an extra one if the number of channels is odd."""
    return padded(scales, CHANNELS).reshape(-1)
