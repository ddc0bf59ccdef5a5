"""Weights and scales in the micro-kernels' reading order.

templates/kernels/ethosgen_kernels.h defines that order; change both together.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.order import (
    Array,
    _with_weights,
    each_multiplier,
    packable_layer,
    padded,
)
from ethosgen.aot.loops.layer import Layer, read_layer
from ethosgen.aot.tir.quantization import shorten
from ethosgen.values.network import Operator, Tensor

MATRIX_CHANNELS = 4
"""Channels that the matrix kernel computes at a time."""
ROW_CHANNELS = 8
"""Channels that the kernel for one row computes at a time, if it applies."""
TAP_CHANNELS = 8
"""Channels that the depthwise kernel without lines computes at a time."""
MATRIX_DEPTH = 16
"""Products that one instruction of the matrix kernel accumulates."""
MATRIX_DEPTH_S16 = 8
"""The same for int16 rows."""

MOST_SPLIT_BYTES = 1 << 15
"""Most bytes of weights that are doubled in size so that a micro-kernel can compute the layer."""


def split_weights(op: Operator, tensors: Sequence[Tensor]) -> tuple[Layer, Array] | None:
    """Return a uint8 layer and its weights as sums of two int8 terms, None if not applicable.

    Without the zero point a weight has 9 bits. The last axis of the array has both terms.
    """
    layer = read_layer(op, tensors)
    weights = layer.weights
    if weights.data is None or not layer.weights_offset or weights.bytes > MOST_SPLIT_BYTES:
        return None
    weights_s9 = layer.weights.array().astype(np.int16) - layer.weights_offset
    near = np.clip(weights_s9, -128, 127)
    rest = weights_s9 - near
    centred = packable_layer(op, _with_weights(tensors, layer.weights, near))
    if centred is None or rest.max() > np.iinfo(np.int8).max:
        return None
    return centred, np.stack([near, rest], axis=-1).astype(np.int8)


def scales_s64(layer: Layer) -> Array:
    """Return (channels, 4) of an int16 layer: 64-bit addend, mantissa, right shift."""
    biases = [0] * layer.channels if layer.biases is None else layer.biases.array().tolist()
    rows = [
        scale_s64(bias, *shorten(multiplier))
        for bias, multiplier in zip(biases, each_multiplier(layer), strict=True)
    ]
    return np.array(rows, np.int32).reshape(-1, 4)


def scale_s64(bias: int, mantissa: int, shift: int) -> tuple[int, ...]:
    """Return the lower and the upper half of the addend, the mantissa, and the right shift."""
    added = (bias * mantissa + (1 << (shift - 1))) & 0xFFFFFFFFFFFFFFFF
    low, high = np.frombuffer(added.to_bytes(8, "little"), "<i4").tolist()
    return low, high, mantissa, shift


def matrix_weights(
    weights: Array, lanes: int = MATRIX_DEPTH, at_once: int = MATRIX_CHANNELS
) -> Array:
    """Pack (channels, depth): for every 4 channels, for every 16 of depth, 16 bytes per channel.

    `lanes` is the number of products that one instruction accumulates, 8 for int16; `at_once` is
    the number of channels.
    """
    blocks = padded(padded(weights, at_once, 0), lanes, 1)
    channels, depth = blocks.shape
    split = blocks.reshape(channels // at_once, at_once, -1, lanes)
    return np.ascontiguousarray(split.transpose(0, 2, 1, 3)).reshape(channels * depth)


def row_weights(weights: Array) -> Array:
    """Pack (channels, depth) as `matrix_weights` does, but for every 8 channels, and append a
    vector.

    The kernel loads that vector ahead without using it.
    """
    more = np.zeros(MATRIX_DEPTH, weights.dtype)
    return np.concatenate([matrix_weights(weights, at_once=ROW_CHANNELS), more])


def row_scales(table: Array) -> Array:
    """Pack (channels, 3) with one multiplier: mantissa, shift, biases, then 8 more words."""
    return np.concatenate([table[0, 1:], table[:, 0], np.zeros(ROW_CHANNELS, table.dtype)])


def is_row_of_eights(depth: int, table: Array) -> bool:
    """Return whether the kernel for one row and 8 channels applies, by (channels, 3) of scales."""
    is_one = bool((table[:, 1:] == table[0, 1:]).all()) and table[0, 2] < 0
    return is_one and fits_eights(depth, len(table))


def fits_eights(depth: int, channels: int) -> bool:
    """Return whether a row and a number of channels have the size for that kernel."""
    return channels % ROW_CHANNELS == 0 and (depth % MATRIX_DEPTH == 0 or depth < MATRIX_DEPTH)


def matrix_scales(table: Array) -> Array:
    """Pack (channels, 3): for every 4 channels 4 biases, 4 mantissas, 4 shifts."""
    blocks = padded(table, MATRIX_CHANNELS, 0).reshape(-1, MATRIX_CHANNELS, 3)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1)


def depthwise_weights(weights: Array, height: int) -> Array:
    """Pack (columns, rows, channels) as for the matrix kernel; columns get `height` rows."""
    columns, rows, channels = weights.shape
    taps = np.zeros((columns, height, channels), weights.dtype)
    taps[:, :rows] = weights
    return matrix_weights(taps.reshape(-1, channels).T)


def tap_weights(weights: Array) -> Array:
    """Pack (taps, channels): for every 8 channels, for every tap, the weights of the 8."""
    groups = padded(weights, TAP_CHANNELS, 1)
    return groups.reshape(len(weights), -1, TAP_CHANNELS).transpose(1, 0, 2).ravel()


def tap_scales(table: Array) -> Array:
    """Pack (channels, 3) as matrix_scales, of every 8 channels first the even ones."""
    groups = padded(table, TAP_CHANNELS, 0).reshape(-1, TAP_CHANNELS // 2, 2, 3)
    return matrix_scales(groups.transpose(0, 2, 1, 3).reshape(-1, 3))


def whole_groups(channels: int) -> list[int]:
    """Return the channels in groups of 4; the last 4 form one, so some may occur twice."""
    whole = channels - channels % MATRIX_CHANNELS
    if whole in (0, channels):
        return list(range(channels))
    return [*range(whole), *range(channels - MATRIX_CHANNELS, channels)]
