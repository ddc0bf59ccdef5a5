"""Elementwise arithmetic of two or more tensors, with broadcasting: ADD, SUB, MUL, DIV, …

Quantized types follow TFLite's kernels/internal/reference (add.h, sub.h, mul.h, div.h) and TFLite
Micro's kernels of the same names, which compute the scales; other types use C's arithmetic.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.binary import (
    ADD_SHIFT,
    ends,
    product_multiplier,
    sum_multipliers,
    widened,
)
from ethosgen.aot.arithmetic.reciprocal import reciprocal
from ethosgen.aot.cost import per_element
from ethosgen.aot.operators import operator
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import (
    BAD_VALUE,
    Array,
    Nest,
    headroom,
    int32,
    limited,
    pointwise,
    real,
)
from ethosgen.aot.tir.quantization import (
    Multiplier,
    activation_range,
    clamp,
    limits,
    offset,
    plain_range,
    quantize_multiplier,
    ratio,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
    scale_of,
    shifted_left,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

QUANTIZED = ("int8", "int16")
PLAIN = ("int32", "float32")

DIFFERENCE_SHIFT = {"int8": 7, "int16": 0}
"""Left shift of the inputs of SQUARED_DIFFERENCE (squared_difference.cc)."""

Combine = Callable[[Any, Any], Any]


# ---- ADD, SUB ------------------------------------------------------------------------------------


@operator("ADD", "SUB", dtypes=QUANTIZED, cycles=per_element(53.0))
def add_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Rescale both inputs to twice the larger scale, add or subtract, rescale the result."""
    first, second, target = ends(op, tensors)
    widen = ADD_SHIFT[target.dtype]
    *ratios, multiplier = sum_multipliers(first, second, target)
    bounds = activation_range(op, target)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        left, right = (
            nest.rescale(widened(x, tensor, widen), factor)
            for x, tensor, factor in zip((a, b), (first, second), ratios, strict=True)
        )
        total = nest.let("total", left + right if op.code == "ADD" else left - right)
        return clamp(nest.rescale(total, multiplier, zero_point_of(target)), *bounds)

    return pointwise((first, second), target, formula)


@operator("ADD", "SUB", "MUL", "DIV", dtypes=PLAIN, in_place=True)
def plain(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute with C's arithmetic, within the bounds of the fused activation.

    TFLite Micro's int32 ADD ignores the activation. Integers wrap, as they do there in practice.
    """
    first, second, target = ends(op, tensors)
    dtype = target.dtype
    low, high = plain_range(op, dtype)

    def formula(_: Nest, a: Any, b: Any) -> Any:
        if dtype == "float32":
            return limited(_result(op.code, a, b), real(low), real(high))
        if op.code == "DIV":
            return clamp(tirx.truncdiv(a, b), int(low), int(high))
        wide = _result(op.code, tirx.Cast("int64", a), tirx.Cast("int64", b))
        wrapped = tirx.Cast("int32", wide)
        return wrapped if op.code == "ADD" else clamp(wrapped, int(low), int(high))

    return pointwise((first, second), target, formula)


def _result(code: str, a: Any, b: Any) -> Any:
    results: dict[str, Combine] = {
        "ADD": lambda a, b: a + b,
        "SUB": lambda a, b: a - b,
        "MUL": lambda a, b: a * b,
        "DIV": tirx.div,
    }
    return results[code](a, b)


# ---- MUL, DIV ------------------------------------------------------------------------------------


@operator("MUL", dtypes=QUANTIZED, cycles=per_element(25.0))
def mul_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply and rescale the product."""
    first, second, target = ends(op, tensors)
    multiplier = product_multiplier(op, first, second, target)
    bounds = activation_range(op, target)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        product = (int32(a) - zero_point_of(first)) * (int32(b) - zero_point_of(second))
        return clamp(nest.rescale(product, multiplier, zero_point_of(target)), *bounds)

    return pointwise((first, second), target, formula)


@operator("DIV", dtypes=("int8",))
def div_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply by the divisor's reciprocal, from a table of all 256 divisors.

    TFLite shifts the product by whatever the scales and operands require, even by more than 31
    bits, and does not check for a divisor of 0. Both are undefined in C++; this computes the result
    of an x86 processor, and so of TFLite Micro's wheel.
    """
    first, second, target = ends(op, tensors)
    multiplier = quantize_multiplier(
        ratio(op, (scale_of(first),), (scale_of(second), scale_of(target)))
    )
    bounds = activation_range(op, target)
    divisors = range(-128 - zero_point_of(second), 128 - zero_point_of(second))
    inverses = [fixed_point.reciprocal(abs(d)) for d in divisors]
    tables: dict[str, Array] = {
        "reciprocals": np.array([m for m, _ in inverses], np.int32),
        "shifts": np.array([shift for _, shift in inverses], np.int8),
        "headrooms": np.array([_leading_sign_bits(d) for d in range(-255, 256)], np.int8),
    }

    def formula(nest: Nest, a: Any, b: Any, reciprocals: Any, shifts: Any, headrooms: Any) -> Any:
        row = nest.let("row", int32(b) + 128)
        centred = int32(a) - zero_point_of(first)
        if divisors[0] < 0:
            negative = int32(b) < zero_point_of(second)
            centred = tirx.Select(negative, 0 - centred, centred)
        dividend = nest.let("dividend", centred)
        headroom = nest.let("headroom", int32(headrooms[dividend + 255]))
        result = _quotient(nest, dividend << headroom, reciprocals[row], multiplier, (
            int32(shifts[row]) + headroom
        ))  # fmt: skip
        return clamp(offset(result, zero_point_of(target)), *bounds)

    return pointwise((first, second), target, formula, tables)


def _quotient(
    nest: Nest, dividend: Any, reciprocal: Any, multiplier: Multiplier, places: Any
) -> Any:
    """Return a product with a reciprocal, rescaled and divided by 2**places.

    Shifts beyond 31 bits are those of an x86 processor.
    """
    quotient = nest.let("quotient", saturating_rounding_doubling_high_mul(dividend, reciprocal))
    scaled = nest.let(
        "scaled", saturating_rounding_doubling_high_mul(quotient, multiplier.mantissa)
    )
    shift = nest.let("shift", places - multiplier.shift)
    rounded = rounding_divide_by_pot(scaled, shift & 31)
    beyond = (scaled >> (shift & 31)) + tirx.Cast("int32", scaled >= 0)
    return tirx.Select(tirx.NE(shift & 32, 0), beyond, rounded)


@operator("DIV", dtypes=("int16",), litert=True)
def div_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply by the divisor's reciprocal, as for int8; a divisor of 0 fails the inference.

    LiteRT divides the scales in single precision, and shifts as int8's kernel does.
    """
    first, second, target = ends(op, tensors)
    multiplier = quantize_multiplier(
        ratio(op, (scale_of(first),), (scale_of(second), scale_of(target)), single=True)
    )
    bounds = activation_range(op, target)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        signed = nest.let("signed_divisor", int32(b) - zero_point_of(second))
        with nest.when(tirx.EQ(signed, 0)):
            nest.fail(BAD_VALUE)
        centred = int32(a) - zero_point_of(first)
        dividend = nest.let("dividend", tirx.Select(signed < 0, 0 - centred, centred))
        spare = headroom(nest, tirx.Select(dividend < 0, ~dividend, dividend))
        spare = nest.let("spare", spare)
        inverse, places = reciprocal(nest, tirx.max(tirx.Select(signed < 0, 0 - signed, signed), 1))
        result = _quotient(nest, shifted_left(dividend, spare), inverse, multiplier, places + spare)
        return clamp(offset(result, zero_point_of(target)), *bounds)

    return pointwise((first, second), target, formula)


def _leading_sign_bits(x: int) -> int:
    """Return the number of bits below an int32's sign bit that equal it (CountLeadingSignBits)."""
    return 31 - (x if x >= 0 else ~x).bit_length()


# ---- SQUARED_DIFFERENCE, ADD_N -------------------------------------------------------------------


@operator("SQUARED_DIFFERENCE", dtypes=QUANTIZED, in_place=True)
def squared_difference_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Rescale both inputs to twice the larger scale, subtract, square, rescale the result."""
    first, second, target = ends(op, tensors)
    common = 2.0 * max(scale_of(first), scale_of(second))
    widen = DIFFERENCE_SHIFT[target.dtype]
    multiplier = quantize_multiplier(common * common / ((1 << (2 * widen)) * scale_of(target)))
    ratios = [quantize_multiplier(scale_of(t) / common) for t in (first, second)]

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        left, right = (
            nest.rescale(widened(x, tensor, widen), factor)
            for x, tensor, factor in zip((a, b), (first, second), ratios, strict=True)
        )
        difference = nest.let("difference", left - right)
        scaled = nest.rescale(difference * difference, multiplier, zero_point_of(target))
        return clamp(scaled, *limits(target.dtype))

    return pointwise((first, second), target, formula)


@operator("SQUARED_DIFFERENCE", dtypes=PLAIN)
def squared_difference(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute (a - b) squared; integers wrap."""
    first, second, target = ends(op, tensors)

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        if target.dtype == "float32":
            difference = nest.let("difference", a - b)
            return difference * difference
        wide = tirx.Cast("int64", tirx.Cast("int32", tirx.Cast("int64", a) - tirx.Cast("int64", b)))
        difference = nest.let("difference", wide)
        return tirx.Cast("int32", difference * difference)

    return pointwise((first, second), target, formula)


@operator("ADD_N", dtypes=("float32",))
def add_n(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add any number of tensors, starting with 0."""

    def formula(_: Nest, *values: Any) -> Any:
        return sum(values, real(0.0))

    return pointwise([tensors[i] for i in op.inputs], tensors[op.outputs[0]], formula)


@operator("ADD_N", dtypes=("int8",))
def add_n_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add in half of the inputs' common scale, starting at minus the zero point, as in TFLite."""
    sources, target = [tensors[i] for i in op.inputs], tensors[op.outputs[0]]
    scale, point = scale_of(sources[0]), zero_point_of(sources[0])
    if any((scale_of(s), zero_point_of(s)) != (scale, point) for s in sources):
        raise UnsupportedError("its inputs differ in scale or zero point")
    half = quantize_multiplier(0.5)
    multiplier = quantize_multiplier(2 * scale / ((1 << 20) * scale_of(target)))
    start = fixed_point.multiply(-point << 20, half.mantissa)

    def formula(nest: Nest, *values: Any) -> Any:
        total = int32(start)
        for value in values:
            total = total + nest.rescale(widened(value, sources[0], 20), half)
        scaled = nest.rescale(nest.let("total", total), multiplier, zero_point_of(target))
        return clamp(scaled, *limits("int8"))

    return pointwise(sources, target, formula)


# ---- MINIMUM, MAXIMUM ----------------------------------------------------------------------------


@operator(
    "MINIMUM",
    "MAXIMUM",
    dtypes=("int8", "int16", "int32", "int64", "float32"),
    cycles=per_element(7.0),
    in_place=True,
)
def extremum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compare stored values; TFLite requires the same quantization for all three tensors."""
    first, second, target = ends(op, tensors)

    def formula(_: Nest, a: Any, b: Any) -> Any:
        return tirx.Select(a < b if op.code == "MINIMUM" else a > b, a, b)

    return pointwise((first, second), target, formula)
