"""Unary functions: ABS, NEG, SQRT, EXP, SIN, … with the C library where TFLite uses it."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.curve import curve_kernel
from ethosgen.aot.arithmetic.table import byte_table
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.operators.normalization import inverse_square_root
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import BAD_VALUE, Nest, call, int32, is_number, number, pointwise, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    apply,
    clamp,
    limits,
    quantize_multiplier,
    saturating_rounding_doubling_high_mul,
    scale_of,
    wrapped,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

EXACT: dict[str, Callable[[Any], Any]] = {
    "ABS": lambda x: call("fabsf", x),
    "CEIL": lambda x: call("ceilf", x),
    "FLOOR": lambda x: call("floorf", x),
    "NEG": lambda x: x * real(-1.0),
    "ROUND": lambda x: call("rintf", x),
    "RSQRT": lambda x: tirx.div(real(1.0), call("sqrtf", x)),
    "SQRT": lambda x: call("sqrtf", x),
    "SQUARE": lambda x: x * x,
}
"""ROUND rounds ties to even, as rintf does in the default rounding mode."""

ROUNDED: dict[str, Callable[[Any], Any]] = {
    "COS": lambda x: call("cosf", x),
    "EXP": lambda x: call("expf", x),
    "LOG": lambda x: call("logf", x),
    "SIN": lambda x: call("sinf", x),
}


@operator(*EXACT, dtypes=("float32",), in_place=True)
def exact_function(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Apply a function whose result IEEE 754 defines exactly."""
    return apply_function(op, tensors)


@operator(*ROUNDED, dtypes=("float32",), ulp=LIBRARY_ULP, in_place=True)
def apply_function(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Apply a C library function to each element."""
    function = (EXACT | ROUNDED)[op.code]

    def formula(_: Nest, a: Any) -> Any:
        return function(a)

    return pointwise([tensors[op.inputs[0]]], tensors[op.outputs[0]], formula)


@operator("EXP", dtypes=("int8", "int16"), litert=True)
def exp_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up the exponential, computed in float32."""
    return curve_kernel(op, tensors, np.exp)


@operator("LOG", dtypes=("int8", "int16"), litert=True)
def log_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up the logarithm, computed in float32; x <= 0 gives the minimum (LogLUTPrepare)."""
    target = tensors[op.outputs[0]]
    low, _ = limits(target.dtype)
    least = np.float32(low - zero_point_of(target)) * np.float32(scale_of(target))
    return curve_kernel(op, tensors, lambda x: np.where(x > 0, np.log(x), float(least)))


@operator("NEG", dtypes=("int8", "int16", "int32", "int64"), litert=True)
def negate(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Negate stored values, ignoring scales; the minimum stays (reference/neg.h)."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    low, _ = limits(source.dtype)
    least, zero = number(low, source.dtype), number(0, source.dtype)

    def formula(_: Nest, a: Any) -> Any:
        return tirx.Select(tirx.EQ(a, least), a, zero - a)

    return pointwise([source], target, formula)


@operator("ABS", dtypes=("int32",), litert=True)
def abs_int32(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute |x|; the minimum stays."""
    least = number(limits("int32")[0], "int32")

    def formula(_: Nest, a: Any) -> Any:
        return tirx.Select(tirx.any(a >= 0, tirx.EQ(a, least)), a, 0 - a)

    return pointwise([tensors[op.inputs[0]]], tensors[op.outputs[0]], formula)


@operator("SIGN", dtypes=("int32", "float32"), litert=True)
def sign(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the sign as 1, 0 or -1; NaN stays NaN (sign.cc)."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    plus, zero, minus = (number(value, source.dtype) for value in (1, 0, -1))

    def formula(_: Nest, a: Any) -> Any:
        rest = zero if source.dtype == "int32" else tirx.Select(is_number(a), zero, a)
        return tirx.Select(a > zero, plus, tirx.Select(a < zero, minus, rest))

    return pointwise([source], target, formula)


@operator("ABS", dtypes=("int8",))
def abs_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute |x|, rescaled if the scales differ (micro/kernels/elementwise.cc)."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    multiplier = quantize_multiplier(_ratio(source, target))
    same = scale_of(source) == scale_of(target)

    def value(q: int) -> int:
        distance = abs(q - zero_point_of(source))
        return wrapped((distance if same else apply(multiplier, distance)) + zero_point_of(target))

    return byte_table(source, target, value)


@operator("ABS", dtypes=("int16",))
def abs_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute |x|, rescaled if the scales differ; without scales |-32768| wraps, as in C."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    quantized = source.quantization is not None
    same = not quantized or scale_of(source) == scale_of(target)
    multiplier = Multiplier(0, 0) if same else quantize_multiplier(_ratio(source, target))

    def formula(nest: Nest, a: Any) -> Any:
        distance = nest.let("distance", tirx.Select(int32(a) < 0, 0 - int32(a), int32(a)))
        scaled = distance if same else nest.rescale(distance, multiplier)
        return clamp(scaled, *limits("int16")) if quantized else scaled

    return pointwise([source], target, formula)


def _ratio(source: Tensor, target: Tensor) -> float:
    return scale_of(source) / scale_of(target)


RSQRT_SHIFT = 20
"""Fraction bits of quantized RSQRT before rescaling."""


@operator("RSQRT", dtypes=("int8",))
def rsqrt_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute 1 / sqrt(x) in fixed point; 0 gives the maximum, a negative x fails the inference."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    rest = _rsqrt_multiplier(source, target)
    low, high = limits("int8")
    zero = zero_point_of(source)

    def value(x: int) -> int:
        if x <= 0:
            return high
        mantissa, shift = fixed_point.inverse_square_root(x)
        inverse = apply(Multiplier(mantissa, shift + RSQRT_SHIFT), 1)
        return min(max(apply(rest, inverse, zero_point_of(target)), low), high)

    roots = np.array([value(q - zero) for q in range(low, high + 1)], np.int8)

    def formula(nest: Nest, a: Any, roots: Any) -> Any:
        if zero > low:
            with nest.when(int32(a) < zero):
                nest.fail(BAD_VALUE)
        return roots[int32(a) + 128]

    return pointwise([source], target, formula, {"roots": roots})


@operator("RSQRT", dtypes=("int16",))
def rsqrt_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the same for each element: a table of all values would take 64 KiB."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    rest = _rsqrt_multiplier(source, target)
    low, high = limits("int16")

    def formula(nest: Nest, a: Any) -> Any:
        distance = nest.let("distance", int32(a) - zero_point_of(source))
        with nest.when(distance < 0):
            nest.fail(BAD_VALUE)
        mantissa, shift = inverse_square_root(nest, nest.local("rest", distance))
        # The inverse of a 16-bit value is shifted right by at most RSQRT_SHIFT.
        unit = nest.let("one", int32(1) << (shift[0] + RSQRT_SHIFT))
        inverse = nest.let("inverse", saturating_rounding_doubling_high_mul(unit, mantissa[0]))
        scaled = nest.rescale(inverse, rest, zero_point_of(target))
        return tirx.Select(tirx.EQ(distance, 0), int32(high), clamp(scaled, low, high))

    return pointwise([source], target, formula)


def _rsqrt_multiplier(source: Tensor, target: Tensor) -> Multiplier:
    """Return RSQRT's multiplier, without the extra bits of the inverse."""
    multiplier = quantize_multiplier(1.0 / (math.sqrt(scale_of(source)) * scale_of(target)))
    return Multiplier(multiplier.mantissa, multiplier.shift - RSQRT_SHIFT)
