"""Weights and scales in the DSP kernels' reading order.

templates/kernels/dsp/ethosgen_dsp.h defines that order; change both together.
"""

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.libraries.framework.scales import MOST_INPUT
from ethosgen.values.multiples import pieces

CHANNELS, STEP = 2, 4
"""Channels that the matrix kernel computes at a time, and places of a step."""
ROUND = 4
"""Steps of a round of the loop: a part of the depth has whole rounds, except the first."""
PART_BITS = 24
"""Bits of an odd channel's sum over a part of the depth."""
EXCESS = 128
"""What is added to the weights of even channels."""


def parts(weights: Array) -> tuple[int, int]:
    """Return the steps in the first part of the depth, and in each other part, or 0.

    Weights are (groups, channels, depth). The sum of an odd channel fits in each part.
    """
    odd = np.abs(weights[:, 1::2].astype(np.int64))
    count = pieces(weights.shape[2], STEP)
    rows = padded(odd, STEP, 2).reshape(odd.shape[0] * odd.shape[1], count, STEP)
    most = MOST_INPUT * rows.sum(axis=2)
    rounds = pieces(count, ROUND)
    for number in range(1, rounds + 1):
        part = pieces(rounds, number) * ROUND
        whole = np.pad(most, ((0, 0), (-count % part, 0)))
        sums = np.add.reduceat(whole, range(0, whole.shape[1], part), axis=1)
        if (sums < 1 << (PART_BITS - 1)).all():
            break
    others = part * (sums.shape[1] - 1)
    return count - others, part if others else 0


def matrix_scales(scales: Array) -> Array:
    """Return the scales of a matrix: the biases of odd channels are doubled."""
    scales = scales.copy()
    scales[1::2, 0] *= 2
    return padded(scales, CHANNELS, 0).reshape(-1)


def matrix_weights(weights: Array) -> Array:
    """Pack (channels, depth): for each pair of channels, for every 4 places, the weights of both.

    The order of the places is 0, 2, 1, 3.
    """
    blocks = padded(padded(weights, CHANNELS, 0), STEP, 1).astype(np.int16)
    split = blocks.reshape(len(blocks) // CHANNELS, CHANNELS, -1, 2, 2)
    split[:, 0] += EXCESS
    # Axes: pair, channel of the pair, step, half of the step, place of the half.
    ordered = split.transpose(0, 2, 4, 3, 1)
    return np.ascontiguousarray(ordered).reshape(-1).astype(np.uint8).view(np.int8)


def depthwise_scales(scales: Array) -> Array:
    """Return the scales of a depthwise layer: all biases are doubled."""
    scales = scales.copy()
    scales[:, 0] *= 2
    return scales.reshape(-1)


def depthwise_weights(weights: Array) -> Array:
    """Pack (row, column, channel): for each channel rows, each padded to whole words."""
    rows = padded(weights.transpose(2, 0, 1), STEP, 2)
    return np.ascontiguousarray(rows).reshape(-1)
