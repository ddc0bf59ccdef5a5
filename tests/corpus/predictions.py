"""Predictions, in numpy, of an operator's outputs where Vela compiles a different computation.

A prediction takes the operator, its inputs and an oracle's outputs, and returns the NPU's outputs.
Memory that nothing writes is 0 in the model. A reading takes the operator and its correct inputs,
and returns the inputs that it reads instead; an oracle computes the rest.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.offload.errata_conditions import (
    is_u85,
    regors_nearest,
    sum_bounds,
)
from ethosgen.backend.ethosu.offload.errata_u85 import scaled_by_regor
from tests.corpus.rounding import factor_of, rescaled
from tests.corpus.site import Array, OperatorSite, Values, scale_of

Prediction = Callable[[OperatorSite, Values, Values], list[Array]]
Sequenced = Callable[[OperatorSite, Sequence[Values], Sequence[Values]], list[list[Array]] | None]
Reading = Callable[[OperatorSite, Values], list[Array]]

_SEGMENTS, _SEGMENT = 512, 128
"""The segments of a 16-bit table, and the values in each."""

_HIGH_BIT = 31
_HIGHEST = 127
_NATIVE_RANK = 4
_HWC = 3
_ROLLED_ROWS = 4


def transposed_as_int8(site: OperatorSite, _read: Values, right: Values) -> list[Array]:
    """Transpose uint8 as int8 and clip to the limits of uint8, so that 128 becomes 0.

    An activation has its own limits; if the lower one exceeds the upper one, the upper one applies.
    """
    code = site.operator.options.get("fused_activation_function", "NONE")
    return [_clipped_as_int8(right[0].view(np.int8), site, code)]


def clipped_as_int8(site: OperatorSite, read: Values, _right: Values) -> list[Array]:
    """Apply an activation that is fused with such a transposition, with the limits of uint8."""
    return [_clipped_as_int8(read[0], site, site.code)]


def _clipped_as_int8(values: Array, site: OperatorSite, activation: str) -> Array:
    low, high = _limits(site, activation)
    clipped = np.minimum(np.maximum(values.astype(np.int64), low), min(high, _HIGHEST))
    return np.asarray(clipped.astype(np.uint8))


_ENDS: dict[str, tuple[float | None, float | None]] = {
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU_0_TO_1": (0.0, 1.0),
}


def _limits(site: OperatorSite, activation: str) -> tuple[int, int]:
    """Return the limits of a uint8 output with an activation, as TFLite quantizes them."""
    low, high = _ENDS.get(activation, (None, None))
    scale, point = np.float32(scale_of(site.output)), site.output.first_zero_point

    def quantized(real: float | None, default: int) -> int:
        if real is None:
            return default
        return min(max(point + round(float(np.float32(real) / scale)), 0), 255)

    return quantized(low, 0), quantized(high, 255)


def shifted_by_half(_site: OperatorSite, read: Values) -> list[Array]:
    """Shift the index of a table that is fused with a transposition of uint8 by 128."""
    return [(read[0] + np.uint8(128)).astype(np.uint8)]


def first_of_four_rows(_site: OperatorSite, read: Values) -> list[Array]:
    """Replace each four rows of an image by the first, as in a buffer of four rows."""
    rows = np.arange(read[0].shape[1])
    return [read[0][:, rows - rows % _ROLLED_ROWS]]


def nearest_centres(site: OperatorSite, read: Values, _right: Values) -> list[Array]:
    """Resize an image to the pixels whose centres are nearest."""
    aligned = bool(site.operator.options.get("align_corners"))
    rows, columns = (
        regors_nearest(site.inputs[0].shape[axis], site.output.shape[axis], aligned)
        for axis in (1, 2)
    )
    return [read[0][:, rows][:, :, columns]]


def padded_behind(site: OperatorSite, read: Values) -> list[Array]:
    """Pad an image at the bottom and right only."""
    x, weights, options = read[0], read[1], site.operator.options
    amounts = [(0, 0)]
    for axis, name in ((1, "h"), (2, "w")):
        reach = (weights.shape[axis] - 1) * options.get(f"dilation_{name}_factor", 1) + 1
        steps = (site.output.shape[axis] - 1) * options.get(f"stride_{name}", 1)
        amounts.append((0, max(steps + reach - x.shape[axis], 0)))
    return [np.pad(x, [*amounts, (0, 0)], constant_values=site.inputs[0].first_zero_point)]


def limited_bias(site: OperatorSite, read: Values) -> list[Array]:
    """Limit a bias so that every rescaled sum fits in 32 bits.

    A bias is changed only if every sum of its channel still saturates.
    """
    bounds = sum_bounds(site)
    assert bounds is not None
    bias, reach, factor = bounds
    most = np.floor(((1 << 31) - (1 << 16)) / factor).astype(np.int64) - reach
    saturates = (most - reach) * factor >= 1 << 16
    limited = np.where(saturates, np.clip(bias, -abs(most), abs(most)), bias)
    return [*read[:-1], limited.reshape(read[-1].shape)]


def stepped_by_leading_axes(site: OperatorSite, read: Values) -> list[Array]:
    """Return the operand elements that the NPU reads, in the output's shape.

    Vela steps along all axes of the output except the last three, and along the axes of an operand
    with the same numbers, up to its last element; its other axes are aligned with the output's last
    axes.
    """
    shape = site.output.shape
    index = np.indices(shape)
    parts = []
    for operand in read:
        array = operand.reshape((1,) * (_NATIVE_RANK - operand.ndim) + operand.shape)
        behind = len(shape) - array.ndim
        places = [
            np.minimum(index[axis if axis < len(shape) - _HWC else axis + behind], extent - 1)
            for axis, extent in enumerate(array.shape)
        ]
        parts.append(array[tuple(places)])
    return parts


def packed_rows(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Pad a transposed tensor: write its slices without gaps, then the border.

    The transposition writes each slice of the last axes separately.
    """
    amounts = np.reshape(site.constant(1), (-1, 2))
    inside = tuple(slice(a, a + n) for (a, _), n in zip(amounts, read[0].shape, strict=True))
    out = np.zeros_like(right[0])
    flat, start = out.reshape(-1), int(np.ravel_multi_index(amounts[:, 0], out.shape))
    flat[start : start + read[0].size] = read[0].reshape(-1)
    border = np.ones(out.shape, bool)
    border[inside] = False
    out[border] = right[0][border]
    return [out]


def shifted_product(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Shift a 32-bit product with scales to the right, although it was not multiplied by a factor.

    It is rounded as in TFLite: first at bit 31 if the shift is larger.
    """
    x, y = (values.astype(np.int64) for values in read)
    scales = [scale_of(tensor) for tensor in site.inputs]
    _, shift = factor_of(scales[0] * scales[1] / scale_of(site.output))
    product, first = x * y, 1 << 30 if shift > _HIGH_BIT else 0
    rounding = (1 << shift - 1) + np.where(product < 0, -first, first)
    return [_stored(site, product + rounding >> shift, right[0])]


_ARITHMETIC = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}


def saturated(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Compute a 32-bit sum, difference or product that saturates, but wraps around on U85."""
    x, y = (values.astype(np.int64) for values in read)
    return [_stored(site, _ARITHMETIC[site.code](x, y), right[0])]


def rounded_twice(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Compute a uint8 FULLY_CONNECTED that rounds its sums twice, as TFLite Micro's int8 one."""
    source, weights = (
        values.astype(np.int64) - tensor.first_zero_point
        for values, tensor in zip(read[:2], site.inputs[:2], strict=True)
    )
    sums = source.reshape(-1, weights.shape[1]) @ weights.T
    if len(read) > 2:
        sums = sums + read[2].astype(np.int64)
    factor = scale_of(site.inputs[0]) * scale_of(site.inputs[1]) / scale_of(site.output)
    rounded = rescaled(sums, factor) + site.output.first_zero_point
    activation = str(site.operator.options.get("fused_activation_function", "NONE"))
    return [np.clip(rounded, *_limits(site, activation)).astype(np.uint8).reshape(right[0].shape)]


def negated(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Negate values; the negative of the lowest value saturates, except in 32 bits on U85."""
    return [_stored(site, -read[0].astype(np.int64), right[0])]


def mirrored_in_plane(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Mirror height and width only, at offset 0; the rest is not written."""
    rank = read[0].ndim
    amounts = np.reshape(site.constant(1), (rank, 2)).tolist()
    plane = [amounts[a] if a in (rank - 3, rank - 2) else [0, 0] for a in range(rank)]
    mode = "reflect" if site.operator.options.get("mode", "REFLECT") == "REFLECT" else "symmetric"
    padded = np.pad(read[0], plane, mode)  # type: ignore[call-overload]
    out = np.zeros_like(right[0])
    out[tuple(slice(n) for n in padded.shape)] = padded
    return [out]


def summed(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Sum over the first axis only, as many sums as fit in the output, rounded once, half up."""
    x, y = site.inputs[0], site.output
    factor, shift = factor_of(scale_of(x) / scale_of(y))
    sums = (read[0].astype(np.int64) - x.first_zero_point).sum(axis=site.axes[0]).reshape(-1)
    steps = [
        int(total) * factor + (1 << shift - 1) >> shift if shift > 0 else int(total) * factor
        for total in sums[: right[0].size]
    ]
    return [_stored(site, np.add(steps, y.first_zero_point), right[0])]


def _stored(site: OperatorSite, values: Array, like: Array) -> Array:
    """Clip values, except those of 32 bits on U85: Vela asks for no clip range there."""
    if is_u85(site) and like.dtype == np.int32:
        return values.astype(like.dtype).reshape(like.shape)
    return _limited(values, like)


def _limited(values: Array, like: Array) -> Array:
    """Clip values to the type of another array, and return them in its type and shape."""
    info = np.iinfo(like.dtype)
    return np.clip(values, info.min, info.max).astype(like.dtype).reshape(like.shape)


def slid(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Reduce without keep_dims: a window begins at each of the output's columns.

    The output's shape, extended to the input's rank, is split around the reduced axis into rows,
    columns and the rest, and so is the input. A window is as wide as the axis; it ends with the
    row, and is empty after that. True is -1 on the NPU, which writes its lowest bit.
    """
    *before, axis = sorted(site.axes)
    is_largest = site.code in ("REDUCE_MAX", "REDUCE_ALL")
    reduce = np.maximum if is_largest else np.minimum
    (x, *_), (out, *_) = read, right
    x = -x.astype(np.int8) if x.dtype == bool else x
    info = np.iinfo(x.dtype)
    empty = info.min if is_largest else info.max
    kept = reduce.reduce(x, axis=tuple(before), keepdims=True) if before else x
    shape = (1,) * (x.ndim - out.ndim) + out.shape
    rest = math.prod(kept.shape[axis + 1 :])
    data = kept.reshape(-1, kept.shape[axis], rest)
    rows, columns = math.prod(shape[:axis]), shape[axis]
    windows = np.full((rows, columns, rest), empty, x.dtype)
    for column in range(min(columns, data.shape[1])):
        windows[:, column] = reduce.reduce(data[:rows, column:], axis=1)
    return [(windows & 1 if out.dtype == bool else windows).astype(out.dtype).reshape(out.shape)]


_COMPARE = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
}


def compared(site: OperatorSite, read: Values, _right: Values) -> list[Array]:
    """Compare operands that Regor scales."""
    scaled = [scaled_by_regor(x, tensor) for x, tensor in zip(read, site.inputs, strict=True)]
    return [_COMPARE[site.code](*scaled)]


def divided(_site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Divide the stored values, towards zero."""
    (x, y, *_), (out, *_) = (array.astype(np.int64) for array in read), right
    info = np.iinfo(out.dtype)
    quotients = np.sign(x) * np.sign(y) * (np.abs(x) // np.maximum(np.abs(y), 1))
    return [np.clip(quotients, info.min, info.max).astype(out.dtype)]


def first_slice(_site: OperatorSite, _read: Values, right: Values) -> list[Array]:
    """Pack seven dimensions: only the first of the outermost slices is written."""
    out = np.zeros_like(right[0])
    out[0] = right[0][0]
    return [out]


def saturated_squares(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Compute a squared difference that saturates where TFLite Micro's shift overflows 32 bits."""
    scales = [scale_of(tensor) for tensor in site.inputs]
    unit = 2 * max(scales)
    x, y = (rescaled(v, s / unit) for v, s in zip(read, scales, strict=True))
    shift = max(math.frexp(unit * unit / scale_of(site.output))[1], 0)
    beyond = (x - y) ** 2 << shift > np.iinfo(np.int32).max
    return [np.where(beyond, np.iinfo(right[0].dtype).max, right[0]).astype(right[0].dtype)]


def flatter_in_last_segment(site: OperatorSite, read: Values, right: Values) -> list[Array]:
    """Compute LOG with a 16-bit table whose last slope is too small by one if its base is negative.

    Base and slope are LiteRT's, computed in float (tflite/kernels/internal/common.h, LUTPopulate).
    """
    scale, steps = np.float32(scale_of(site.inputs[0])), np.float32(scale_of(site.output))
    low, high = scale * np.float32(-(1 << 15)), scale * np.float32((1 << 15) - 1)
    step = (high - low) / np.float32(_SEGMENTS)
    inverse = np.float32(1 << 16) / (steps * np.float32((1 << 16) - 1))
    start, middle, end = (
        np.log(low + np.float32(n) * step) * inverse
        for n in (_SEGMENTS - 1, _SEGMENTS - 0.5, _SEGMENTS)
    )
    error = _round((end + _round(start)) / 2) - _round(middle)
    base = int(np.clip(_round(start) - _round(error / 2), -(1 << 15), (1 << 15) - 1))
    slope = int(np.clip(_round(np.log(high) * inverse), -(1 << 15), (1 << 15) - 1)) - base
    offset = read[0].astype(np.int64) - ((1 << 15) - _SEGMENT)
    flatter = base + ((slope - (base < 0)) * offset + _SEGMENT // 2) // _SEGMENT
    return [np.where(offset >= 0, flatter, right[0]).astype(right[0].dtype)]


def _round(value: np.floating[Any]) -> np.float32:
    """Round halves away from zero, as C++ does."""
    rounded = np.floor(np.abs(value) + np.float32(0.5))
    return np.float32(rounded if value > 0 else -rounded)
