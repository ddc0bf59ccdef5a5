"""Weights and scales in the Thumb kernels' reading order.

templates/kernels/thumb/ethosgen_thumb.h defines that order; change both together.
"""

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.libraries.framework.scales import channel_scales
from ethosgen.aot.loops.layer import Layer

CHANNELS = 4
"""Channels that the matrix kernel computes at a time."""
EXCESS = 128
"""What is added to values, or to weights, so that none is negative."""


def thumb_scales(layer: Layer, weights: Array) -> Array | None:
    """Return (channels, 4) of structs ethosgen_core_scale; weights are (channels, products).

    None if the kernels cannot compute the layer. They requantize like the DSP kernels.
    """
    return channel_scales(layer, weights)


def matrix_weights(weights: Array) -> Array:
    """Pack (channels, depth): for each 4 channels, for each place of the depth, their weights."""
    blocks = [weights[i : i + CHANNELS].T for i in range(0, len(weights), CHANNELS)]
    return np.concatenate([np.ascontiguousarray(block).reshape(-1) for block in blocks])


def matrix_scales(scales: Array) -> Array:
    """Return the scales of a matrix; the kernel reads the biases of whole blocks."""
    return padded(scales, CHANNELS).reshape(-1)


def depthwise_weights(weights: Array) -> Array:
    """Pack (row, column, channel): for each channel its taps."""
    return np.ascontiguousarray(weights.transpose(2, 0, 1)).reshape(-1)


def lowered(scales: Array, weights: Array) -> Array:
    """Return the scales for raised values; weights are (channels, products)."""
    scales = scales.copy()
    scales[:, 0] -= EXCESS * weights.astype(np.int32).sum(axis=1)
    return scales


def raised(weights: Array) -> Array:
    """Return weights plus 128, as bytes for storage."""
    return (weights.astype(np.int16) + EXCESS).astype(np.uint8).view(np.int8)
