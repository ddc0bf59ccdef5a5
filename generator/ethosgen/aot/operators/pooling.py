"""Pools over NHWC, as in TFLite's reference/pooling.h and reference_integer_ops/pooling.h."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.cost import per_tap
from ethosgen.aot.loops.window import Axis, pool_bounds, pool_window
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Nest, call, int32, limited, real
from ethosgen.aot.tir.quantization import clamp, limits, plain_range
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

QUANTIZED = ("int8", "int16")
POOL = per_tap(9.0, 4.0)

Combine = Callable[[Any, Any], Any]
"""Returns the new accumulator from the old one and an input element."""
Finish = Callable[[Nest, Any, Any], Any]
"""Returns the output from the nest, the accumulator and the number of elements in it."""


@operator("AVERAGE_POOL_2D", dtypes=QUANTIZED, cycles=POOL)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average the part of the window inside the input, rounding ties away from zero.

    LiteRT averages stored uint8 values, so their ties round up.
    """
    bounds = pool_bounds(op, tensors)

    def finish(nest: Nest, total: Any, count: Any) -> Any:
        half = tirx.truncdiv(int32(count), int32(2))
        if op.options.get(UNSIGNED):
            stored = tirx.truncdiv(total + count * 128 + half, count) - 128
            return clamp(nest.let("average", stored), *bounds)
        nudge = tirx.Select(total > 0, half, 0 - half)
        return clamp(nest.let("average", tirx.truncdiv(total + nudge, count)), *bounds)

    return _pool(op, tensors, int32(0), lambda total, x: total + int32(x), finish)


@operator("MAX_POOL_2D", dtypes=QUANTIZED, cycles=POOL)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the part of the window inside the input."""
    bounds = pool_bounds(op, tensors)
    least = int32(limits(tensors[op.inputs[0]].dtype)[0])
    return _pool(
        op, tensors, least, lambda most, x: tirx.max(most, int32(x)),
        lambda _nest, most, _count: clamp(most, *bounds),
    )  # fmt: skip


@operator("AVERAGE_POOL_2D", "L2_POOL_2D", dtypes=("float32",))
def average_pool_2d_of_reals(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute the mean (L2: root mean square) of the part of the window inside the input."""
    is_l2 = op.code == "L2_POOL_2D"

    def combine(total: Any, x: Any) -> Any:
        return total + (x * x if is_l2 else x)

    def finish(nest: Nest, total: Any, count: Any) -> Any:
        mean = tirx.div(total, tirx.Cast("float32", int32(count)))
        return _bounded(nest, op, call("sqrtf", mean) if is_l2 else mean)

    return _pool(op, tensors, real(0.0), combine, finish)


@operator("MAX_POOL_2D", dtypes=("float32",))
def max_pool_2d_of_reals(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the part of the window inside the input."""
    return _pool(
        op, tensors, real(float(np.finfo(np.float32).min)),
        lambda most, x: tirx.Select(most < x, x, most),
        lambda nest, most, _count: _bounded(nest, op, most),
    )  # fmt: skip


def _pool(
    op: Operator, tensors: Sequence[Tensor], start: Any, combine: Combine, finish: Finish
) -> Kernel:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.dtype != target.dtype:
        raise UnsupportedError(f"it converts {source.dtype} to {target.dtype}; both must be equal")
    vertical, horizontal = pool_window(op, tensors)
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loops(target.shape) as (n, oy, ox, c):
        held = nest.local("held", start)
        with (
            vertical.taps_inside(nest, "dy", oy) as (_, iy),
            horizontal.taps_inside(nest, "dx", ox) as (_, ix),
        ):
            value = nest.let("value", x[n, iy, ix, c])
            nest.store(held, (0,), combine(nest.let("so_far", held[0]), value))
        count = _count(vertical, oy, horizontal, ox)
        nest.store(y, (n, oy, ox, c), finish(nest, nest.let("result", held[0]), count))
    return nest.kernel()


def _count(vertical: Axis, oy: Any, horizontal: Axis, ox: Any) -> Any:
    """Return the number of elements in the part of the window inside the input."""
    (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
    return (bottom - top) * (right - left)


def _bounded(nest: Nest, op: Operator, value: Any) -> Any:
    low, high = plain_range(op, "float32")
    return limited(nest.let("real", value), real(low), real(high))
