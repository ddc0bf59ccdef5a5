"""Bounds of MEAN over other axes than the channels'."""

import math

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.optimizer.intervals.scaling import fits, once, twice
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.rescaling import quantize_multiplier, scale_of, zero_point_of


def averaged(site: BoundedSite) -> Bounds | None:
    """Add and rescale, by a multiplier divided by the count, or with a division at the end."""
    bounds, axes, source, target = site.bounds(0), site.tensor(1), site.inputs[0], site.target
    if bounds is None or axes is None or axes.data is None:
        return None
    if source.dtype != "int8" or target.dtype != "int8":
        return None
    rank = len(source.shape)
    reduced = {int(axis) % rank for axis in axes.array().ravel()}
    if rank - 1 in reduced:
        return None
    count, point = math.prod(source.shape[axis] for axis in reduced), zero_point_of(source)
    sums = Bounds(count * (bounds.low - point), count * (bounds.high - point))
    factor = scale_of(source) / scale_of(target)
    whole = quantize_multiplier(factor)
    left = max(whole.shift, 0)
    if not fits(Bounds(sums.low << left, sums.high << left)):
        return None
    places = min(count.bit_length() - 1, 32, 31 + whole.shift)
    mantissa = np.int64((whole.mantissa << places) // count)
    ends: list[Ints] = []
    for total in (sums.low, sums.high):
        shift = np.int64(whole.shift - places)
        ends += [rounding(total, mantissa, shift) for rounding in (twice, once)]
        scaled = twice(total, np.int64(whole.mantissa), np.int64(whole.shift))
        ends += [_divided(scaled, count), np.rint(total * factor / count).astype(np.int64)]
    shifted = zero_point_of(target)
    return Bounds(np.minimum.reduce(ends) + shifted, np.maximum.reduce(ends) + shifted)


def _divided(values: Ints, count: int) -> Ints:
    """Divide and round to nearest, ties away from zero, as LiteRT does."""
    quotient: Ints = np.sign(values) * ((np.abs(values) + count // 2) // count)
    return quotient
