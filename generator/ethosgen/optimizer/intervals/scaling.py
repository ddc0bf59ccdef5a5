"""Integers times a real factor, with each rounding that the oracles use.

TensorFlow Lite Micro rounds twice (MultiplyByQuantizedMultiplier), LiteRT's dense layers once, in
integers or in doubles. All are monotonic, so the ends of an interval map to the ends of its image;
an interval that contains all of them is valid for any oracle.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.values.rescaling import quantize_multiplier

Factors = np.ndarray[Any, np.dtype[np.float64]]

INT32 = np.iinfo(np.int32)
MOST_SUM = 1 << 47
"""The largest sum of int64 that TensorFlow Lite Micro accepts; a product of it fits."""
MOST_SHIFT = 14
LARGEST_ROUNDED = 0x7FFF0000
"""Mantissas from this on are cut to 16 bits, since they would round to 2**15."""


def fits(bounds: Bounds) -> bool:
    """Return whether all values are those of int32."""
    return bool((bounds.low >= INT32.min).all() and (bounds.high <= INT32.max).all())


def scaled(bounds: Bounds, factors: Factors) -> Bounds | None:
    """Return the bounds of int32 values times positive factors, one or one for each channel.

    None if TFLite would shift a value out of an int32.
    """
    bounds, factors, mantissas, shifts = _multipliers(bounds, factors)
    if not fits(bounds) or not fits(_shifted(bounds, shifts)):
        return None
    return _joined(
        rounding(value, mantissas, shifts, factors)
        for value in (bounds.low, bounds.high)
        for rounding in (twice, once, _in_doubles)
    )


def scaled_int64(bounds: Bounds, factors: Factors) -> Bounds | None:
    """Return the bounds of the int64 sums of int16 layers times positive factors, as `scaled`.

    None if a product leaves int64, or TFLite would shift by less than one bit.
    """
    bounds, factors, mantissas, shifts = _multipliers(bounds, factors)
    if not _are_within(bounds, MOST_SUM) or (shifts > MOST_SHIFT).any():
        return None
    return _joined(shortly(value, mantissas, shifts) for value in (bounds.low, bounds.high))


def _multipliers(bounds: Bounds, factors: Factors) -> tuple[Bounds, Factors, Ints, Ints]:
    """Return bounds and factors with equal channels, and the factors' mantissas and shifts."""
    count = max(bounds.low.size, factors.size)
    factors = np.broadcast_to(factors, count)
    multipliers = [quantize_multiplier(float(factor)) for factor in factors]
    mantissas = np.array([m.mantissa for m in multipliers], np.int64)
    shifts = np.array([m.shift for m in multipliers], np.int64)
    return bounds.over(count), factors, mantissas, shifts


def _joined(ends: Iterable[Ints]) -> Bounds | None:
    """Return the bounds of all ends, None if they leave int32."""
    every = list(ends)
    hull = Bounds(np.minimum.reduce(every), np.maximum.reduce(every))
    return hull if fits(hull) else None


def _are_within(bounds: Bounds, most: int) -> bool:
    return bool((bounds.low >= -most).all() and (bounds.high <= most).all())


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


def shortly(values: Ints, mantissas: Ints, shifts: Ints) -> Ints:
    """Multiply an int64 as both interpreters do, by a mantissa of 16 bits: ties go up."""
    short = np.where(mantissas < LARGEST_ROUNDED, (mantissas + (1 << 15)) >> 16, 0x7FFF)
    places = 15 - shifts
    rounded: Ints = (values * short + (np.int64(1) << (places - 1))) >> places
    return rounded


def _in_doubles(values: Ints, _mantissas: Ints, _shifts: Ints, factors: Factors) -> Ints:
    """Multiply in doubles and round as C does: ties go away from zero."""
    product = values.astype(np.float64) * factors
    return (np.sign(product) * np.floor(np.abs(product) + 0.5)).astype(np.int64)
