"""Integer quotients, remainders, powers and angles of two tensors: FLOOR_DIV, POW, ATAN2, …"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.binary import ends
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import (
    BAD_VALUE,
    Nest,
    call,
    dtype_of,
    int32,
    limited,
    number,
    pointwise,
    real,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

EXPONENT_BITS = 31
"""Bits of a POW exponent, a non-negative int32."""

WHOLE_EXPONENT = 1e-5
"""Distance below which LiteRT's POW treats an exponent as an integer (optimized_ops.h)."""


# ---- FLOOR_DIV, FLOOR_MOD ------------------------------------------------------------------------


@operator("FLOOR_DIV", dtypes=("float32",), in_place=True)
def floor_div(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute floor(a / b), divided in double precision as in TFLite; b = 0 fails the inference."""
    first, second, target = ends(op, tensors)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        _need_divisor(nest, b)
        quotient = tirx.div(tirx.Cast("float64", a), tirx.Cast("float64", b))
        return tirx.Cast("float32", call("floor", quotient, dtype="float64"))

    return pointwise((first, second), target, formula)


@operator("FLOOR_DIV", dtypes=("int8", "int16", "int32"), litert=True)
def floor_div_of_integers(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Divide stored values, rounding down; b = 0 fails the inference, overflow wraps."""
    first, second, target = ends(op, tensors)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        _need_divisor(nest, b)
        dividend, divisor = nest.let("dividend", int32(a)), _safe_divisor(nest, int32(b))
        quotient = nest.let("quotient", tirx.truncdiv(dividend, divisor))
        rest = nest.let("rest", dividend - quotient * divisor)
        lower = tirx.Select(_leans_away(rest, divisor), quotient - 1, quotient)
        negated = tirx.Cast("int32", number(0, "int64") - tirx.Cast("int64", dividend))
        return tirx.Select(tirx.EQ(int32(b), -1), negated, lower)

    return pointwise((first, second), target, formula)


@operator("FLOOR_MOD", dtypes=("float32",), in_place=True)
def floor_mod(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the remainder with the divisor's sign."""
    first, second, target = ends(op, tensors)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        rest = nest.let("rest", call("fmodf", a, b))
        return tirx.Select(_leans_away(rest, b), rest + b, rest)

    return pointwise((first, second), target, formula)


@operator("FLOOR_MOD", dtypes=("int8", "int16", "int32", "int64"), litert=True)
def floor_mod_of_integers(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the remainder with the divisor's sign; b = 0 fails the inference (floor_mod.h)."""
    first, second, target = ends(op, tensors)
    wide = "int64" if target.dtype == "int64" else "int32"

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        _need_divisor(nest, b)
        divisor = _safe_divisor(nest, tirx.Cast(wide, b))
        rest = nest.let("rest", tirx.truncmod(tirx.Cast(wide, a), divisor))
        return tirx.Select(_leans_away(rest, divisor), rest + divisor, rest)

    return pointwise((first, second), target, formula)


def _need_divisor(nest: Nest, b: Any) -> None:
    with nest.when(tirx.EQ(b, number(0, dtype_of(b)))):
        nest.fail(BAD_VALUE)


def _safe_divisor(nest: Nest, b: Any) -> Any:
    """Bind a divisor, with 1 instead of -1: the smallest integer divided by -1 overflows."""
    minus, unit = (number(value, dtype_of(b)) for value in (-1, 1))
    return nest.let("divisor", tirx.Select(tirx.EQ(b, minus), unit, b))


def _leans_away(rest: Any, divisor: Any) -> Any:
    """Return whether a remainder is not 0 and its sign differs from the divisor's."""
    zero = number(0, dtype_of(rest))
    signs = (tirx.Cast("int32", value < zero) for value in (divisor, rest))
    return tirx.all(tirx.NE(rest, zero), tirx.NE(*signs))


# ---- POW, ATAN2 ----------------------------------------------------------------------------------


@operator("POW", dtypes=("float32",), ulp=LIBRARY_ULP, litert=True)
def power(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute a to the power of b, by multiplication if b is one constant integer, as in LiteRT."""
    first, second, target = ends(op, tensors)
    exponent = _whole_exponent(first, second)
    if exponent:
        return pointwise([first], target, lambda nest, a: _multiplied(nest, a, exponent))
    return pointwise((first, second), target, lambda _, a, b: call("powf", a, b))


def _whole_exponent(base: Tensor, exponent: Tensor) -> int:
    """Return the exponent if it is one constant integer of at least 1, else 0."""
    if exponent.data is None or exponent.elements != 1 or exponent.shape == base.shape:
        return 0
    value = float(exponent.array().reshape(-1)[0])
    whole = round(value) if abs(value) < 1 << EXPONENT_BITS else 0
    return whole if whole >= 1 and abs(value - whole) < WHOLE_EXPONENT else 0


def _multiplied(nest: Nest, base: Any, exponent: int) -> Any:
    """Return a power by squaring, each product clamped to finite numbers (IntegerExponentPow)."""
    if exponent == 1:
        return base
    half = _multiplied(nest, base, exponent // 2)
    info = np.finfo("float32")
    low, high = real(float(info.min)), real(float(info.max))
    square = nest.let("square", limited(half * half, low, high))
    return nest.let("odd", limited(base * square, low, high)) if exponent % 2 else square


@operator("POW", dtypes=("int32",), litert=True)
def power_of_integers(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute a to the power of b; a negative b fails the inference.

    Overflow wraps here. LiteRT converts from double, which is then undefined.
    """
    first, second, target = ends(op, tensors)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        with nest.when(b < 0):
            nest.fail(BAD_VALUE)
        result = nest.local("result", tirx.const(1, "uint32"))
        square = nest.local("square", tirx.Cast("uint32", a))
        with nest.loop("bit", EXPONENT_BITS) as bit:
            with nest.when(tirx.NE((b >> bit) & 1, 0)):
                nest.store(result, (0,), result[0] * square[0])
            nest.store(square, (0,), square[0] * square[0])
        return tirx.Cast("int32", result[0])

    return pointwise((first, second), target, formula)


@operator("ATAN2", dtypes=("float32",), ulp=LIBRARY_ULP, litert=True)
def atan2(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the angle of the point (b, a)."""
    first, second, target = ends(op, tensors)
    return pointwise((first, second), target, lambda _, a, b: call("atan2f", a, b))
