"""Factors and roundings of TFLite in numpy."""

import math

import numpy as np

from tests.corpus.site import Array

_BITS = 31
_SHORT = 15
_MOST_SHORT = 0x7FFF


def factor_of(real: float) -> tuple[int, int]:
    """Return a 31-bit factor and a right shift, as TFLite and Vela represent scales."""
    mantissa, exponent = math.frexp(real)
    factor = round(mantissa * (1 << _BITS))
    return (
        (factor, _BITS - exponent) if factor < 1 << _BITS else (factor // 2, _BITS - 1 - exponent)
    )


def rescaled(values: Array, real: float) -> Array:
    """Multiply values by a factor and round twice: at bit 31, then half away from zero."""
    factor, shift = factor_of(real)
    left, right = max(_BITS - shift, 0), max(shift - _BITS, 0)
    high = (values.astype(np.int64) << left) * factor + (1 << _BITS - 1) >> _BITS
    mask = (1 << right) - 1
    return np.asarray((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)))


def rescaled_wide(values: Array, real: float) -> Array:
    """Multiply 64-bit sums by a 15-bit factor and round once, half up."""
    factor, shift = factor_of(real)
    short = min(factor + (1 << _SHORT) >> _BITS - _SHORT, _MOST_SHORT)
    shift -= _BITS - _SHORT
    return np.asarray(values * short + (1 << shift - 1) >> shift)


def limited(values: Array, dtype: str) -> Array:
    """Clip values to the range of a type."""
    info = np.iinfo(dtype)
    return np.clip(values, info.min, info.max)
