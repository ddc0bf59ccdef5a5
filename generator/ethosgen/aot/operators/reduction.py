"""Reductions along axes (MEAN, SUM, REDUCE_MAX, ARG_MAX, …) and CUMSUM."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.binary import widened
from ethosgen.aot.cost import per_input_element
from ethosgen.aot.operators import operator
from ethosgen.aot.operators.blocks import constant
from ethosgen.aot.tir import fixed_point
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32, number, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    clamp,
    limits,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import ABSENT, Operator, Tensor

Combine = Any


class _Reduction:
    """A reduction's loops: over the kept axes, and inside over the reduced axes, both in order."""

    def __init__(self, op: Operator, tensors: Sequence[Tensor]) -> None:
        if len(op.inputs) != 2 or ABSENT in op.inputs:  # Vela 4.0.1 drops an input of REDUCE_ANY
            raise UnsupportedError("it has no input that names its axes; compile the network again")
        self.source, axes, self.target = (tensors[i] for i in (*op.inputs, *op.outputs))
        rank = len(self.source.shape)
        chosen = {int(axis) % rank for axis in constant(axes, "axes").flat} if rank else set()
        self.kept = [axis for axis in range(rank) if axis not in chosen]
        self.reduced = sorted(chosen)
        self.count = math.prod(self.source.shape[axis] for axis in self.reduced)

    def kernel(self, start: Any, combine: Combine, finish: Combine) -> Kernel:
        """Return the kernel that combines elements, starting with `start`.

        `combine` gets the nest, the accumulator and an element, `finish` the nest and the
        accumulator.
        """
        shape = self.source.shape
        nest = Nest()
        x = nest.read("input", self.source)
        y = nest.write("output", self.target, [shape[axis] for axis in self.kept])
        with nest.loops([shape[axis] for axis in self.kept]) as outer:
            total = nest.local("total", start)
            with nest.loops([shape[axis] for axis in self.reduced]) as inner:
                place = dict(zip([*self.kept, *self.reduced], [*outer, *inner], strict=True))
                element = nest.let("element", x[tuple(place[axis] for axis in range(len(shape)))])
                nest.store(total, (0,), combine(nest, total[0], element))
            nest.store(y, outer or (0,), finish(nest, total[0]))
        return nest.kernel()


@operator("MEAN", "SUM", dtypes=("int8", "int16"), cycles=per_input_element(5.3))
def mean_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add in 32 bits and rescale; MEAN's multiplier includes the division (reference/reduce.h)."""
    reduction = _Reduction(op, tensors)
    source, target = reduction.source, reduction.target
    multiplier = quantize_multiplier(scale_of(source) / scale_of(target))
    if op.code == "MEAN":
        multiplier = _divided(multiplier, reduction.count)

    def finish(nest: Nest, total: Any) -> Any:
        scaled = nest.rescale(nest.let("sum", total), multiplier, zero_point_of(target))
        return clamp(scaled, *limits(target.dtype))

    # Subtract the zero points first, so that fewer sums overflow.
    start = int32(-zero_point_of(source) * reduction.count)
    return reduction.kernel(start, lambda _, total, x: total + int32(x), finish)


def _divided(multiplier: Multiplier, count: int) -> Multiplier:
    """Return a multiplier divided by an element count, with as many bits as fit."""
    shift = min(count.bit_length() - 1, 32, 31 + multiplier.shift)
    return Multiplier((multiplier.mantissa << shift) // count, multiplier.shift - shift)


@operator("MEAN", "SUM", dtypes=("int32", "int64"), litert=True)
def mean_of_integers(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add stored values in 64 bits and divide, rounding towards 0; an int32 SUM wraps."""
    reduction = _Reduction(op, tensors)
    dtype = reduction.source.dtype
    count = number(reduction.count, "int64")

    def finish(_: Nest, total: Any) -> Any:
        return tirx.Cast(dtype, tirx.truncdiv(total, count) if op.code == "MEAN" else total)

    def combine(_: Nest, total: Any, x: Any) -> Any:
        return total + tirx.Cast("int64", x)

    return reduction.kernel(number(0, "int64"), combine, finish)


@operator("MEAN", "SUM", dtypes=("float32",))
def mean(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add in memory order, then divide."""
    reduction = _Reduction(op, tensors)
    count = real(float(reduction.count))

    def finish(_: Nest, total: Any) -> Any:
        return tirx.div(total, count) if op.code == "MEAN" else total

    return reduction.kernel(real(0.0), lambda _, total, x: x + total, finish)


@operator("REDUCE_MAX", "REDUCE_MIN", dtypes=("int8", "float32"))
@operator("REDUCE_MAX", "REDUCE_MIN", dtypes=("int16", "int32", "int64"), litert=True)
def extremum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the largest or smallest stored element."""
    reduction = _Reduction(op, tensors)
    dtype = reduction.source.dtype
    greatest = op.code == "REDUCE_MAX"
    start = number(_bounds(dtype)[0 if greatest else 1], dtype)

    def combine(_: Nest, best: Any, x: Any) -> Any:
        return tirx.Select(x > best if greatest else x < best, x, best)

    return reduction.kernel(start, combine, lambda _, best: best)


def _bounds(dtype: str) -> tuple[float, float]:
    """Return the smallest and largest number of a type, exact even for 64 bits."""
    if dtype != "float32":
        return limits(dtype)
    info = np.finfo(np.float32)
    return float(info.min), float(info.max)


@operator("REDUCE_ALL", dtypes=("bool",))
@operator("REDUCE_ANY", dtypes=("bool",), litert=True)
def reduce_truth(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute whether all elements, or any, are true."""
    needs_all = op.code == "REDUCE_ALL"

    def combine(_: Nest, so_far: Any, x: Any) -> Any:
        return so_far & int32(x) if needs_all else so_far | int32(x)

    return _Reduction(op, tensors).kernel(
        int32(needs_all), combine, lambda _, total: tirx.NE(total, int32(0))
    )


@operator("ARG_MAX", "ARG_MIN", dtypes=("int8", "float32"))
@operator("ARG_MAX", "ARG_MIN", dtypes=("int32",), litert=True)
def arg_extremum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the index of the first largest or smallest element along an axis.

    Only LiteRT supports int64.
    """
    source, axes, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if target.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"its output is {target.dtype}; only int32 and int64 are covered")
    outer, size, inner = _around(source, int(constant(axes, "axis").flat[0]))
    nest = Nest()
    x = nest.read("input", source, (outer, size, inner))
    y = nest.write("output", target, (outer, inner))
    with nest.loops((outer, inner)) as (row, column):
        best = nest.local("best", x[row, 0, column])
        place = nest.local("place", int32(0))
        with nest.loop("i", size - 1) as turn:
            i = nest.let("at", int32(turn + 1))
            element = nest.let("element", x[row, i, column])
            better = element > best[0] if op.code == "ARG_MAX" else element < best[0]
            with nest.when(better):
                nest.store(best, (0,), element)
                nest.store(place, (0,), i)
        nest.store(y, (row, column), tirx.Cast(target.dtype, place[0]))
    return nest.kernel()


def _around(source: Tensor, axis: int) -> tuple[int, int, int]:
    """Return the numbers of elements before an axis, along it and after it."""
    axis %= len(source.shape)
    return math.prod(source.shape[:axis]), source.shape[axis], math.prod(source.shape[axis + 1 :])


# ---- CUMSUM --------------------------------------------------------------------------------------


@operator("CUMSUM", dtypes=("float32",))
def cumsum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute running sums along an axis."""
    return _running(op, tensors, real(0.0), lambda _, x: x, lambda _, total: total)


@operator("CUMSUM", dtypes=("int8",))
def cumsum_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute running sums in half of the input's scale, starting at minus the zero point."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    half = quantize_multiplier(0.5)
    multiplier = quantize_multiplier(2 * scale_of(source) / ((1 << 20) * scale_of(target)))
    start = fixed_point.multiply(-zero_point_of(source) << 20, half.mantissa)

    def finish(nest: Nest, total: Any) -> Any:
        scaled = nest.rescale(nest.let("sum", total), multiplier, zero_point_of(target))
        return clamp(scaled, *limits("int8"))

    def term(nest: Nest, x: Any) -> Any:
        return nest.rescale(widened(x, source, 20), half)

    return _running(op, tensors, int32(start), term, finish)


def _running(
    op: Operator, tensors: Sequence[Tensor], start: Any, term: Combine, finish: Combine
) -> Kernel:
    source, axes, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    outer, size, inner = _around(source, int(constant(axes, "axis").flat[0]))
    exclusive, backwards = bool(op.options.get("exclusive")), bool(op.options.get("reverse"))
    nest = Nest()
    x = nest.read("input", source, (outer, size, inner))
    y = nest.write("output", target, (outer, size, inner))
    with nest.loops((outer, inner)) as (row, column):
        total = nest.local("total", start)
        with nest.loop("i", size) as turn:
            place = row, (size - 1 - turn if backwards else turn), column
            if exclusive:
                nest.store(y, place, finish(nest, total[0]))
            nest.store(total, (0,), total[0] + term(nest, x[place]))
            if not exclusive:
                nest.store(y, place, finish(nest, total[0]))
    return nest.kernel()
