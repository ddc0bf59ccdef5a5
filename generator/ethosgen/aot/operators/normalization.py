"""Normalizations over the last dimension: L2_NORMALIZATION and LOG_SOFTMAX."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Array, Nest, call, headroom, int32, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    apply,
    clamp,
    input_radius,
    quantize_multiplier,
    rounding_divide_by_pot,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.tir.quantization import (
    saturating_rounding_doubling_high_mul as _multiply,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

EPSILON = 1e-6
"""The smallest norm by which float32 L2_NORMALIZATION divides."""


def _rows(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, tuple[int, int]]:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.dtype != target.dtype:
        raise UnsupportedError(f"it converts {source.dtype} to {target.dtype}; both must be equal")
    if op.options.get("fused_activation_function", "NONE") != "NONE":
        raise UnsupportedError("a fused activation is not covered")
    depth = source.shape[-1]
    return source, target, (source.elements // depth, depth)


# ---- L2_NORMALIZATION ----------------------------------------------------------------------------


@operator("L2_NORMALIZATION", dtypes=("float32",))
def l2_normalization(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x / sqrt(sum of squares)."""
    source, target, (rows, depth) = _rows(op, tensors)
    nest = Nest()
    x, y = nest.read("input", source, (rows, depth)), nest.write("output", target, (rows, depth))
    with nest.loop("row", rows) as row:
        total = nest.local("total", real(0.0))
        with nest.loop("i", depth) as i:
            value = nest.let("value", x[row, i])
            nest.store(total, (0,), total[0] + value * value)
        root = nest.let("root", call("sqrtf", total[0]))
        norm = nest.let("norm", tirx.max(real(float(np.float32(EPSILON))), root))
        with nest.loop("i", depth) as i:
            nest.store(y, (row, i), tirx.div(x[row, i], norm))
    return nest.kernel()


@operator("L2_NORMALIZATION", dtypes=("int8",))
def l2_normalization_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the same in fixed point; output scale 1 / 128 (integer_ops/l2normalization.h).

    LiteRT multiplies uint8 by 128 before it divides (reference/l2normalization.h).
    """
    source, target, (rows, depth) = _rows(op, tensors)
    zero = zero_point_of(source)
    nest = Nest()
    x, y = nest.read("input", source, (rows, depth)), nest.write("output", target, (rows, depth))
    with nest.loop("row", rows) as row:
        total = nest.local("total", int32(0))
        with nest.loop("i", depth) as i:
            value = nest.let("value", int32(x[row, i]) - zero)
            nest.store(total, (0,), total[0] + value * value)
        mantissa, shift = inverse_square_root(nest, total)
        # The shift is at most 0; 7 more bits give the output scale.
        if op.options.get(UNSIGNED):
            left, right = int32(7), nest.let("right", 0 - shift[0])
        else:
            left = nest.let("left", tirx.max(shift[0] + 7, int32(0)))
            right = nest.let("right", tirx.max(0 - shift[0] - 7, int32(0)))
        with nest.loop("i", depth) as i:
            shifted = (int32(x[row, i]) - zero) << left
            scaled = nest.let("scaled", _multiply(shifted, mantissa[0]))
            nest.store(y, (row, i), clamp(rounding_divide_by_pot(scaled, right), -128, 127))
    return nest.kernel()


def inverse_square_root(nest: Nest, x: Any) -> tuple[Any, Any]:
    """Return fixed_point.inverse_square_root at run time; overwrites the local `x`."""
    mantissa = nest.local("mantissa", int32(fixed_point.INT32_MAX))
    shift = nest.local("shift", int32(0))
    with nest.when(x[0] > 1):
        nest.store(shift, (0,), int32(-11))
        for _ in range(2):  # shifts x from below 2**31 to below 2**29 if needed
            with nest.when(x[0] >= 1 << 29):
                nest.store(x, (0,), tirx.truncdiv(x[0], int32(4)))
                nest.store(shift, (0,), shift[0] - 1)
        for pairs in (8, 4, 2, 1):
            with nest.when(x[0] < 1 << (29 - 2 * pairs)):
                nest.store(x, (0,), x[0] << (2 * pairs))
                nest.store(shift, (0,), shift[0] + pairs)
        half = nest.let("half", rounding_divide_by_pot(nest.let("input_half", x[0] >> 1), 1))
        root = nest.local("root", int32(1 << 28))
        with nest.loop("step", 5):
            square = nest.let("square", _multiply(root[0], root[0]))
            cube = nest.let("cube", times_power(nest, _multiply(square, root[0]), 6))
            next_root = _multiply(int32(3 << 27), root[0]) - _multiply(half, cube)
            nest.store(root, (0,), times_power(nest, next_root, 3))
        result = nest.let("result", _multiply(root[0], int32(fixed_point.HALF_SQRT_2)))
        above = nest.let("above", tirx.max(shift[0], int32(0)))
        nest.store(mantissa, (0,), result << above)
        nest.store(shift, (0,), tirx.min(shift[0], int32(0)))
    return mantissa, shift


def times_power(nest: Nest, x: Any, exponent: int) -> Any:
    """Return x * 2**exponent, saturated."""
    bound = nest.keep("raw", x)
    limit = (1 << (31 - exponent)) - 1
    shifted = clamp(bound, -limit - 1, limit) * (1 << exponent)
    return tirx.Select(bound > limit, int32(fixed_point.INT32_MAX), shifted)


# ---- LOG_SOFTMAX ---------------------------------------------------------------------------------


@operator("LOG_SOFTMAX", dtypes=("float32",), ulp=LIBRARY_ULP)
def log_softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute x - max - log(sum of exp(x - max))."""
    source, target, (rows, depth) = _rows(op, tensors)
    nest = Nest()
    x, y = nest.read("input", source, (rows, depth)), nest.write("output", target, (rows, depth))
    with nest.loop("row", rows) as row:
        greatest = nest.local("greatest", real(float(np.finfo(np.float32).min)))
        with nest.loop("i", depth) as i:
            value = nest.let("value", x[row, i])
            nest.store(greatest, (0,), tirx.Select(greatest[0] < value, value, greatest[0]))
        total = nest.local("total", real(0.0))
        with nest.loop("i", depth) as i:
            nest.store(total, (0,), total[0] + call("expf", x[row, i] - greatest[0]))
        logarithm = nest.let("logarithm", call("logf", total[0]))
        with nest.loop("i", depth) as i:
            nest.store(y, (row, i), x[row, i] - greatest[0] - logarithm)
    return nest.kernel()


DIFFERENCE_BITS = 5
"""Integer bits of a difference from the row's maximum, and of the logarithm."""
SUM_BITS = 12
"""Integer bits of a row's sum of exponentials."""
OUTPUT_BITS = 4
"""Integer bits of int8 LOG_SOFTMAX's output, whose scale is 1 / 16."""


@operator("LOG_SOFTMAX", dtypes=("int8",))
def log_softmax_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the same in fixed point; output scale 1 / 16 (reference/log_softmax.h)."""
    source, target, (rows, depth) = _rows(op, tensors)
    if scale_of(target) != 1 / 16 or zero_point_of(target) != 127:
        raise UnsupportedError("its output must have the scale 1 / 16 and the zero point 127")
    distances, terms, least, reverse = _distances(scale_of(source))
    nest = Nest()
    x = nest.read("input", source, (rows, depth))
    differences = nest.table("differences", distances)
    exponentials = nest.table("exponentials", terms)
    y = nest.write("output", target, (rows, depth))
    with nest.loop("row", rows) as row:
        greatest = nest.local("greatest", int32(-128))
        with nest.loop("i", depth) as i:
            nest.store(greatest, (0,), tirx.max(greatest[0], int32(x[row, i])))
        total = nest.local("total", int32(0))
        with nest.loop("i", depth) as i:
            term = exponentials[greatest[0] - int32(x[row, i])]
            nest.store(total, (0,), total[0] + term)
        logarithm = nest.keep("logarithm", _logarithm(nest, total))
        shifted = nest.let("shifted", logarithm + int32(fixed_point.INT32_MIN))
        floor = nest.let("floor", tirx.max(int32(least - 1), nest.rescale(shifted, reverse)))
        with nest.loop("i", depth) as i:
            distance = nest.let("distance", greatest[0] - int32(x[row, i]))
            rest = nest.let("rest", differences[distance] - logarithm)
            scaled = rounding_divide_by_pot(rest, 31 - DIFFERENCE_BITS - OUTPUT_BITS)
            value = clamp(scaled + 127, -128, 127)
            nest.store(y, (row, i), tirx.Select(0 - distance > floor, value, int32(-128)))
    return nest.kernel()


def _distances(scale: float) -> tuple[Array, Array, int, Multiplier]:
    """Return tables and limits by the distance of an input from the maximum.

    The tables hold the distance in fixed point and its exponential. The limits are the distance
    beyond which TFLite omits a term, and the multiplier from fixed point to input steps
    (PreprocessLogSoftmaxScalingExp).
    """
    real_multiplier = min(scale * (1 << (31 - DIFFERENCE_BITS)), float(fixed_point.INT32_MAX))
    multiplier = quantize_multiplier(real_multiplier)
    if multiplier.shift < 1:
        raise UnsupportedError("its input scale is too small for TFLite's integer LOG_SOFTMAX")
    radius = input_radius(DIFFERENCE_BITS, multiplier.shift)
    distances, terms = np.zeros(256, np.int32), np.zeros(256, np.int32)
    for distance in range(256):
        raw = min(max(apply(multiplier, -distance), fixed_point.INT32_MIN), 0)
        distances[distance] = raw
        if distance <= radius:
            exponential = fixed_point.exp_of_negative(raw, DIFFERENCE_BITS)
            terms[distance] = fixed_point.divide_by_power(exponential, SUM_BITS)
    back = quantize_multiplier((1 << (31 - multiplier.shift)) / multiplier.mantissa)
    return distances, terms, -radius, back


LOG_2, SQRT_HALF, ROOT_4_HALF = 1488522236, 1518500250, 1805811301
ALPHA_N, ALPHA_D, ALPHA_I, ALPHA_F = 117049297, 127690142, 1057819769, 638450708
"""Constants of TFLite's rational approximation of a logarithm, with no integer bits."""


def _logarithm(nest: Nest, total: Any) -> Any:
    """Return log(x) with DIFFERENCE_BITS integer bits, for x >= 1 with SUM_BITS integer bits.

    As log_x_for_x_greater_than_or_equal_to_1_impl in TFLite's common.h: remove a power of two from
    x and from x sqrt(1/2), and evaluate a rational function of the smaller remainder.
    """
    z = nest.keep("z", total[0])
    shift_a = nest.let("shift_a", headroom(nest, z))
    rest_a = times_power(nest, _multiply(z << shift_a, int32(SQRT_HALF)), 1)
    power_a = ((SUM_BITS - 1 - shift_a) << 25) + (1 << 23)
    shift_b = nest.let("shift_b", headroom(nest, _multiply(z, int32(SQRT_HALF))))
    fits = nest.let("limit", int32(fixed_point.INT32_MAX) >> shift_b) >= z
    rest_b = tirx.Select(fits, z << shift_b, int32(fixed_point.INT32_MAX))
    power_b = ((SUM_BITS - shift_b) << 25) - (1 << 23)
    r = nest.keep("r", tirx.min(nest.keep("rest_a", rest_a), nest.keep("rest_b", rest_b)))
    power = nest.keep("power", tirx.max(power_a, power_b))
    p = nest.keep("p", (r >> 1) + (ROOT_4_HALF >> 1) + 1)  # half of r + ROOT_4_HALF, rounded up
    q = nest.keep("q", nest.keep("difference", r - ROOT_4_HALF) * 2)
    square = nest.keep("square", _multiply(q, q))
    cube = nest.keep("cube", _multiply(q, square))
    numerator = nest.keep("numerator", _multiply(q, r) + _multiply(cube, int32(ALPHA_N)))
    inner = nest.keep("inner", q + ALPHA_I + _multiply(square, int32(ALPHA_D)))
    denominator = nest.keep("denominator", _multiply(p, inner) + _multiply(q, int32(ALPHA_F)))
    inverse = nest.keep("inverse", _one_over_one_plus(nest, denominator))
    fraction = nest.keep("fraction", rounding_divide_by_pot(numerator, DIFFERENCE_BITS + 1))
    return times_power(nest, _multiply(power, int32(LOG_2)) + _multiply(fraction, inverse), 1)


def _one_over_one_plus(nest: Nest, a: Any) -> Any:
    """Return 1 / (1 + a) for a in [0, 1]: three steps of Newton's method, as in gemmlowp."""
    # Half of a plus half of 1: their sum would need 32 bits besides the sign.
    half = nest.keep("half", (a >> 1) + (1 << 30))
    first, slope = fixed_point.RECIPROCAL_START
    x = nest.local("x", _multiply(half, int32(slope)) + first)
    with nest.loop("step", 3):
        error = nest.let("error", int32(1 << 29) - _multiply(half, x[0]))
        correction = times_power(nest, _multiply(x[0], error), 2)
        nest.store(x, (0,), x[0] + correction)
    return times_power(nest, x[0], 1)
