"""Convert sums of products to OFM elements: bias, scale, rounding, zero point, clipping.

A sum s of channel c becomes floor((s + bias) * scale / 2**shift + rounding) + zero point, clipped.
If no step exceeds 53 bits in units of 2**-shift, float64 is exact, with fewer and faster passes
than 64-bit integers, which are used otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import OfmScaleMode, RoundMode
from ethosgen.backend.ethosu.simulator.operation import Output
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.ops.output import (
    activation,
    clip_limits,
    effective_zero_point,
    is_plain,
)
from ethosgen.backend.ethosu.simulator.ops.ufuncs import clip
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, rounding_terms
from ethosgen.backend.ethosu.simulator.weights import Records

Floats = NDArray[np.float64]
Quantize = Callable[[NDArray[Any]], NDArray[Any]]
"""Converts sums (…, channels), which it can modify, to values that fit the OFM's dtype."""

_EXACT = float(1 << 53) * (1 - 1e-9)
"""Slightly less than 53 bits: the bound itself is computed in float64."""


@dataclass(frozen=True, slots=True)
class Factors:
    """The scale records that a convolution applies: int64, one per channel or one for all."""

    bias: Ints
    scale: Ints
    shift: Ints

    @classmethod
    def of(cls, ofm: Output, records: Records, correction: Ints) -> "Factors":
        """Return the records with corrected bias; OFM_SCALE, if used, replaces their scales."""
        bias = records.bias - correction
        if ofm.scale_mode is OfmScaleMode.PER_CHANNEL:
            return cls(bias, records.scale, records.shift)
        common = (ofm.scale.scale, ofm.scale.shift)
        scale, shift = common if ofm.scale_mode is OfmScaleMode.GLOBAL else (1, 0)
        return cls(bias, np.full_like(bias, scale), np.full_like(bias, shift))


@dataclass(frozen=True, slots=True)
class Exact:
    """The conversion from sums to elements in float64.

    A scaled value is a sum times `factor` plus `bias`. DBL's first rounding adds `double` above 0
    and subtracts it below; `rest` is added afterwards. If the sign does not affect the result, both
    are None and the bias includes them.
    """

    factor: Floats
    bias: Floats
    double: Floats | None
    rest: Floats | None
    low: Floats
    high: Floats

    def finish(self, values: Floats) -> Floats:
        """Round and clip scaled values, in place."""
        if self.double is not None and self.rest is not None:
            values += np.copysign(self.double, values)
            values += self.rest
        np.floor(values, values)
        clip(values, self.low, self.high, values)
        return values

    def scale(self, sums: NDArray[Any]) -> Floats:
        """Return the scaled values of sums."""
        values = sums.astype(np.float64)
        values *= self.factor
        values += self.bias
        return values


def exact(ofm: Output, factors: Factors, reach: Ints) -> Exact | None:
    """Return the float64 conversion of sums with magnitudes up to `reach`, None if it is inexact.

    Also return None for rounding towards zero, and if more than clipping follows.
    """
    if ofm.rounding is RoundMode.TRUNCATE or not is_plain(ofm):
        return None
    zero_point = effective_zero_point(ofm)
    low, high = clip_limits(ofm)
    below, above = rounding_terms(factors.shift, ofm.rounding)
    unit = np.ldexp(1.0, -factors.shift)
    scale = factors.scale.astype(np.float64)
    size = (reach + np.abs(factors.bias)) * scale + above
    if (size + abs(zero_point) / unit > _EXACT).any():
        return None
    bias = factors.bias * scale * unit
    half, double = (above + below) * (unit / 2), (above - below) * (unit / 2)
    rest = half + zero_point
    limits = (np.array(low, np.float64), np.array(high, np.float64))
    if not double.any() or low >= zero_point:  # negative values are clipped: no sign case
        return Exact(scale * unit, bias + (rest + double), None, None, *limits)
    return Exact(scale * unit, bias, double, rest, *limits)


def integers(context: Context, ofm: Output, factors: Factors, reach: int) -> Quantize:
    """Return the conversion of 64-bit sums to elements, including the activation function.

    Raises NpuFault of kind "parse" for an invalid activation.
    """
    bound = reach + int(np.abs(factors.bias).max(initial=0))
    scale = Rescale(factors.scale, factors.shift, ofm.rounding, bound=bound)
    activate = activation(context, ofm)

    def quantize(sums: NDArray[Any]) -> NDArray[Any]:
        values = sums.astype(np.int64)
        values += factors.bias
        return activate(scale(values))

    return quantize
