"""The reciprocal of an int32 at run time, as in gemmlowp's one_over_one_plus_x_for_x_in_0_1.

`fixed_point.reciprocal` computes the same at compile time.
"""

from typing import Any

from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.nest import Nest, headroom, int32
from ethosgen.aot.tir.quantization import clamp
from ethosgen.aot.tir.quantization import (
    saturating_rounding_doubling_high_mul as multiply,
)
from ethosgen.aot.tvm import tirx

NEWTON_STEPS = 3


def first_guess(half: Any) -> Any:
    """Return Newton's initial guess for the reciprocal of a "half denominator"."""
    first, slope = fixed_point.RECIPROCAL_START
    return multiply(half, int32(slope)) + first


def times_power(x: Any, exponent: int) -> Any:
    """Return x * 2**exponent, saturated."""
    limit = (1 << (31 - exponent)) - 1
    shifted = clamp(x, -limit - 1, limit) * (1 << exponent)
    return tirx.Select(x > limit, int32(fixed_point.INT32_MAX), shifted)


def reciprocal(nest: Nest, x: Any) -> tuple[Any, Any]:
    """Return 1 / x of a positive int32 as mantissa and right shift.

    1 / x is mantissa * 2**-(31 + shift) (GetReciprocal of TFLite's common.h for 31 integer bits).
    """
    x = nest.let("divisor", x)
    zeros = nest.let("zeros", headroom(nest, x))
    half = nest.let("half", x << zeros)
    inverse = nest.local("inverse", first_guess(half))
    error = nest.local("error", int32(0))
    with nest.loop("step", NEWTON_STEPS):
        nest.store(error, (0,), int32(1 << 29) - multiply(half, inverse[0]))
        nest.store(error, (0,), multiply(inverse[0], error[0]))
        nest.store(inverse, (0,), inverse[0] + times_power(error[0], 2))
    return nest.let("mantissa", times_power(inverse[0], 1)), 30 - zeros
