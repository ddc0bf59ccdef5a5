"""Scaling and rounding, shared by all operations.

A value v is scaled to (v * scale + rounding) >> shift. Source of the formulas: `Scale` in Regor's
graphir_optimiser.cpp, which is the `apply_scale` of the TOSA specification; DBL is equal to
TFLite's SaturatingRoundingDoublingHighMul followed by RoundingDivideByPOT.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import RoundMode
from ethosgen.backend.ethosu.isa_u85 import OfmRoundMode

Ints = NDArray[np.int64]
Rounding = RoundMode | OfmRoundMode
"""A mode of U55 and U65; OfmRoundMode only where U85 has one that they lack."""
_DOUBLE_SHIFT = 31
_PRODUCT_LIMIT = 1 << 61
_LOW_BITS = 24
_ZERO = np.array(0, np.int64)


@lru_cache(maxsize=256)
def scalar(value: int) -> Ints:
    """Return a number as an array without axes, which is faster to compute with; read-only.

    Equal values share one array.
    """
    return np.array(value, np.int64)


class Rescale:
    """Multiplies int64 values by scale / 2**shift and rounds; prepared once, for many arrays.

    `scale` (below 2**32) and `shift` (0..63) broadcast against the values. DBL first rounds ties up
    at bit 31 - `pre_shift`, then ties away from zero; `pre_shift` is a left shift that the caller
    has omitted. NATURAL rounds ties up, TRUNCATE towards zero. `bound` is an upper bound of the
    values' magnitudes, if known; else they are checked.
    """

    __slots__ = ("_above", "_below", "_is_narrow", "_most", "_moves", "_scales", "_shifts")

    def __init__(
        self,
        scale: Ints | int,
        shift: Ints | int,
        rounding: Rounding,
        pre_shift: int = 0,
        bound: int | None = None,
    ) -> None:
        """Store the factors; see the class."""
        self._scales, self._shifts = np.asarray(scale, np.int64), np.asarray(shift, np.int64)
        self._most = int(self._scales.max(initial=0))
        self._is_narrow = bound is not None and bound * self._most < _PRODUCT_LIMIT
        self._below, self._above = rounding_terms(self._shifts, rounding, pre_shift)
        self._moves = bool(self._shifts.any())

    def __call__(self, values: Ints) -> Ints:
        """Return a new array of scaled values."""
        if not self._is_narrow:
            bound = int(max(values.max(initial=0), -values.min(initial=0)))
            if bound * self._most >= _PRODUCT_LIMIT:
                return self._wide(values)
        product = values * self._scales
        if self._moves:
            product += self._rounds(values)
            product >>= self._shifts
        return product

    def _rounds(self, values: Ints) -> Ints:
        """Return the rounding term added to the products before the shift."""
        if self._above is self._below:
            return self._above
        return np.where(values < _ZERO, self._below, self._above)

    def _wide(self, values: Ints) -> Ints:
        """Scale values whose products can exceed 63 bits, in two halves.

        With v = high * 2**24 + low, and the low half carried into the high one, no step exceeds 63
        bits. A remaining left shift saturates at 2**62, which is out of range for any OFM.
        """
        scales, shifts, rounds = self._scales, self._shifts, self._rounds(values)
        mask = (1 << _LOW_BITS) - 1
        low = (values & mask) * scales + (rounds & mask)
        high = (values >> _LOW_BITS) * scales + (rounds >> _LOW_BITS)
        deep = shifts >= _LOW_BITS
        carried = high + (low >> _LOW_BITS) >> np.maximum(shifts - _LOW_BITS, 0)
        left = np.maximum(_LOW_BITS - shifts, 0)
        limit = np.int64(1) << 61 - left
        shallow = (np.clip(high, -limit, limit) << left) + (low >> shifts)
        return np.where(deep, carried, shallow)


def rescale(
    values: Ints, scale: Ints | int, shift: Ints | int, rounding: Rounding, pre_shift: int = 0
) -> Ints:
    """Scale one array; see `Rescale`."""
    return Rescale(scale, shift, rounding, pre_shift)(values)


def rounding_terms(shifts: Ints, rounding: Rounding, pre_shift: int = 0) -> tuple[Ints, Ints]:
    """Return the rounding terms to add before the shift, for negative products and for others.

    If both are equal they are one object. SYMMETRIC rounds ties away from zero, TRUNCATE_TO_LOWER
    down; DOUBLE_ASYMMETRIC is DBL whose first rounding is up for all signs (Regor's `Scale`).
    """
    nothing = np.zeros_like(shifts)
    if rounding is RoundMode.TRUNCATE:
        return np.asarray(~(np.int64(-1) << shifts)), nothing
    if rounding is OfmRoundMode.TRUNCATE_TO_LOWER:
        return nothing, nothing
    half = np.where(shifts > 0, np.int64(1) << np.maximum(shifts - 1, 0), 0)
    if rounding is RoundMode.NATURAL:
        return half, half
    if rounding is OfmRoundMode.SYMMETRIC:
        return np.asarray(half - (half > 0)), half
    return _double_terms(shifts, half, rounding, pre_shift)


def _double_terms(
    shifts: Ints, half: Ints, rounding: Rounding, pre_shift: int
) -> tuple[Ints, Ints]:
    """Return the terms of DBL and DOUBLE_ASYMMETRIC."""
    double = np.where(shifts > _DOUBLE_SHIFT - pre_shift, 1 << _DOUBLE_SHIFT - 1 - pre_shift, 0)
    if not double.any():
        return half, half
    if rounding is OfmRoundMode.DOUBLE_ASYMMETRIC:
        raised = np.asarray(half + double)
        return raised, raised
    return np.asarray(half - double), np.asarray(half + double)


def pooling_scale(elements: Ints, bits: int = 32) -> tuple[Ints, Ints]:
    """Return scale and shift of 1 / elements, with which the hardware averages padded windows.

    Source: QuantizePoolingScale in Regor's ethos_u_scaling.cpp, with a scale of `bits` bits.
    """
    exponent = np.frexp((elements - 1).astype(np.float64))[1].astype(np.int64)
    scale = ((np.int64(1) << bits - 1 + exponent) + (np.int64(1) << exponent)) // elements
    return scale, bits - 1 + exponent
