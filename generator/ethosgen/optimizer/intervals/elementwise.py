"""Bounds of operators that compute each element from those at the same index."""

from collections.abc import Callable, Mapping
from itertools import product

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, channels_of
from ethosgen.optimizer.intervals.curves import leaked, risen, swished
from ethosgen.optimizer.intervals.scaling import scaled
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.network import Tensor
from ethosgen.values.rescaling import (
    activation_range,
    limits,
    quantize,
    scale_of,
    zero_point_of,
)

_ADD_SHIFT = 20
_BYTES = frozenset({"int8", "uint8"})


def are_alike(*tensors: Tensor) -> bool:
    """Return whether tensors have one type and the same scale and zero point, for all elements."""
    first = tensors[0]
    return all(
        t.dtype == first.dtype
        and (t.quantization is None) == (first.quantization is None)
        and (
            t.quantization is None
            or first.quantization is None
            or (
                t.quantization.scale == first.quantization.scale
                and t.quantization.zero_point == first.quantization.zero_point
                and t.quantization.is_per_tensor
            )
        )
        for t in tensors
    )


def _pair(site: BoundedSite) -> tuple[Bounds, Bounds] | None:
    """Return the bounds of both inputs over the output's channels."""
    first, second = site.bounds(0), site.bounds(1)
    if first is None or second is None:
        return None
    count = channels_of(site.target)
    if not {first.low.size, second.low.size} <= {1, count}:
        return None
    return first.over(count), second.over(count)


def _are_bytes(site: BoundedSite) -> bool:
    return len({t.dtype for t in (*site.inputs, site.target)}) == 1 and site.target.dtype in _BYTES


def relu(site: BoundedSite) -> Bounds | None:
    """Clamp in the input's quantization, if the output has the same."""
    (source,), target, bounds = site.inputs, site.target, site.bounds(0)
    if bounds is None or not are_alike(source, target):
        return None
    low, high = limits(target.dtype)
    floors = {"RELU_N1_TO_1": -1.0}
    ceilings = {"RELU6": 6.0, "RELU_N1_TO_1": 1.0, "RELU_0_TO_1": 1.0}
    code = site.operator.code
    floor = quantize(floors.get(code, 0.0), target)
    ceiling = quantize(ceilings[code], target) if code in ceilings else high
    return bounds.clamped(floor, max(floor, ceiling)).clamped(low, high)


def sum_of(site: BoundedSite) -> Bounds | None:
    """Add, or subtract the second: both inputs are scaled to twice the larger scale."""
    pair = _pair(site)
    if pair is None or not _are_bytes(site):
        return None
    first, second = site.inputs
    common = 2.0 * max(scale_of(first), scale_of(second))
    parts = []
    for bounds, tensor in zip(pair, (first, second), strict=True):
        point = zero_point_of(tensor)
        wide = Bounds((bounds.low - point) << _ADD_SHIFT, (bounds.high - point) << _ADD_SHIFT)
        part = scaled(wide, np.array([scale_of(tensor) / common]))
        if part is None:
            return None
        parts.append(part)
    left, right = parts
    if site.operator.code == "SUB":
        right = Bounds(-right.high, -right.low)
    factor = common / ((1 << _ADD_SHIFT) * scale_of(site.target))
    if factor >= 1.0:
        return None
    return _finished(site, Bounds(left.low + right.low, left.high + right.high), factor)


def product_of(site: BoundedSite) -> Bounds | None:
    """Multiply: the extremes are at corners."""
    pair = _pair(site)
    if pair is None or len({t.dtype for t in (*site.inputs, site.target)}) > 1:
        return None
    first, second = site.inputs
    left, right = (
        (bounds.low - zero_point_of(t), bounds.high - zero_point_of(t))
        for bounds, t in zip(pair, (first, second), strict=True)
    )
    corners = [a * b for a, b in product(left, right)]
    products = Bounds(np.minimum.reduce(corners), np.maximum.reduce(corners))
    return _finished(site, products, scale_of(first) * scale_of(second) / scale_of(site.target))


def _finished(site: BoundedSite, values: Bounds, factor: float) -> Bounds | None:
    """Scale to the output, add its zero point and clamp."""
    rescaled = scaled(values, np.array([factor]))
    if rescaled is None:
        return None
    point = zero_point_of(site.target)
    moved = Bounds(rescaled.low + point, rescaled.high + point)
    return moved.clamped(*activation_range(site.operator, site.target))


def extreme_of(site: BoundedSite) -> Bounds | None:
    """Take the larger or the smaller stored value: all have one quantization."""
    pair = _pair(site)
    if pair is None or not are_alike(*site.inputs, site.target):
        return None
    pick = np.maximum if site.operator.code == "MAXIMUM" else np.minimum
    left, right = pair
    return Bounds(pick(left.low, right.low), pick(left.high, right.high))


def requantized(site: BoundedSite) -> Bounds | None:
    """Rescale from one quantization to another, of up to 16 bits."""
    source, target, bounds = site.inputs[0], site.target, site.bounds(0)
    if bounds is None:
        return None
    point = zero_point_of(source)
    moved = Bounds(bounds.low - point, bounds.high - point)
    return _finished(site, moved, scale_of(source) / scale_of(target))


ELEMENTWISE: Mapping[str, Callable[[BoundedSite], Bounds | None]] = {
    **dict.fromkeys(("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"), relu),
    **dict.fromkeys(("ADD", "SUB"), sum_of),
    "MUL": product_of,
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), extreme_of),
    "QUANTIZE": requantized,
    **dict.fromkeys(("LOGISTIC", "TANH"), risen),
    "HARD_SWISH": swished,
    "LEAKY_RELU": leaked,
}
"""The operators that compute each element from those at its place."""
