"""Pools and reductions."""

from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import Order, Value, channels_last, in_order
from ethosgen.frontend.relax.layers import Pads, padded, read_pads, read_pair, spatial
from ethosgen.frontend.relax.site import NoIntegerForm, Site, ints, translates
from ethosgen.values.errors import UnsupportedError


@translates("nn.max_pool2d", "nn.max_pool1d", "nn.avg_pool2d", "nn.avg_pool1d")
def pool(site: Site) -> Value:
    """Translate a pool over windows."""
    attributes = site.attributes
    is_max = "max" in site.call.op.name
    layout = str(attributes.layout)
    window, strides = read_pair(attributes.pool_size), read_pair(attributes.strides)
    if set(read_pair(attributes.dilation)) != {1}:
        raise UnsupportedError("its pool has a dilation")
    source = spatial(site, site.value(0), layout)
    assert isinstance(source, Value)
    pads = read_pads(attributes.padding)
    if bool(attributes.ceil_mode) and not _is_whole(source, pads, window, strides):
        raise UnsupportedError("its pool rounds the size up (ceil_mode)")
    has_pads = any(pad for pair in pads for pad in pair)
    counts = not is_max and has_pads and bool(attributes.count_include_pad)
    windows = [0, 0] if counts else list(window)  # no window: never SAME, always a PAD
    source, padding = padded(site, source, pads, windows, strides, lowest=is_max)
    if padding == "VALID" and has_pads and not is_max and not counts:
        raise UnsupportedError("the padding of its average pool is not TFLite's SAME")
    options: dict[str, Any] = {
        "padding": padding,
        "stride_h": strides[0],
        "stride_w": strides[1],
        "filter_height": window[0],
        "filter_width": window[1],
        "fused_activation_function": "NONE",
    }
    code = "MAX_POOL_2D" if is_max else "AVERAGE_POOL_2D"
    return same_scale(site, code, source, options, layout)


def _is_whole(source: Value, pads: Pads, window: tuple[int, int], strides: tuple[int, int]) -> bool:
    """Return whether windows cover the input without rest."""
    return all(
        (size + sum(pair) - taps) % stride == 0
        for size, pair, taps, stride in zip(
            source.physical[1:3], pads, window, strides, strict=True
        )
    )


def same_scale(site: Site, code: str, source: Value, options: dict[str, Any], layout: str) -> Value:
    """Add a pool, which keeps its input's quantization; a QUANTIZE follows if need be."""
    rank = len(site.shape)
    order: Order = channels_last(rank) if layout.startswith("NC") else tuple(range(rank))
    shape = in_order(site.shape, order)
    full = shape if rank == 4 else (shape[0], 1, *shape[1:])
    made = site.draft.add_operator(
        code, (source.tensor,), full, source.dtype, source.scale, options
    )
    flat = site.draft.reshaped(made.tensor, shape, made)
    made = replace(flat, shape=site.shape, order=order, is_real=source.is_real)
    return site.finished(made)


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
    height, width = window if len(window) == 2 else (1, window[0])
    options: dict[str, Any] = {
        "padding": "VALID",
        "stride_h": height,
        "stride_w": width,
        "filter_height": height,
        "filter_width": width,
        "fused_activation_function": "NONE",
    }
    source = spatial(site, site.value(0), layout)
    return same_scale(site, "AVERAGE_POOL_2D", source, options, layout)


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
    kept = [axis for axis in range(len(source.shape)) if axis not in axes]
    places = [source.order[axis] for axis in kept]
    if not keeps and places != sorted(places):
        source = site.draft.plain(source)
    axis = np.array(sorted(source.order[axis] for axis in axes), np.int32)
    inputs = (source.tensor, site.draft.add_constant(axis))
    order = source.order if keeps else tuple(range(len(site.shape)))
    natural = source.scale if code in ("REDUCE_MAX", "REDUCE_MIN") else None
    return site.emit(code, inputs, order, {"keep_dims": keeps}, natural)
