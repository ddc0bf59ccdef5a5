"""Scaling and rounding, once for all operations.

A value v is scaled to (v * scale + rounding) >> shift. Source of the formulas: `Scale` in Regor's
graphir_optimiser.cpp, which is the `apply_scale` of the TOSA specification; DBL is equal to
TFLite's SaturatingRoundingDoublingHighMul followed by RoundingDivideByPOT.
"""

import numpy as np
from numpy.typing import NDArray

from ethosgen.npu.isa import RoundMode

Ints = NDArray[np.int64]
_DOUBLE_SHIFT = 31
_PRODUCT_LIMIT = 1 << 61
_LOW_BITS = 24


def rescale(
    values: Ints,
    scale: Ints | int,
    shift: Ints | int,
    rounding: RoundMode,
    pre_shift: int = 0,
    bound: int | None = None,
) -> Ints:
    """Multiply int64 values by scale / 2**shift and round.

    `scale` (below 2**32) and `shift` (0..63) broadcast against the values. DBL rounds half up at
    bit 31 - `pre_shift` first, then half away from zero; `pre_shift` is the left shift that the
    caller has left out. NATURAL rounds half up, TRUNCATE towards zero. `bound` limits the values'
    magnitudes, where the caller knows it.
    """
    scales, shifts = np.asarray(scale, np.int64), np.asarray(shift, np.int64)
    rounds = _rounding(values, shifts, rounding, pre_shift)
    if bound is None:
        bound = int(max(values.max(initial=0), -values.min(initial=0)))
    if bound * int(scales.max(initial=0)) >= _PRODUCT_LIMIT:
        return _rescale_wide(values, scales, shifts, rounds)
    product = values * scales
    product += rounds
    product >>= shifts
    return product


def _rounding(values: Ints, shifts: Ints, rounding: RoundMode, pre_shift: int) -> Ints:
    """Return what is added to the products before the shift."""
    if rounding is RoundMode.TRUNCATE:
        return np.where(values < 0, ~(np.int64(-1) << shifts), 0)
    half = np.where(shifts > 0, np.int64(1) << np.maximum(shifts - 1, 0), 0)
    if rounding is RoundMode.NATURAL:
        return half
    double = np.where(shifts > _DOUBLE_SHIFT - pre_shift, 1 << _DOUBLE_SHIFT - 1 - pre_shift, 0)
    return np.where(values < 0, half - double, half + double) if double.any() else half


def _rescale_wide(values: Ints, scales: Ints, shifts: Ints, rounds: Ints) -> Ints:
    """Do the same where products may exceed 63 bits, in two halves of the value.

    With v = high * 2**24 + low, and the low half carried into the high one, no step exceeds 63
    bits. A left-over left shift saturates at 2**62, which is out of range for any OFM.
    """
    mask = (1 << _LOW_BITS) - 1
    low = (values & mask) * scales + (rounds & mask)
    high = (values >> _LOW_BITS) * scales + (rounds >> _LOW_BITS)
    deep = shifts >= _LOW_BITS
    carried = high + (low >> _LOW_BITS) >> np.maximum(shifts - _LOW_BITS, 0)
    left = np.maximum(_LOW_BITS - shifts, 0)
    limit = np.int64(1) << 61 - left
    shallow = (np.clip(high, -limit, limit) << left) + (low >> shifts)
    return np.where(deep, carried, shallow)


def pooling_scale(elements: Ints) -> tuple[Ints, Ints]:
    """Return scale and shift of 1 / elements, as the hardware pools over a padded window.

    Source: QuantizePoolingScale in Regor's ethos_u_scaling.cpp, with a 32-bit scale.
    """
    exponent = np.frexp((elements - 1).astype(np.float64))[1].astype(np.int64)
    scale = ((np.int64(1) << 31 + exponent) + (np.int64(1) << exponent)) // elements
    return scale, 31 + exponent
