"""Integers times a real factor, by each rounding that the oracles use.

TensorFlow Lite Micro rounds twice (MultiplyByQuantizedMultiplier), LiteRT's dense layers once, in
integers or in doubles. All are monotonic, so the ends of an interval have the ends of its image;
the interval that all of them stay within holds whoever decides.
"""

from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.values.rescaling import quantize_multiplier

Factors = np.ndarray[Any, np.dtype[np.float64]]

INT32 = np.iinfo(np.int32)


def fits(bounds: Bounds) -> bool:
    """Return whether all values are those of int32."""
    return bool((bounds.low >= INT32.min).all() and (bounds.high <= INT32.max).all())


def scaled(bounds: Bounds, factors: Factors) -> Bounds | None:
    """Return the bounds of int32 values times positive factors, one or one for each channel.

    None if TFLite would shift a value out of an int32.
    """
    count = max(bounds.low.size, factors.size)
    bounds, factors = bounds.over(count), np.broadcast_to(factors, count)
    multipliers = [quantize_multiplier(float(factor)) for factor in factors]
    mantissas = np.array([m.mantissa for m in multipliers], np.int64)
    shifts = np.array([m.shift for m in multipliers], np.int64)
    if not fits(bounds) or not fits(_shifted(bounds, shifts)):
        return None
    ends = [
        rounding(value, mantissas, shifts, factors)
        for value in (bounds.low, bounds.high)
        for rounding in (twice, once, _in_doubles)
    ]
    found = Bounds(np.minimum.reduce(ends), np.maximum.reduce(ends))
    return found if fits(found) else None


def _shifted(bounds: Bounds, shifts: Ints) -> Bounds:
    left = np.maximum(shifts, 0)
    return Bounds(bounds.low << left, bounds.high << left)


def twice(values: Ints, mantissas: Any, shifts: Any, _factors: Factors | None = None) -> Ints:
    """Multiply as TensorFlow Lite Micro does: a doubling high product, then a rounding shift."""
    product = (values << np.maximum(shifts, 0)) * mantissas
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    total = product + nudge
    high = np.where(total >= 0, total >> 31, -((-total) >> 31))
    right = np.maximum(-shifts, 0)
    mask = (np.int64(1) << right) - 1
    threshold = (mask >> 1) + (high < 0)
    rounded: Ints = (high >> right) + ((high & mask) > threshold)
    return rounded


def once(values: Ints, mantissas: Any, shifts: Any, _factors: Factors | None = None) -> Ints:
    """Multiply with one rounding: ties go up."""
    places = 31 - shifts
    rounded: Ints = (values * mantissas + (np.int64(1) << (places - 1))) >> places
    return rounded


def _in_doubles(values: Ints, _mantissas: Ints, _shifts: Ints, factors: Factors) -> Ints:
    """Multiply in doubles and round as C does: ties go away from zero."""
    product = values.astype(np.float64) * factors
    return (np.sign(product) * np.floor(np.abs(product) + 0.5)).astype(np.int64)
