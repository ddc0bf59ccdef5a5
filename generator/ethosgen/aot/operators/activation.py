"""Activations: RELU, LOGISTIC, TANH and similar operators.

8-bit types use a lookup table whose values are computed as in TFLite; int16 uses TFLite's formulas,
float32 the C library's functions where TFLite uses them.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.curve import byte_curve
from ethosgen.aot.arithmetic.table import byte_table
from ethosgen.aot.cost import per_element
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Array, Nest, call, int32, pointwise, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    apply,
    clamp,
    input_radius,
    limits,
    offset,
    quantize,
    quantize_multiplier,
    ratio,
    scale_of,
    wrapped,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

LOW, HIGH = limits("int8")
INTEGER_BITS = 4
"""Integer bits of the fixed-point argument of TFLite's int8 LOGISTIC and TANH."""

LOOKUP = per_element(0.25)
"""The cost of a table of bytes."""


def _ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.dtype != target.dtype:
        raise UnsupportedError(f"it converts {source.dtype} to {target.dtype}; both must be equal")
    return source, target


def _ratio(op: Operator, source: Tensor, target: Tensor) -> float:
    return ratio(op, (scale_of(source),), (scale_of(target),))


# ---- RELU, RELU6 ---------------------------------------------------------------------------------


@operator("RELU", dtypes=("int8", "int16"), cycles=LOOKUP, in_place=True)
def relu_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute max(x, 0), rescaled (micro/kernels/activations_common.cc)."""
    source, target = _ends(op, tensors)
    multiplier = quantize_multiplier(_ratio(op, source, target))
    before, after = zero_point_of(source), zero_point_of(target)
    low, high = limits(target.dtype)
    floor = max(low, quantize(0.0, target))
    if source.dtype == "int8":
        return byte_table(
            source, target, lambda q: max(apply(multiplier, q - before, after), floor)
        )

    def formula(nest: Nest, a: Any) -> Any:
        return clamp(nest.rescale(int32(a) - before, multiplier, after), floor, high)

    return pointwise([source], target, formula)


@operator("RELU6", dtypes=("int8", "int16"), cycles=LOOKUP, in_place=True)
def relu6_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute min(max(x, 0), 6) in the input's quantization; TFLite Micro ignores the output's."""
    source, target = _ends(op, tensors)
    if op.options.get(UNSIGNED):
        return _limited(op, source, target, 0.0, 6.0)
    low, high = limits(source.dtype)
    zero, six = zero_point_of(source), min(max(quantize(6.0, source), low), high)
    if source.dtype == "int8":
        return byte_table(source, target, lambda q: min(max(q, zero), six))
    return pointwise([source], target, lambda _, a: clamp(int32(a), zero, six))


@operator("RELU_N1_TO_1", "RELU_0_TO_1", dtypes=("int8",), litert=True, in_place=True)
def relu_to_one(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute min(max(x, -1 or 0), 1), rescaled (lite/kernels/activations.cc)."""
    source, target = _ends(op, tensors)
    return _limited(op, source, target, -1.0 if op.code == "RELU_N1_TO_1" else 0.0, 1.0)


def _limited(op: Operator, source: Tensor, target: Tensor, low: float, high: float) -> Kernel:
    """Return a lookup kernel that rescales and clamps between two floats (QuantizedReluX)."""
    multiplier = quantize_multiplier(_ratio(op, source, target))
    before, after = zero_point_of(source), zero_point_of(target)
    floor, ceiling = quantize(low, target), quantize(high, target)
    return byte_table(
        source,
        target,
        lambda q: min(max(apply(multiplier, q - before, after), floor), ceiling),
    )


@operator("RELU", "RELU6", dtypes=("float32",))
@operator("RELU_N1_TO_1", "RELU_0_TO_1", dtypes=("float32",), litert=True)
def relu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Clamp x to at least 0, or to [0, 6], [-1, 1] or [0, 1]; NaN stays NaN."""
    source, target = _ends(op, tensors)
    low = real(-1.0 if op.code == "RELU_N1_TO_1" else 0.0)
    high = None if op.code == "RELU" else real(6.0 if op.code == "RELU6" else 1.0)

    def formula(nest: Nest, a: Any) -> Any:
        raised = tirx.max(low, a)
        return raised if high is None else tirx.min(high, nest.let("raised", raised))

    return pointwise([source], target, formula)


# ---- LOGISTIC, TANH ------------------------------------------------------------------------------


@operator("LOGISTIC", dtypes=("int8",), cycles=LOOKUP, in_place=True)
def logistic_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute 1 / (1 + exp(-x)) in fixed point; output scale 1/256 (integer_ops/logistic.h)."""
    source, target = _ends(op, tensors)
    if op.options.get(UNSIGNED):
        return byte_curve(source, target, _sigmoid_of_singles)
    return byte_table(source, target, _curve(source, fixed_point.logistic, 23, LOW))


@operator("TANH", dtypes=("int8",), cycles=LOOKUP, in_place=True)
def tanh_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute tanh(x) in fixed point; output scale 1/128 (integer_ops/tanh.h)."""
    source, target = _ends(op, tensors)
    if op.options.get(UNSIGNED):
        return byte_curve(source, target, np.tanh)
    return byte_table(source, target, _curve(source, fixed_point.tanh, 24, 0))


def _sigmoid_of_singles(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)) in single precision, as in LiteRT's uint8 table."""
    return np.float32(1) / (np.float32(1) + np.exp(-x).astype(np.float32))


def _curve(
    source: Tensor, function: Callable[[int, int], int], exponent: int, zero_point: int
) -> Callable[[int], int]:
    """Return the function q -> function(x) / 2**exponent + zero_point, x in fixed point."""
    fraction, shift = math.frexp(scale_of(source) * (1 << (31 - INTEGER_BITS)))
    multiplier = Multiplier(math.floor(fraction * (1 << 31) + 0.5), shift)
    radius = input_radius(INTEGER_BITS, shift)

    def curve(q: int) -> int:
        centred = q - zero_point_of(source)
        if abs(centred) >= radius:  # with a large scale the radius is 0, and 0 maps to LOW
            return LOW if centred <= -radius else HIGH
        value = function(apply(multiplier, centred), INTEGER_BITS)
        return fixed_point.divide_by_power(value, exponent) + zero_point

    return curve


@cache
def sigmoid_table() -> Array:
    """Return 65536 * sigmoid(i / 24) for i from 0 to 255, the table of TFLite's int16 kernels.

    A chord of f over a step h lies up to f'' h**2 / 8 below f; each entry is raised by half of that
    interpolation error. The last entry is the largest uint16.
    """
    curve = 1 / (1 + np.exp(-np.arange(256) / 24))
    bend = curve * (1 - curve) * (1 - 2 * curve) / 24**2
    table = np.round(65536 * (curve - bend / 16)).astype(np.int32)
    table[-1] = 65535
    return np.asarray(table)


@operator("LOGISTIC", "TANH", dtypes=("int16",))
def sigmoid_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Interpolate in a table of the logistic function (integer_ops/logistic.h, tanh.h).

    tanh(x) is 2 sigmoid(2x) - 1, so TANH uses one bit less of the argument as the fraction.
    """
    source, target = _ends(op, tensors)
    factor, shift = argument_scale(op.code, scale_of(source))
    half = 1 << (shift - 1) if shift else 0

    def formula(nest: Nest, a: Any, curve: Any) -> Any:
        if abs(factor) < 1 << 16:
            x = nest.let("x", (int32(a) * factor + half) >> shift)
        else:
            x = nest.let("x", _wrapped_product(a, factor))
        return interpolate(nest, op.code, x, curve)

    return pointwise([source], target, formula, {"sigmoid": sigmoid_table()})


def _wrapped_product(a: Any, factor: int) -> Any:
    """Return an int16 times a factor modulo 2**32; the lowest results, all saturating, as -2**30.

    The lowest integer has no magnitude in int32.
    """
    least = int32(-(1 << 30))
    if factor == -(1 << 31):
        return tirx.Select((int32(a) & 1) == 0, int32(0), least)
    wide = tirx.Cast("int64", a) * tirx.const(factor, "int64")
    return tirx.max(tirx.Cast("int32", wide), least)


def interpolate(nest: Nest, code: str, x: Any, curve: Any) -> Any:
    """Return LOGISTIC or TANH of x / (3 * 4096) in units of 2**-15; `curve` holds sigmoid_table."""
    bits = 9 if code == "LOGISTIC" else 8
    most = 0x7FFF << 10 if code == "LOGISTIC" else 0xFFFF << 8
    distance = nest.let("distance", tirx.Select(x < 0, 0 - x, x))
    row = nest.let("row", tirx.min(distance >> bits, int32(254)))
    left = nest.let("left", curve[row])
    fraction = distance & ((1 << bits) - 1)
    between = (left << bits) + fraction * (curve[row + 1] - left)
    value = nest.let("value", tirx.Select((distance >> bits) >= 255, int32(most), between))
    if code == "LOGISTIC":
        mirrored = (1 << 25) - value + (1 << 9) - 1
        return tirx.Select(x < 0, mirrored, value + (1 << 9)) >> 10
    mirrored = (1 << 23) - value + (1 << 7) - 1
    return tirx.Select(x < 0, mirrored, value - (1 << 23) + (1 << 7)) >> 8


def argument_scale(code: str, scale: float) -> tuple[int, int]:
    """Return the factor and right shift that convert an int16 input to units of 1 / (3 * 4096)."""
    logarithm = np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2)))
    rounded = math.copysign(math.floor(abs(logarithm) + 0.5), logarithm)
    power = abs(float(logarithm) - rounded) < 1e-3
    shift = 12 + int(rounded)
    if power and shift in ((0,) if code == "LOGISTIC" else (0, 1)):
        return 3 << shift, 0
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = 2.0 * multiplier, shift + 1
    fits = multiplier < 2.0**31  # if not, x86 converts it to the lowest integer
    return int(multiplier) if fits else -(2**31), shift


@operator("LOGISTIC", dtypes=("float32",), ulp=LIBRARY_ULP)
def logistic(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute 1 / (1 + exp(-x)), or exp(x) where x is below -9 (reference/logistic.h)."""
    source, target = _ends(op, tensors)

    return pointwise([source], target, sigmoid)


def sigmoid(nest: Nest, a: Any) -> Any:
    """Return 1 / (1 + exp(-a)) of a float32 as TFLite computes it."""
    low = a < real(-9.0)
    exponential = nest.let("exponential", call("expf", tirx.Select(low, a, a * real(-1.0))))
    middle = tirx.div(real(1.0), real(1.0) + exponential)
    below = tirx.Select(low, exponential, middle)
    return tirx.Select(a > real(16.619047164916992188), real(1.0), below)


@operator("TANH", dtypes=("float32",), ulp=LIBRARY_ULP)
def tanh(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute tanhf(x)."""
    source, target = _ends(op, tensors)
    return pointwise([source], target, lambda _, a: call("tanhf", a))


# ---- LEAKY_RELU, PRELU ---------------------------------------------------------------------------


@operator("LEAKY_RELU", dtypes=("int8", "int16"), cycles=LOOKUP, in_place=True)
def leaky_relu_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x or alpha x, each with its own multiplier (reference/leaky_relu.h)."""
    source, target = _ends(op, tensors)
    alpha = float(op.options.get("alpha", 0.0))
    slope = ratio(op, (scale_of(source), alpha), (scale_of(target),))
    negative = quantize_multiplier(abs(slope))
    identity = quantize_multiplier(_ratio(op, source, target))
    before, after = zero_point_of(source), zero_point_of(target)
    sign = -1 if slope < 0 else 1

    def value(q: int) -> int:
        x = q - before
        return wrapped((apply(identity, x) if x >= 0 else sign * apply(negative, x)) + after)

    def formula(nest: Nest, a: Any) -> Any:
        x = nest.let("x", int32(a) - before)
        right = nest.let("right", nest.rescale(x, identity))
        left = nest.rescale(x, negative) * sign
        return clamp(offset(tirx.Select(x >= 0, right, left), after), *limits(target.dtype))

    if source.dtype == "int8":
        return byte_table(source, target, value)
    return pointwise([source], target, formula)


@operator("LEAKY_RELU", dtypes=("float32",))
def leaky_relu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x, or alpha x where x is not positive."""
    source, target = _ends(op, tensors)
    alpha = real(float(np.float32(op.options.get("alpha", 0.0))))
    return pointwise([source], target, lambda _, a: tirx.Select(a > real(0.0), a, a * alpha))


@operator("PRELU", dtypes=("int8", "int16"), in_place=True)
def prelu_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x or alpha x; alpha is an int8 tensor for both dtypes (reference/prelu.h)."""
    source, alpha, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if alpha.dtype != "int8" or target.dtype != source.dtype:
        raise UnsupportedError(f"its alpha is {alpha.dtype} and its output {target.dtype}")
    identity = quantize_multiplier(_ratio(op, source, target))
    slope = quantize_multiplier(ratio(op, (scale_of(source), scale_of(alpha)), (scale_of(target),)))

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        x = nest.let("x", int32(a) - zero_point_of(source))
        right = nest.let("right", nest.rescale(x, identity))
        left = nest.rescale(x * (int32(b) - zero_point_of(alpha)), slope)
        chosen = offset(tirx.Select(x >= 0, right, left), zero_point_of(target))
        return clamp(chosen, *limits(target.dtype))

    return pointwise((source, alpha), target, formula)


@operator("PRELU", dtypes=("float32",))
def prelu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x, or alpha x where x is negative."""
    source, alpha, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    return pointwise((source, alpha), target, lambda _, a, b: tirx.Select(a >= real(0.0), a, a * b))


# ---- HARD_SWISH, ELU -----------------------------------------------------------------------------


@operator("HARD_SWISH", dtypes=("int8",), cycles=LOOKUP, in_place=True)
def hard_swish_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x relu6(x + 3) / 6 in 16-bit fixed point (reference/hard_swish.h)."""
    source, target = _ends(op, tensors)
    fine = scale_of(source) / 128
    output = _short_multiplier(ratio(op, (fine,), (scale_of(target),)))
    if output.shift > 0:
        raise UnsupportedError("its output scale is too small for TFLite's integer HARD_SWISH")
    reluish = _short_multiplier(ratio(op, (fine,), (3 / 32768,)))

    def value(q: int) -> int:
        x = (q - zero_point_of(source)) * 128
        gate = x
        if reluish.shift > 0:
            gate = _int16(gate << (reluish.shift - 1))
        gate = fixed_point.multiply_short(gate, reluish.mantissa)
        if reluish.shift > 0:
            gate = _int16(gate << 1)
        if reluish.shift < 0:
            gate = fixed_point.divide_short_by_power(gate, -reluish.shift)
        gate = (gate + (1 << 15)) >> 1
        product = gate * fixed_point.multiply_short(x, output.mantissa)
        short = math.trunc(product / (1 << 15))
        return fixed_point.divide_short_by_power(short, -output.shift) + zero_point_of(target)

    return byte_table(source, target, value)


def _short_multiplier(ratio: float) -> Multiplier:
    """Return a multiplier with a 15-bit mantissa (DownScaleInt32ToInt16Multiplier)."""
    multiplier = quantize_multiplier(ratio)
    return Multiplier(min((multiplier.mantissa + (1 << 15)) >> 16, 32767), multiplier.shift)


def _int16(x: int) -> int:
    low, high = limits("int16")
    return min(max(x, low), high)


@operator("HARD_SWISH", dtypes=("float32",))
def hard_swish(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x min(6, max(0, x + 3)) / 6."""
    source, target = _ends(op, tensors)

    def formula(nest: Nest, a: Any) -> Any:
        shifted = nest.let("shifted", a + real(3.0))
        raised = nest.let("raised", tirx.Select(real(0.0) < shifted, shifted, real(0.0)))
        gate = tirx.Select(raised < real(6.0), raised, real(6.0))
        return tirx.div(a * gate, real(6.0))

    return pointwise([source], target, formula)


@operator("ELU", dtypes=("int8",), in_place=True)
def elu_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up x or exp(x) - 1 in a table computed in single precision (micro/kernels/elu.cc)."""
    source, target = _ends(op, tensors)
    scale, inverse = np.float32(scale_of(source)), np.float32(1) / np.float32(scale_of(target))

    def value(q: int) -> int:
        x = scale * np.float32(q - zero_point_of(source))
        curve = np.float32(math.exp(x)) - np.float32(1) if x < 0 else x
        scaled = float(curve * inverse)
        rounded = math.copysign(math.floor(abs(scaled) + 0.5), scaled)
        place = float(np.float32(rounded) + np.float32(zero_point_of(target)))
        return int(place) if place < 2.0**31 else -(1 << 31)  # x86's conversion

    return byte_table(source, target, value)


@operator("ELU", dtypes=("float32",), ulp=LIBRARY_ULP)
def elu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x, or expm1(x) where x is negative."""
    source, target = _ends(op, tensors)

    def formula(nest: Nest, a: Any) -> Any:
        below = nest.let("below", call("expm1f", a))
        return tirx.Select(a < real(0.0), below, a)

    return pointwise([source], target, formula)
