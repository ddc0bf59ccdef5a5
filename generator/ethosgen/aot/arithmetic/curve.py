"""Functions of quantized tensors as lookup tables computed in single precision (LUTPopulate).

8 bits use a table of all values, 16 bits one of 512 linear segments in which the kernel
interpolates. Formulas are those of LiteRT's kernels/internal/common.h; values beyond int32 saturate
as in its build for x86.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.table import byte_table
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Array, Nest, int32, pointwise
from ethosgen.aot.tir.quantization import limits, scale_of, zero_point_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

Function = Callable[[Array], Array]
"""An elementwise function of float64 arrays."""

STEPS = 512
"""Linear segments of a curve over the int16 range; each covers 128 inputs."""

_single = np.float32


def curve_kernel(op: Operator, tensors: Sequence[Tensor], function: Function) -> Kernel:
    """Return a kernel that applies a function to int8 or int16 by lookup table."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.dtype != target.dtype:
        raise UnsupportedError(f"it converts {source.dtype} to {target.dtype}; both must be equal")
    if source.dtype == "int16":
        return _word_kernel(source, target, function)
    return byte_curve(source, target, function)


def byte_curve(source: Tensor, target: Tensor, function: Function) -> Kernel:
    """Return a kernel that looks a function up in a table of 256 values (LUTPopulateInt8)."""
    scale, before = _single(scale_of(source)), zero_point_of(source)
    inverse = _single(1) / _single(scale_of(target))
    low, high = limits(source.dtype)
    inputs = np.arange(low, high + 1)
    with np.errstate(over="ignore"):
        outputs = _applied(function, scale * (inputs - before).astype(_single)) * inverse
    places = np.clip(
        round_half_away(outputs) + _single(zero_point_of(target)), *limits(target.dtype)
    )
    return byte_table(source, target, lambda q: int(places[q - low]))


def _word_kernel(source: Tensor, target: Tensor, function: Function) -> Kernel:
    if zero_point_of(source) or zero_point_of(target):
        raise UnsupportedError("its input and output are int16 and must have the zero point 0")
    table = curve(_single(scale_of(source)), 0, _single(scale_of(target)), function)
    wraps = bool(np.abs(np.diff(table.astype(np.int32))).max() > limits("int16")[1])

    def formula(nest: Nest, a: Any, values: Any) -> Any:
        return interpolated(values, nest.let("x", int32(a)), wraps)

    return pointwise([source], target, formula, {"curve": table})


def curve(scale: Any, zero_point: int, unit: Any, function: Function) -> Array:
    """Return STEPS + 1 int16 values of a function of int16 (LUTPopulateInt16).

    Its argument is `scale` times the input minus its zero point; values are multiplied by `unit`.
    Both are single precision. TFLite subtracts half of the error between two values from both.
    """
    low, high = limits("int16")
    least, most = scale * _single(low - zero_point), scale * _single(high - zero_point)
    factor = _single(high - low + 1) / (unit * _single(high) - unit * _single(low))
    step = (most - least) / _single(STEPS)
    count = np.arange(STEPS, dtype=_single)
    starts, ends = least + count * step, least + (count + _single(1)) * step
    with np.errstate(invalid="ignore", over="ignore"):
        values = round_half_away(_applied(function, starts) * factor)
        between = round_half_away((_applied(function, ends) * factor + values) / _single(2))
        middles = _applied(function, starts + step / _single(2)) * factor
        bias = round_half_away((between - round_half_away(middles)) / _single(2))
        last = round_half_away(_applied(function, np.array([most], _single)) * factor)
        table = np.concatenate([values - bias, last])
    bounded: Array = np.nan_to_num(np.clip(table, low, high), nan=0.0)
    return bounded.astype(np.int16)


def interpolated(table: Any, x: Any, wraps: bool = False) -> Any:
    """Return a curve's value at an int16 x, as an int32 expression (LUTLookup).

    TFLite keeps the step between two values, and the result, in 16 bits: both wrap around where a
    curve is so steep that the step `wraps`.
    """
    at = (x >> 7) + STEPS // 2
    left = int32(table[at])
    step = int32(table[at + 1]) - left
    if not wraps:
        return left + ((step * (x & 0x7F) + 64) >> 7)
    value = left + ((int32(tirx.Cast("int16", step)) * (x & 0x7F) + 64) >> 7)
    return int32(tirx.Cast("int16", value))


def round_half_away(x: Array) -> Array:
    """Return float32 numbers rounded to nearest, ties away from zero."""
    wide = np.asarray(x, np.float64)
    rounded: Array = np.copysign(np.floor(np.abs(wide) + 0.5), wide)
    return rounded.astype(_single)


def _applied(function: Function, x: Array) -> Array:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        outputs: Array = function(np.asarray(x, np.float64)).astype(_single)
    return outputs
