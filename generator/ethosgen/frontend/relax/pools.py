"""Pools and reductions."""

from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import Array, Value, channels_last, in_order, order_of
from ethosgen.frontend.relax.layers import Pads, padded, plane_of, read_pads, read_pair, spatial
from ethosgen.frontend.relax.site import NoIntegerForm, Site, ints, translates
from ethosgen.values.errors import UnsupportedError


@translates("nn.max_pool2d", "nn.max_pool1d", "nn.avg_pool2d", "nn.avg_pool1d")
def pool(site: Site) -> Value:
    """Translate a pool over windows."""
    attributes = site.attributes
    is_max = "max" in site.call.op.name
    layout = str(attributes.layout)
    window, strides = read_pair(attributes.pool_size), read_pair(attributes.strides)
    dilation = read_pair(attributes.dilation)
    source = spatial(site, site.value(0), layout)
    pads = read_pads(attributes.padding)
    taps = [1 + (size - 1) * gap for size, gap in zip(window, dilation, strict=True)]
    full = _extended(site, source, pads, taps, strides, layout)
    if set(dilation) != {1}:
        if not is_max:
            raise UnsupportedError("its average pool has a dilation")
        source, _ = padded(site, source, full, [0, 0], strides, lowest=True)
        return placed(site, _dilated(site, source, window, strides, dilation), source, layout)
    if is_max:
        source, padding = padded(site, source, full, list(window), strides, lowest=True)
        return same_scale(site, "MAX_POOL_2D", source, padding, window, strides)
    inside = _counts(site, source, full, window, strides, layout)
    counts = inside
    if bool(attributes.count_include_pad):
        counts = _counts(site, source, full, window, strides, layout, pads)
    extended, padding = padded(site, source, full, list(window), strides)
    if padding == "SAME" and np.array_equal(counts, inside):
        return same_scale(site, "AVERAGE_POOL_2D", extended, padding, window, strides)
    if padding == "SAME":
        extended, padding = padded(site, source, full, [0, 0], strides)
    factors = np.float32(np.prod(window)) / counts.astype(np.float32)
    return _averaged(site, extended, window, strides, factors)


def _extended(
    site: Site, source: Value, pads: Pads, taps: list[int], strides: tuple[int, int], layout: str
) -> Pads:
    """Return the padding, with ceil_mode's addition at the end."""
    (top, bottom), (left, right) = pads
    more = []
    for out, size, before, after, window, stride in zip(
        plane_of(site, layout),
        source.physical[1:3],
        (top, left),
        (bottom, right),
        taps,
        strides,
        strict=True,
    ):
        more.append(max(after, (out - 1) * stride + window - size - before))
    return (top, more[0]), (left, more[1])


def _counts(
    site: Site, source: Value, pads: Pads, window: Any, strides: Any, layout: str, extra: Any = None
) -> Array:
    """Return the number of elements in each window, as [1, rows, columns, 1].

    `extra` are pads that count as elements.
    """
    counted = extra or ((0, 0), (0, 0))
    rows = []
    for axis, out in enumerate(plane_of(site, layout)):
        first = np.arange(out) * strides[axis] - pads[axis][0]
        size = source.physical[1 + axis]
        low = np.maximum(first, -counted[axis][0])
        high = np.minimum(first + window[axis], size + counted[axis][1])
        rows.append(high - low)
    counts: Array = np.multiply.outer(rows[0], rows[1])[None, :, :, None]
    return counts


def _averaged(site: Site, source: Value, window: Any, strides: Any, factors: Array) -> Value:
    """Average over padded windows, and correct those at the border for missing elements."""
    if np.all(factors == 1):
        return same_scale(site, "AVERAGE_POOL_2D", source, "VALID", window, strides)
    if site.is_quantized:
        raise NoIntegerForm("its average pool has windows of different sizes at the border")
    averages = site.draft.add_operator(
        *("AVERAGE_POOL_2D", (source.tensor,)),
        (source.physical[0], *factors.shape[1:3], source.physical[3]),
        "float32",
        None,
        _options("VALID", window, strides),
    )
    held = site.draft.add_constant(factors.astype(np.float32))
    averages = site.draft.add_operator(
        *("MUL", (averages.tensor, held), averages.shape, "float32", None),
        {"fused_activation_function": "NONE"},
    )
    return placed(site, averages, source, str(site.attributes.layout))


def _dilated(site: Site, source: Value, window: Any, strides: Any, dilation: Any) -> Value:
    """Return the largest of strided slices along the columns, of the largest along the rows."""
    for axis, out in enumerate(plane_of(site, str(site.attributes.layout)), 1):
        shape = [*source.physical[:axis], out, *source.physical[axis + 1 :]]
        steps = [strides[axis - 1] if i == axis else 1 for i in range(4)]
        parts = []
        for tap in range(window[axis - 1]):
            begin = [tap * dilation[axis - 1] if i == axis else 0 for i in range(4)]
            ends = [b + (n - 1) * s + 1 for b, n, s in zip(begin, shape, steps, strict=True)]
            parts.append(site.draft.slice(source, begin, ends, steps, shape))
        source = reduce(partial(_larger, site), parts)
    return source


def _larger(site: Site, first: Value, second: Value) -> Value:
    ends = (first.tensor, second.tensor), first.physical, first.dtype, first.scale
    return site.draft.add_operator("MAXIMUM", *ends)


def _options(padding: str, window: Any, strides: Any) -> dict[str, Any]:
    return {
        "padding": padding,
        "stride_h": strides[0],
        "stride_w": strides[1],
        "filter_height": window[0],
        "filter_width": window[1],
        "fused_activation_function": "NONE",
    }


def same_scale(
    site: Site, code: str, source: Value, padding: str, window: Any, strides: Any
) -> Value:
    """Add a pool, which keeps its input's quantization; a QUANTIZE follows if necessary."""
    layout = str(site.attributes.layout)
    full = (source.physical[0], *plane_of(site, layout), source.physical[3])
    options = _options(padding, window, strides)
    pooled = site.draft.add_operator(
        code, (source.tensor,), full, source.dtype, source.scale, options
    )
    return placed(site, pooled, source, layout)


def placed(site: Site, operand: Value, source: Value, layout: str) -> Value:
    """Return a result of (batch, row, column, channel) in the network's shape."""
    rank = len(site.shape)
    order = order_of(layout, rank)
    flat = site.draft.reshaped(operand.tensor, in_order(site.shape, order), operand)
    operand = replace(flat, shape=site.shape, order=order, is_real=source.is_real)
    return site.finished(operand)


@translates("nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool1d")
def adaptive_pool(site: Site) -> Value:
    """Translate an average over the whole plane to MEAN, over equal windows to a pool."""
    layout = str(site.attributes.layout)
    spatial_axes = [i for i, letter in enumerate(layout) if letter not in "NC"]
    sizes = [site.operands[0].shape[i] for i in spatial_axes]
    target = [site.shape[i] for i in spatial_axes]
    if set(target) == {1}:
        return _reduced(site, spatial_axes, keeps=True)
    if any(size % out for size, out in zip(sizes, target, strict=True)):
        raise UnsupportedError("its adaptive pool has windows of different sizes")
    window = [size // out for size, out in zip(sizes, target, strict=True)]
    pair = (window[0], window[1]) if len(window) == 2 else (1, window[0])
    source = spatial(site, site.value(0), layout)
    return same_scale(site, "AVERAGE_POOL_2D", source, "VALID", pair, pair)


REDUCTIONS = {
    "relax.mean": "MEAN",
    "relax.sum": "SUM",
    "relax.max": "REDUCE_MAX",
    "relax.min": "REDUCE_MIN",
    "relax.prod": "REDUCE_PROD",
}


@translates(*(name.removeprefix("relax.") for name in REDUCTIONS))
def reduction(site: Site) -> Value:
    """Translate a reduction over any axes."""
    attributes = site.attributes
    rank = len(site.operands[0].shape)
    axes = range(rank) if attributes.axis is None else ints(attributes.axis)
    return _reduced(site, [axis % rank for axis in axes], bool(attributes.keepdims))


def _reduced(site: Site, axes: list[int], keeps: bool) -> Value:
    code = REDUCTIONS.get(site.call.op.name, "MEAN")
    source = site.value(0)
    if site.is_quantized and code == "REDUCE_PROD":
        raise NoIntegerForm("a product over an axis has no integer form")
    if code == "MEAN" and site.is_quantized and axes == [2, 3] and len(source.shape) == 4:
        source = site.draft.ordered(source, channels_last(4))  # Vela refuses MEAN of NCHW
    kept = [axis for axis in range(len(source.shape)) if axis not in axes]
    places = [source.order[axis] for axis in kept]
    if not keeps and places != sorted(places):
        source = site.draft.plain(source)
    axis = np.array(sorted(source.order[axis] for axis in axes), np.int32)
    inputs = (source.tensor, site.draft.add_constant(axis))
    order = source.order if keeps else tuple(range(len(site.shape)))
    natural = source.scale if code in ("REDUCE_MAX", "REDUCE_MIN") else None
    return site.emit(code, inputs, order, {"keep_dims": keeps}, natural)
