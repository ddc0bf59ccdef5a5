"""Layers whose weights can be packed, and biases and scales in tables for C."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.loops.layer import Layer, read_layer
from ethosgen.aot.tir.quantization import Multiplier
from ethosgen.values.network import Operator, Tensor

Array = np.ndarray[Any, Any]


def packable_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return the layer if the micro-kernels can compute it, as they can most.

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
    """Return whether sums of int16 products always fit in 32 bits, although TFLite uses 64."""
    axis = 3 if layer.is_depthwise else 0
    weights = np.moveaxis(layer.weights.array(), axis, 0).reshape(layer.channels, -1)
    return layer.sum_dtype == "int64" and sums_fit(weights)


def sums_fit(weights: Array, biases: Array | int = 0, factor: float = 1.0) -> bool:
    """Return whether biases plus products of (channels, depth) with int16 fit into 32 bits.

    With a factor of 1 or more, the product must fit, too.
    """
    most = np.abs(weights.astype(np.int64)).sum(axis=1) << 15
    return int((most + np.abs(biases)).max(initial=0)) * factor <= np.iinfo(np.int32).max


def each_multiplier(layer: Layer) -> list[Multiplier]:
    """Return one multiplier for each channel."""
    multipliers = list(layer.multipliers)
    return multipliers * (layer.channels if len(multipliers) == 1 else 1)


def by_group(pack: Callable[[Array], Array], array: Array, groups: int) -> Array:
    """Pack each group of channels, and join the results."""
    return np.concatenate([pack(part) for part in np.split(array, groups)])


def padded(array: Array, multiple: int, axis: int = 0) -> Array:
    """Return an array zero-padded at the end of an axis to a multiple of a length."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, -array.shape[axis] % multiple)
    return np.pad(array, widths)


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
