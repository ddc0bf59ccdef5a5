"""SOFTMAX over the last dimension, as in TFLite's reference/softmax.h."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.curve import Function, curve, interpolated
from ethosgen.aot.arithmetic.reciprocal import reciprocal
from ethosgen.aot.cost import per_element
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Array, Nest, call, headroom, int32, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    clamp,
    input_radius,
    limits,
    quantize_multiplier,
    rounding_divide_by_pot,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.tir.quantization import (
    saturating_rounding_doubling_high_mul as multiply,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

DIFFERENCE_BITS = 5
"""Integer bits of a difference from the row's maximum, the argument of exp."""
SUM_BITS = 12
"""Integer bits of a row's sum of exponentials."""


@operator("SOFTMAX", dtypes=("int8",), cycles=per_element(55.0, row=170.0))
def softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up exp(x - max) in a table, sum, and multiply by the sum's reciprocal.

    The reciprocal is gemmlowp's one_over_one_plus_x_for_x_in_0_1.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype not in ("int8", "int16"):
        raise UnsupportedError(
            f"it converts int8 to {target.dtype}; only int8 and int16 are covered"
        )
    low, high = limits(target.dtype)
    spare_bits = 31 - 8 * np.dtype(target.dtype).itemsize
    shape, exponentials = read_softmax(op, tensors)
    nest = Nest()
    x = nest.read("input", source, shape)
    table = nest.table("exponentials", exponentials)
    y = nest.write("output", target, shape)
    with nest.loop("row", shape[0]) as row:
        greatest = _greatest(nest, x, row, shape[1], -128)
        total = nest.local("total", int32(0))
        with nest.loop("i", shape[1]) as i:
            term = nest.let("term", table[greatest[0] - int32(x[row, i])])
            nest.store(total, (0,), total[0] + rounding_divide_by_pot(term, SUM_BITS))
        inverse, shift = reciprocal(nest, total[0])
        exponent = nest.keep("exponent", SUM_BITS + spare_bits - 31 + shift)
        with nest.loop("i", shape[1]) as i:
            exponential = table[greatest[0] - int32(x[row, i])]
            share = nest.let("share", multiply(inverse, exponential))
            nest.store(y, (row, i), clamp(_divide(share, exponent) + low, low, high))
    return nest.kernel()


def _greatest(nest: Nest, x: Any, row: Any, length: int, least: int) -> Any:
    """Return a local variable with the greatest element of a row, which is at least `least`."""
    greatest = nest.local("greatest", int32(least))
    with nest.loop("i", length) as i:
        nest.store(greatest, (0,), tirx.max(greatest[0], int32(x[row, i])))
    return greatest


def read_softmax(op: Operator, tensors: Sequence[Tensor]) -> tuple[tuple[int, int], Array]:
    """Return the number of rows, their length, and a table of exponentials of an int8 SOFTMAX."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    _check_output(target, limits(target.dtype)[0])
    return _rows(source, target), _exponentials(_beta(op), scale_of(source))


def _exponentials(beta: float, scale: float) -> np.ndarray[Any, Any]:
    """Return exp(-d) for each distance d from the maximum; 0 where TFLite omits a term."""
    real = min(beta * scale * (1 << (31 - DIFFERENCE_BITS)), float(fixed_point.INT32_MAX))
    multiplier = quantize_multiplier(real)
    if multiplier.shift < 0:
        raise UnsupportedError("its input scale is too small for TFLite's integer SOFTMAX")
    radius = input_radius(DIFFERENCE_BITS, multiplier.shift)
    table = np.zeros(256, np.int32)
    for distance in range(min(radius, 255) + 1):
        argument = fixed_point.multiply(-distance << multiplier.shift, multiplier.mantissa)
        table[distance] = fixed_point.exp_of_negative(argument, DIFFERENCE_BITS)
    return table


def _divide(share: Any, exponent: Any) -> Any:
    """Return a share of the sum divided by 2**exponent.

    TFLite allows exponents up to 31, and its debug build aborts above: if 512 or more elements
    share the sum, each is below half of 1/256, which rounds to 0. TVM's simplifier must know that
    the exponent is not negative; otherwise it drops clamps that are needed.
    """
    return tirx.Select(exponent > 31, int32(0), rounding_divide_by_pot(share, exponent & 31))


def _rows(source: Tensor, target: Tensor) -> tuple[int, int]:
    if source.shape != target.shape or not source.shape:
        raise UnsupportedError(f"its output {target.shape} does not match its input {source.shape}")
    return source.elements // source.shape[-1], source.shape[-1]


def _beta(op: Operator) -> float:
    return float(op.options.get("beta", 1.0))


def _check_output(target: Tensor, zero_point: int, scale: float | None = None) -> None:
    """Refuse an output without the quantization that TFLite Micro requires."""
    steps = 1 << (8 * np.dtype(target.dtype).itemsize)
    wanted = 1 / steps if scale is None else scale
    near = abs(scale_of(target) - wanted) <= 0.001 * wanted
    if not near or zero_point_of(target) != zero_point:
        raise UnsupportedError(
            f"its output must have the scale {wanted} and the zero point {zero_point}"
        )


# ---- int16 ---------------------------------------------------------------------------------------

FARTHEST = 10.0
"""The distance from the maximum at which TFLite sets exp to 0."""


@dataclass(frozen=True)
class SoftmaxS16:
    """The parameters of an int16 SOFTMAX: rows and their length, tables, the factor of inputs."""

    shape: tuple[int, int]
    exponentials: Array
    reciprocals: Array
    multiplier: Multiplier


def read_softmax_s16(op: Operator, tensors: Sequence[Tensor]) -> SoftmaxS16:
    """Return the parameters of an int16 SOFTMAX."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype != "int16" or zero_point_of(source):
        raise UnsupportedError("its input must have the zero point 0, and its output be int16")
    _check_output(target, 0, 1 / 32768)
    return SoftmaxS16(
        _rows(source, target),
        _table(FARTHEST, limits("int16")[1], np.exp),
        _table(1.0, limits("int16")[0], _one_over_one_plus),
        quantize_multiplier(scale_of(source) * _beta(op) / (FARTHEST / 65535.0)),
    )


@operator("SOFTMAX", dtypes=("int16",))
def softmax_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Interpolate exp(x - max) in a table, sum, and interpolate the sum's reciprocal in another.

    The output holds the exponentials, with 15 fraction bits, until they are multiplied.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    parameters = read_softmax_s16(op, tensors)
    shape, multiplier = parameters.shape, parameters.multiplier
    nest = Nest()
    x = nest.read("input", source, shape)
    curve = nest.table("exponentials", parameters.exponentials)
    inverse = nest.table("reciprocals", parameters.reciprocals)
    y = nest.write("output", target, shape)
    with nest.loop("row", shape[0]) as row:
        greatest = _greatest(nest, x, row, shape[1], -32768)
        total = nest.local("total", int32(0))
        with nest.loop("i", shape[1]) as i:
            scaled = nest.rescale(int32(x[row, i]) - greatest[0], multiplier)
            place = nest.keep("place", clamp(scaled + 32767, -32768, 32767))
            term = nest.keep("term", interpolated(curve, place))
            nest.store(y, (row, i), term)
            nest.store(total, (0,), total[0] + term)
        places = nest.keep("places", headroom(nest, total[0]))
        mantissa = tirx.Cast("int64", total[0] << places) + tirx.const(1 << 13, "int64")
        above_one = int32(mantissa >> tirx.const(14, "int64")) - (1 << 15) - (1 << 16)
        at = nest.keep("at", clamp(above_one, -32768, 32767))
        scale = nest.keep("scale", interpolated(inverse, at))
        shift = nest.keep("shift", 30 - places)
        with nest.loop("i", shape[1]) as i:
            share = int32(y[row, i]) * scale + (int32(1) << (shift - 1))
            nest.store(y, (row, i), clamp(nest.let("share", share >> shift), 0, 32767))
    return nest.kernel()


def _table(length: float, zero_point: int, function: Function) -> Array:
    """Return the table of a function over `length`, with 15 fraction bits."""
    single = np.float32
    return curve(single(length) / single(65535), zero_point, single(2) / single(65535), function)


def _one_over_one_plus(x: Array) -> Array:
    return np.asarray(np.float32(1) / (np.float32(1) + x.astype(np.float32)), np.float64)


# ---- float32 -------------------------------------------------------------------------------------


@operator("SOFTMAX", dtypes=("float32",), ulp=LIBRARY_ULP)
def softmax_of_reals(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute exp((x - max) * beta) divided by its sum over the row."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype != "float32":
        raise UnsupportedError(f"it converts float32 to {target.dtype}; both must be equal")
    shape, beta = _rows(source, target), float(np.float32(_beta(op)))
    nest = Nest()
    x, y = nest.read("input", source, shape), nest.write("output", target, shape)
    with nest.loop("row", shape[0]) as row:
        greatest = nest.local("greatest", real(float(np.finfo(np.float32).min)))
        with nest.loop("i", shape[1]) as i:
            value = nest.let("value", x[row, i])
            nest.store(greatest, (0,), tirx.Select(greatest[0] < value, value, greatest[0]))
        total = nest.local("total", real(0.0))
        with nest.loop("i", shape[1]) as i:
            distance = x[row, i] - greatest[0]
            term = nest.let("term", call("expf", distance * real(beta)))
            nest.store(y, (row, i), term)
            nest.store(total, (0,), total[0] + term)
        with nest.loop("i", shape[1]) as i:
            nest.store(y, (row, i), tirx.div(y[row, i], total[0]))
    return nest.kernel()
