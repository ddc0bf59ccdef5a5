"""Rescale sums with one rounding in integers; LiteRT's FULLY_CONNECTED does so in doubles."""

import math
from typing import Any

from ethosgen.aot.tir.nest import call, real
from ethosgen.aot.tir.quantization import INT32_MAX, Multiplier
from ethosgen.aot.tvm import tirx

_TRIES = (0, 1, -1, 2, -2, 3, -3)
"""Offsets of the mantissa from the nearest one to try. The shift rounds ties up, but ties of
negative sums must round away from zero, for which the multiplier must exceed the scale slightly."""


def once_multiplier(scale: float, low: int, high: int) -> Multiplier | None:
    """Return a multiplier that rescales sums exactly as round(sum * scale), None if there is none.

    Only results from `low` to `high` matter; all of these at most 255 steps are compared. The shift
    is negative. `rescale_once` applies the multiplier.
    """
    shift = max(-math.frexp(scale)[1], 1) if scale > 0 else 0
    nearest = round(math.ldexp(scale, 31 + shift))
    if not 0 < nearest <= INT32_MAX - max(_TRIES) or shift > 30:
        return None
    steps = [(k, _first_sum(scale, k)) for k in range(low + 1, high + 1)]
    for off in _TRIES:
        multiplier = Multiplier(nearest + off, -shift)
        if all(_rescaled(t, multiplier) >= k > _rescaled(t - 1, multiplier) for k, t in steps):
            return multiplier
    return None


def _first_sum(scale: float, result: int) -> int:
    """Return the smallest sum for which round(sum * scale) is at least `result`."""
    total = math.ceil((result - 0.5) / scale)
    while _rounded(total - 1, scale) >= result:
        total -= 1
    while _rounded(total, scale) < result:
        total += 1
    return total


def _rounded(total: int, scale: float) -> int:
    product = float(total) * scale
    return int(math.copysign(math.floor(abs(product) + 0.5), product))


def _rescaled(total: int, multiplier: Multiplier) -> int:
    places = 31 - multiplier.shift
    return (total * multiplier.mantissa + (1 << (places - 1))) >> places


def rescale_once(total: Any, scale: float, multiplier: Multiplier | None) -> Any:
    """Return an int32 times a scale, rounded to nearest; without a multiplier, by C's round()."""
    if multiplier is None:
        product = tirx.Cast("float64", total) * real(scale, "float64")
        return tirx.Cast("int32", call("round", product, dtype="float64"))
    places = 31 - multiplier.shift
    wide = tirx.Cast("int64", total) * tirx.const(multiplier.mantissa, "int64")
    return tirx.Cast("int32", (wide + (1 << (places - 1))) >> tirx.const(places, "int64"))
