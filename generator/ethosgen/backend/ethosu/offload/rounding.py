"""Find products that single- and double-precision factors round differently.

TFLite Micro computes quotients of scales in double precision, Vela some of them in single. Both
store them as a 31-bit mantissa and a shift; products are rounded as in gemmlowp.
"""

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Factor = tuple[int, int]
"""A positive number as mantissa * 2**(shift - 31)."""
REDUCED = 1 + 2.0**-14
"""Upper bound of the ratio by which a factor grows when TFLite rounds it to 16 bits."""


def double_factor(*scales: float, over: float) -> Factor:
    """Return the product of `scales` divided by `over`, computed in double precision."""
    return factor_of(math.prod(scales) / over)


def single_factor(*scales: float, over: float) -> Factor:
    """Return the product of `scales` divided by `over`, with each step in single precision."""
    product = np.float32(1)
    for scale in scales:
        product = np.float32(product * np.float32(scale))
    return factor_of(float(np.float32(product / np.float32(over))))


def factor_of(real: float) -> Factor:
    """Return the factor that is nearest to a number."""
    fraction, shift = math.frexp(abs(real))
    mantissa = math.floor(fraction * (1 << 31) + 0.5)
    return (mantissa, shift) if mantissa < 1 << 31 else (mantissa // 2, shift + 1)


def rescaled(values: Array, factor: Factor) -> Array:
    """Return integers times a factor (MultiplyByQuantizedMultiplier, rounded twice)."""
    mantissa, shift = factor
    wide = np.clip(values.astype(np.int64) << max(shift, 0), -(1 << 31), (1 << 31) - 1)
    high = (wide * mantissa + (1 << 30)) >> 31
    right = max(-shift, 0)
    mask = (1 << right) - 1
    return np.asarray((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)))


def differ(values: Array, factor: Factor, other: Factor, most: int) -> bool:
    """Return whether two factors give different results for some of the values.

    Results that both exceed `most` in magnitude are clamped and do not differ.
    """
    if factor == other:
        return False
    first, second = rescaled(values, factor), rescaled(values, other)
    return bool(np.any((first != second) & (np.minimum(abs(first), abs(second)) <= most)))
