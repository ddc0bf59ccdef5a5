"""gemmlowp's fixed-point functions on Python integers, for tables computed at compile time.

A number with i integer bits is an int32 `raw` that represents raw * 2**(i - 31). Formulas and
constants are those of gemmlowp's fixedpoint.h, which TFLite's int8 LOGISTIC, TANH and SOFTMAX use.
"""

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
ONE = INT32_MAX
"""The nearest number to 1.0 with no integer bits."""

EXP_MINUS_EIGHTH = 1895147668
ONE_THIRD = 715827883
EXP_MINUS_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-2**n) for n from -2 to 4, with no integer bits."""

RECIPROCAL_START = 1515870810, -1010580540
"""48/17 and -32/17 with 2 integer bits: Newton's initial guess for a reciprocal on [1/2, 1]."""


def multiply(a: int, b: int) -> int:
    """Return the product, rounded to nearest, ties up; integer bits add up."""
    if a == b == INT32_MIN:
        return INT32_MAX
    return (a * b + (1 << 30)) >> 31


def divide_by_power(x: int, exponent: int) -> int:
    """Return x / 2**exponent, rounded to nearest, ties away from zero."""
    mask = (1 << exponent) - 1
    return (x >> exponent) + int((x & mask) > (mask >> 1) + int(x < 0))


def divide_short_by_power(x: int, exponent: int) -> int:
    """Return x / 2**exponent as gemmlowp divides an int16: above 15 bits its mask is -1.

    The remainder is then x itself, and 0 becomes 1.
    """
    if exponent < 16:
        return divide_by_power(x, exponent)
    return 1 if x >= 0 else -1


def multiply_by_power(x: int, exponent: int) -> int:
    """Return x * 2**exponent, saturated."""
    return min(max(x << exponent, INT32_MIN), INT32_MAX)


def exp_of_negative(a: int, integer_bits: int) -> int:
    """Return exp(a) for a <= 0, with no integer bits."""
    if a == 0:
        return ONE
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (a & (quarter - 1)) - quarter
    result = _exp_near_zero(multiply_by_power(rest, integer_bits))
    remainder = rest - a
    for exponent, factor in enumerate(EXP_MINUS_POWERS, -2):
        if exponent < integer_bits and remainder & (1 << (fraction_bits + exponent)):
            result = multiply(result, factor)
    return result


def _exp_near_zero(a: int) -> int:
    """Return exp(a) for a in [-1/4, 0), by its Taylor series around -1/8."""
    x = a + (1 << 28)
    x2 = multiply(x, x)
    x3, x4 = multiply(x2, x), multiply(x2, x2)
    cubic = multiply(divide_by_power(x4, 2) + x3, ONE_THIRD) + x2
    return EXP_MINUS_EIGHTH + multiply(EXP_MINUS_EIGHTH, x + divide_by_power(cubic, 1))


def _two_over_one_plus(a: int) -> int:
    """Return 2 / (1 + a) for a in [0, 1], with 2 integer bits: three steps of Newton's method.

    Sums wrap, which happens only for a = -1, DIV's reciprocal of 0.
    """
    half_denominator = _half_sum(a, ONE)
    first, slope = RECIPROCAL_START
    x = first + multiply(half_denominator, slope)
    for _ in range(3):
        error = (1 << 29) - multiply(half_denominator, x)
        x = _wrap(x + multiply_by_power(multiply(x, error), 2))
    return x


def _half_sum(a: int, b: int) -> int:
    """Return (a + b) / 2, ties away from zero (RoundingHalfSum)."""
    total = a + b
    return (total + 1) >> 1 if total >= 0 else -((1 - total) >> 1)


def _wrap(x: int) -> int:
    """Return an integer wrapped to int32."""
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


def logistic(a: int, integer_bits: int) -> int:
    """Return 1 / (1 + exp(-a)), with no integer bits."""
    if a == 0:
        return 1 << 30
    positive = multiply_by_power(_two_over_one_plus(exp_of_negative(-abs(a), integer_bits)), 1)
    return positive if a > 0 else ONE - positive


def tanh(a: int, integer_bits: int) -> int:
    """Return tanh(a), with no integer bits."""
    if a == 0:
        return 0
    exponential = exp_of_negative(-abs(a), integer_bits + 1)
    positive = multiply_by_power(_two_over_one_plus(exponential) - (1 << 29), 2)
    return positive if a > 0 else -positive


def reciprocal(x: int) -> tuple[int, int]:
    """Return 1 / x of a non-negative int32 as a mantissa and a right shift.

    1 / x is mantissa * 2**-(31 + shift) (GetReciprocal of TFLite's common.h for 31 integer bits).
    """
    bits = x.bit_length()
    above_one = ((x << (32 - bits)) & 0xFFFFFFFF) - (1 << 31)
    return multiply_by_power(_two_over_one_plus(above_one), 1), bits - 1


HALF_SQRT_2 = 1518500250
"""sqrt(2) / 2, with no integer bits."""


def inverse_square_root(x: int) -> tuple[int, int]:
    """Return 1 / sqrt(x) of an int32 as mantissa and shift (GetInvSqrtQuantizedMultiplierExp).

    1 / sqrt(x) is mantissa * 2**(shift - 31). 0 is treated as 1.
    """
    if x <= 1:
        return INT32_MAX, 0
    shift = 11
    while x >= 1 << 29:
        x, shift = x // 4, shift + 1
    pairs = (31 - x.bit_length()) // 2 - 1
    mantissa = multiply(_inverse_square_root_near_one(x << (2 * pairs)), HALF_SQRT_2)
    shift -= pairs
    return (mantissa << max(-shift, 0)), -max(shift, 0)


def _inverse_square_root_near_one(x: int) -> int:
    """Return 1 / sqrt(x / 2) for x with 2 integer bits: five steps of Newton's method from 1."""
    half = divide_by_power(x >> 1, 1)
    root = 1 << 28
    for _ in range(5):
        cube = multiply_by_power(multiply(multiply(root, root), root), 6)
        root = multiply_by_power(multiply(3 << 27, root) - multiply(half, cube), 3)
    return root


def multiply_short(a: int, b: int) -> int:
    """Return the product of two int16 with no integer bits, ties away from zero or up.

    This is gemmlowp's 16-bit SaturatingRoundingDoublingHighMul.
    """
    if a == b == -(1 << 15):
        return (1 << 15) - 1
    product = a * b
    nudged = product + ((1 << 14) if product >= 0 else 1 - (1 << 14))
    return nudged >> 15 if nudged >= 0 else -(-nudged >> 15)
