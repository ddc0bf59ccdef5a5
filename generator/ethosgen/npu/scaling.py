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


def rescale(
    values: Ints, scale: Ints | int, shift: Ints | int, rounding: RoundMode, pre_shift: int = 0
) -> Ints:
    """Multiply int64 values by scale / 2**shift and round.

    `scale` and `shift` (0..63) broadcast against the values. DBL rounds half up at bit
    31 - `pre_shift` first, then half away from zero; `pre_shift` is the left shift that the caller
    has left out. NATURAL rounds half up, TRUNCATE towards zero.
    """
    shifts = np.asarray(shift, np.int64)
    product = values * np.asarray(scale, np.int64)
    if rounding is RoundMode.TRUNCATE:
        ones = (np.int64(1) << shifts) - 1
        return product + np.where(values < 0, ones, 0) >> shifts
    product += np.where(shifts > 0, np.int64(1) << np.maximum(shifts - 1, 0), 0)
    if rounding is RoundMode.DBL:
        double = np.where(shifts > _DOUBLE_SHIFT - pre_shift, 1 << _DOUBLE_SHIFT - 1 - pre_shift, 0)
        if double.any():
            product += np.where(values < 0, -double, double)
    product >>= shifts
    return product


def pooling_scale(elements: Ints) -> tuple[Ints, Ints]:
    """Return scale and shift of 1 / elements, as the hardware pools over a padded window.

    Source: QuantizePoolingScale in Regor's ethos_u_scaling.cpp, with a 32-bit scale.
    """
    exponent = np.frexp((elements - 1).astype(np.float64))[1].astype(np.int64)
    scale = ((np.int64(1) << 31 + exponent) + (np.int64(1) << exponent)) // elements
    return scale, 31 + exponent
