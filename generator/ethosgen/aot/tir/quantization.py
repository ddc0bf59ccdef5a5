"""TFLite's integer arithmetic: parameters at compile time, and expressions in TIR.

Formulas are those of TFLite's kernels/internal (quantization_util.cc, common.cc) and of gemmlowp's
fixedpoint.h, with TFLite Micro's double rounding.

Ratios of scales are doubles for int8 and int16. TFLite Micro's sources of August 2026 divide in
single precision in RELU, SUB, ABS, LEAKY_RELU, DIV and HARD_SWISH. Its wheel of October, the oracle
here, divides in double precision, which changes the last bit of a few int16 results.
LiteRT, the oracle for uint8, divides in single precision (`ratio`).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import UNSIGNED
from ethosgen.aot.tvm import tirx
from ethosgen.values import rescaling
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.rescaling import Multiplier as Multiplier  # noqa: PLC0414
from ethosgen.values.rescaling import limits as limits  # noqa: PLC0414
from ethosgen.values.rescaling import plain_range as plain_range  # noqa: PLC0414
from ethosgen.values.rescaling import quantize as quantize  # noqa: PLC0414
from ethosgen.values.rescaling import quantize_multiplier as quantize_multiplier  # noqa: PLC0414
from ethosgen.values.rescaling import scale_of as scale_of  # noqa: PLC0414
from ethosgen.values.rescaling import zero_point_of as zero_point_of  # noqa: PLC0414

INT32_MAX = (1 << 31) - 1
BOUNDS = "ethosgen_bounds"
"""An option that ethosgen adds: the output bounds of a clamp that was fused into an operator."""


def ratio(
    operator: Operator, over: Sequence[float], under: Sequence[float], single: bool = False
) -> float:
    """Return a quotient of products of scales, in single precision if LiteRT is the oracle.

    It is for uint8 operators, and where `single` is true.
    """
    if single or operator.options.get(UNSIGNED):
        above, below = (np.prod(np.array(factors, np.float32)) for factors in (over, under))
        return float(above / below)
    return math.prod(over) / math.prod(under)


def activation_range(operator: Operator, output: Tensor) -> tuple[int, int]:
    """Return the bounds of a fused activation, and of a clamp that was fused after it."""
    bounds = rescaling.activation_range(operator, output)
    more = operator.options.get(BOUNDS)
    return compose_bounds(bounds, more) if more else bounds


def compose_bounds(first: tuple[int, int], then: tuple[int, int]) -> tuple[int, int]:
    """Return the bounds of two clamps in turn, which need not overlap."""
    low, high = then
    return min(max(first[0], low), high), min(max(first[1], low), high)


def apply(multiplier: Multiplier, x: int, zero_point: int = 0) -> int:
    """Return x * multiplier + zero_point at compile time, as `Nest.rescale` does at run time."""
    product = fixed_point.multiply(wrapped(x << max(multiplier.shift, 0)), multiplier.mantissa)
    return wrapped(fixed_point.divide_by_power(product, max(-multiplier.shift, 0)) + zero_point)


def wrapped(x: int) -> int:
    """Return the lower 32 bits of an integer, as an int32."""
    return ((x & 0xFFFFFFFF) ^ 1 << 31) - (1 << 31)


def offset(x: Any, zero_point: int, factor: float = math.inf) -> Any:
    """Return an int32 plus a zero point, with wrap-around as in TFLite Micro's wheel.

    `x` is a sum times `factor`: up to one half there is room for every zero point. Otherwise it
    uses 64 bits, since TVM and C compilers assume that int32 does not overflow.
    """
    if zero_point == 0 or factor <= 0.5:
        return x + zero_point
    return tirx.Cast("int32", tirx.Cast("int64", x) + tirx.const(zero_point, "int64"))


def input_radius(integer_bits: int, shift: int) -> int:
    """Return the smallest distance from zero at which a rescaled input saturates.

    A small scale gives a negative shift, which C++ leaves undefined. As in TFLite Micro's wheel, a
    shift counts modulo 64, so the radius is 0, or -1 for a shift of -1.
    """
    divisor = 1 << (shift & 63)
    divisor -= 1 << 64 if divisor >> 63 else 0
    return ((1 << integer_bits) - 1) * (1 << (31 - integer_bits)) // divisor


def multiply(x: Any, multiplier: Multiplier) -> Any:
    """Return the first half of MultiplyByQuantizedMultiplier; bind it before `divide`."""
    return saturating_rounding_doubling_high_mul(
        shifted_left(x, max(multiplier.shift, 0)), multiplier.mantissa
    )


def shifted_left(x: Any, exponent: Any) -> Any:
    """Return an int32 times 2**exponent, with wrap-around as in TFLite Micro's wheel.

    It uses 64 bits: int32 overflow is undefined in C, and TVM assumes that a uint32 cast to int32
    is positive and drops the lower bound of a later clamp.
    """
    if isinstance(exponent, int):
        if exponent == 0:
            return x
        power = tirx.const(1 << exponent, "int64")
    else:
        power = tirx.const(1, "int64") << tirx.Cast("int64", exponent)
    return tirx.Cast("int32", tirx.Cast("int64", x) * power)


def divide(product: Any, multiplier: Multiplier) -> Any:
    """Return the second half of MultiplyByQuantizedMultiplier: the second rounding."""
    return rounding_divide_by_pot(product, max(-multiplier.shift, 0))


def shorten(multiplier: Multiplier) -> tuple[int, int]:
    """Return the 16-bit mantissa and the right shift with which TFLite multiplies an int64.

    Its int64 MultiplyByQuantizedMultiplier only asserts in debug builds that they are below 128; it
    is undefined from 2**14 on, where it would shift by less than one bit.
    """
    if multiplier.shift > 14:
        raise UnsupportedError(
            "its output scale is too small: sums would be multiplied by 16384 or more"
        )
    mantissa = multiplier.mantissa
    short = (mantissa + (1 << 15)) >> 16 if mantissa < 0x7FFF0000 else 0x7FFF
    return short, 15 - multiplier.shift


def rescale_int64(x: Any, mantissa: Any, shift: Any) -> Any:
    """Return an int64 times a multiplier from `shorten`, rounded once, as int32."""
    half = _int64(1) << (_int64(shift) - _int64(1))
    return tirx.Cast("int32", (x * _int64(mantissa) + half) >> _int64(shift))


def saturating_rounding_doubling_high_mul(a: Any, b: Any) -> Any:
    """Return (2ab) >> 32, rounded to nearest, for int32 expressions not both INT32_MIN.

    gemmlowp adds a sign-dependent nudge and divides towards zero. Adding half a unit and shifting
    arithmetically gives the same for every product; ties round up.
    """
    product = _int64(a) * _int64(b) + _int64(1 << 30)
    return tirx.Cast("int32", product >> _int64(31))


def rounding_divide_by_pot(x: Any, exponent: Any) -> Any:
    """Return x / 2**exponent, rounded to nearest, ties away from zero (RoundingDivideByPOT).

    It uses x four times: bind expressions to a variable first.
    """
    if isinstance(exponent, int):
        if exponent == 0:
            return x
        mask = tirx.const((1 << exponent) - 1, "int32")
    else:  # unsigned, because 1 << 31 is not an int32
        power = tirx.const(1, "uint32") << tirx.Cast("uint32", exponent)
        mask = tirx.Cast("int32", power - tirx.const(1, "uint32"))
    threshold = (mask >> 1) + tirx.Cast("int32", x < 0)
    return (x >> exponent) + tirx.Cast("int32", (x & mask) > threshold)


def clamp(x: Any, low: int, high: int) -> Any:
    """Return an expression that clamps x to [low, high]."""
    return tirx.max(tirx.min(x, tirx.const(high, "int32")), tirx.const(low, "int32"))


def _int64(x: Any) -> Any:
    return tirx.const(x, "int64") if isinstance(x, int) else tirx.Cast("int64", x)
