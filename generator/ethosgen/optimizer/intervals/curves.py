"""Bounds of LOGISTIC, TANH, HARD_SWISH and LEAKY_RELU.

The interpreters compute int8 curves in fixed point, or look up floats' results: both stay within a
small fraction of a step of the real function, whose ends are bounded here with that fraction as a
margin.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.scaling import Factors, scaled
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.rescaling import limits, scale_of, zero_point_of

Curve = Callable[[Factors], Factors]

_SPARE = 1 / 16
"""The part of an output step by which LOGISTIC and TANH may differ from the real function."""
_WIDE = 1.0
"""The same of HARD_SWISH, whose factors have 15 bits."""
_COARSEST = 1.0
"""The greatest input scale: beyond it TensorFlow Lite Micro's LOGISTIC of 0 is 0."""
_LOWEST_AT = -1.5
"""Where x relu6(x + 3) / 6 is lowest."""


def _sigmoid(x: Factors) -> Factors:
    return 1 / (1 + np.exp(-x))


_FIXED: Mapping[str, tuple[Curve, float, int]] = {
    "LOGISTIC": (_sigmoid, 1 / 256, -128),
    "TANH": (np.tanh, 1 / 128, 0),
}
"""The rising curves, each with its output's scale and zero point, which TFLite fixes."""


def risen(site: BoundedSite) -> Bounds | None:
    """Follow LOGISTIC and TANH of int8 at both ends."""
    source, target, bounds = site.inputs[0], site.target, site.bounds(0)
    function, scale, point = _FIXED[site.operator.code]
    if bounds is None or (source.dtype, target.dtype) != ("int8", "int8"):
        return None
    if (scale_of(target), zero_point_of(target)) != (scale, point):
        return None
    if scale_of(source) > _COARSEST:
        return None
    low, high = (function(real) / scale + point for real in _real(site, bounds))
    return _rounded(low, high, _SPARE)


def swished(site: BoundedSite) -> Bounds | None:
    """Follow HARD_SWISH of int8 at both ends, and at its minimum between them."""
    source, target, bounds = site.inputs[0], site.target, site.bounds(0)
    if bounds is None or (source.dtype, target.dtype) != ("int8", "int8"):
        return None
    low, high = _real(site, bounds)
    lowest = np.clip(_LOWEST_AT, low, high)
    ends = np.array([x * np.clip(x + 3, 0, 6) / 6 for x in (low, high, lowest)])
    ends = ends / scale_of(target) + zero_point_of(target)
    return _rounded(ends.min(axis=0), ends.max(axis=0), _WIDE)


def leaked(site: BoundedSite) -> Bounds | None:
    """Rescale both sides of zero, each by its own factor."""
    source, target, bounds = site.inputs[0], site.target, site.bounds(0)
    alpha = float(np.float32(site.operator.options.get("alpha", 0.0)))
    if bounds is None or source.dtype != target.dtype or alpha <= 0:
        return None
    point, factor = zero_point_of(source), scale_of(source) / scale_of(target)
    ends = (bounds.low - point, bounds.high - point)
    above = scaled(Bounds(*(np.maximum(end, 0) for end in ends)), np.array([factor]))
    below = scaled(Bounds(*(np.minimum(end, 0) for end in ends)), np.array([factor * alpha]))
    if above is None or below is None:
        return None
    shift = zero_point_of(target)
    outputs = Bounds(above.low + below.low + shift, above.high + below.high + shift)
    return outputs.clamped(*limits(target.dtype))


def _real(site: BoundedSite, bounds: Bounds) -> tuple[Factors, Factors]:
    """Return the real values of an input's ends."""
    scale, point = np.float64(scale_of(site.inputs[0])), zero_point_of(site.inputs[0])
    return scale * (bounds.low - point), scale * (bounds.high - point)


def _rounded(low: Factors, high: Factors, spare: float) -> Bounds:
    """Return the integers that values between two ends, or near them, may be rounded to."""
    ends = (np.floor(low - spare + 0.5), np.floor(high + spare + 0.5))
    return Bounds(*(end.astype(np.int64) for end in ends)).clamped(*limits("int8"))
