"""Weights and scales in the order in which the micro-kernels read them.

templates/kernels/ethosgen_kernels.h defines that order; change both together.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.loops.layer import Layer, read_layer
from ethosgen.aot.tir.quantization import Multiplier, shorten
from ethosgen.values.network import Operator, Tensor

Array = np.ndarray[Any, Any]

MATRIX_CHANNELS = 4
"""Channels that the matrix kernel computes at a time."""
MATRIX_DEPTH = 16
"""Products that one instruction of the matrix kernel accumulates."""
MATRIX_DEPTH_S16 = 8
"""The same for int16 rows."""

MOST_SPLIT_BYTES = 1 << 15
"""Most bytes of weights that are doubled in size so that a micro-kernel can compute the layer."""


def packable_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return the layer if the micro-kernels can compute it, as they can most layers.

    Weights and bias are constants. For int8 the multipliers are below 1. For int16 TFLite uses
    64-bit sums, and the sums without the bias fit into 32 bits.
    """
    layer = _centred(read_layer(op, tensors))
    known = layer.weights.data is not None and not layer.weights_offset and layer.once is None
    known = known and (layer.biases is None or layer.biases.data is not None)
    if layer.source.dtype == "int16":
        return layer if known and _fits_32_bits(layer) else None
    fits = known and all(multiplier.shift <= 0 for multiplier in layer.multipliers)
    return layer if fits else None


def layer_s16(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return an int16 layer with constant weights and 64-bit sums, None for others."""
    layer = read_layer(op, tensors)
    known = layer.weights.data is not None and not layer.weights_offset
    known = known and (layer.biases is None or layer.biases.data is not None)
    return layer if known and layer.sum_dtype == "int64" else None


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


def _centred(layer: Layer) -> Layer:
    """Return a layer with the zero point subtracted from the weights, if 8 bits suffice."""
    weights, offset = layer.weights, layer.weights_offset
    if weights.data is None or not offset:
        return layer
    centred = weights.array().astype(np.int16) - offset
    if centred.min() < -128 or centred.max() > 127:
        return layer
    (tensor,) = _with_weights([weights], weights, centred)
    return replace(layer, weights=tensor)


def _with_weights(tensors: Sequence[Tensor], weights: Tensor, values: Array) -> tuple[Tensor, ...]:
    """Return the tensors with other values and zero point 0 for the weights."""
    assert weights.quantization is not None
    data = values.astype(np.int8).tobytes()
    plain = replace(weights.quantization, zero_point=(0,))
    changed = replace(weights, data=data, quantization=plain)
    return tuple(changed if t.index == weights.index else t for t in tensors)


def channel_table(layer: Layer, weights: Array) -> Array:
    """Return an array (channels, 3): bias, mantissa and shift of each channel.

    `weights` is (channels, products). The input's zero point is folded into the bias: bias minus
    zero point times the channel's sum of weights. Wrapping 32-bit sums do not depend on the order.
    """
    biases = np.zeros(layer.channels, np.int64)
    if layer.biases is not None:
        biases += layer.biases.array().reshape(-1)
    wrapped = folded_biases(weights, layer.input_offset, biases)
    multipliers = each_multiplier(layer)
    columns = (wrapped, [m.mantissa for m in multipliers], [m.shift for m in multipliers])
    return np.stack([np.asarray(column, np.int32) for column in columns], axis=1)


def folded_biases(weights: Array, zero_point: int, biases: Array | int = 0) -> Array:
    """Return biases minus the input's zero point times the sum of each row of weights, as int32."""
    totals = biases - zero_point * weights.astype(np.int64).sum(axis=1)
    return np.asarray((totals & 0xFFFFFFFF).astype(np.uint32).view(np.int32))


def _fits_32_bits(layer: Layer) -> bool:
    """Return whether sums of int16 products always fit into 32 bits, although TFLite uses 64."""
    axis = 3 if layer.is_depthwise else 0
    weights = np.moveaxis(layer.weights.array(), axis, 0).reshape(layer.channels, -1)
    return layer.sum_dtype == "int64" and sums_fit(weights)


def sums_fit(weights: Array, biases: Array | int = 0) -> bool:
    """Return whether biases plus products of (channels, depth) with int16 fit into 32 bits."""
    most = np.abs(weights.astype(np.int64)).sum(axis=1) << 15
    return int((most + np.abs(biases)).max(initial=0)) <= np.iinfo(np.int32).max


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


def each_multiplier(layer: Layer) -> list[Multiplier]:
    """Return one multiplier for each channel."""
    multipliers = list(layer.multipliers)
    return multipliers * (layer.channels if len(multipliers) == 1 else 1)


def matrix_weights(weights: Array, lanes: int = MATRIX_DEPTH) -> Array:
    """Pack (channels, depth): for every 4 channels, for every 16 of depth, 16 bytes per channel.

    `lanes` is the number of products that one instruction accumulates, 8 for int16.
    """
    blocks = padded(padded(weights, MATRIX_CHANNELS, 0), lanes, 1)
    channels, depth = blocks.shape
    split = blocks.reshape(channels // MATRIX_CHANNELS, MATRIX_CHANNELS, -1, lanes)
    return np.ascontiguousarray(split.transpose(0, 2, 1, 3)).reshape(channels * depth)


def matrix_scales(table: Array) -> Array:
    """Pack (channels, 3): for every 4 channels 4 biases, 4 mantissas, 4 shifts."""
    blocks = padded(table, MATRIX_CHANNELS, 0).reshape(-1, MATRIX_CHANNELS, 3)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1)


def depthwise_weights(weights: Array, height: int) -> Array:
    """Pack (columns, rows, channels) as the matrix kernel's; columns get `height` rows."""
    columns, rows, channels = weights.shape
    taps = np.zeros((columns, height, channels), weights.dtype)
    taps[:, :rows] = weights
    return matrix_weights(taps.reshape(-1, channels).T)


def whole_groups(channels: int) -> list[int]:
    """Return the channels in groups of 4; the last 4 are one, so some may be there twice."""
    whole = channels - channels % MATRIX_CHANNELS
    if whole in (0, channels):
        return list(range(channels))
    return [*range(whole), *range(channels - MATRIX_CHANNELS, channels)]


def padded(array: Array, multiple: int, axis: int = 0) -> Array:
    """Return an array zero-padded at the end of an axis to a multiple of a length."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, -array.shape[axis] % multiple)
    return np.pad(array, widths)
