"""TOSA's pools and RESIZE."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.operators.tosa.floats import extremum, least
from ethosgen.aot.operators.tosa.layers import axes, cast, centred, point_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32, number, real
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

DTYPES = ("int8", "int16")


@operator("TOSA_MAX_POOL2D", dtypes=(*DTYPES, "float32"))
def max_pool2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Return the maximum of each window's part inside the input."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    vertical, horizontal = axes(op, source.shape[1:3], op.options["kernel"], target.shape[1:3])
    is_float = source.dtype == "float32"
    start = least(op) if is_float else limits(source.dtype)[0]
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loops(target.shape) as (n, oy, ox, c):
        held = nest.local("held", number(start, source.dtype))
        with (
            vertical.taps_inside(nest, "dy", oy) as (_, iy),
            horizontal.taps_inside(nest, "dx", ox) as (_, ix),
        ):
            value, so_far = nest.let("value", x[n, iy, ix, c]), nest.let("so_far", held[0])
            plain = tirx.Select(value > so_far, value, so_far)
            best = extremum(op, so_far, value) if is_float else plain
            nest.store(held, (0,), best)
        nest.store(y, (n, oy, ox, c), held[0])
    return nest.kernel()


@operator("TOSA_AVG_POOL2D", dtypes=DTYPES)
def avg_pool2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average each window's part inside the input, by a rounded reciprocal of its size."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    before, after = (point_of(tensors[i]) for i in op.inputs[1:])
    kernel = op.options["kernel"]
    vertical, horizontal = axes(op, source.shape[1:3], kernel, target.shape[1:3])
    pairs = [reciprocal(max(count, 1)) for count in range(kernel[0] * kernel[1] + 1)]
    nest = Nest()
    x = nest.read("input", source)
    mantissas = nest.table("multipliers", np.array([m for m, _ in pairs], np.int32))
    shifts = nest.table("shifts", np.array([s for _, s in pairs], np.uint8))
    y = nest.write("output", target)
    with nest.loops(target.shape) as (n, oy, ox, c):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        count = nest.let("count", int32((bottom - top) * (right - left)))
        total = nest.local("total", int32(0))
        with (
            vertical.taps_inside(nest, "dy", oy) as (_, iy),
            horizontal.taps_inside(nest, "dx", ox) as (_, ix),
        ):
            nest.store(total, (0,), total[0] + centred(x[n, iy, ix, c], before))
        places = nest.let("places", tirx.Cast("int64", shifts[count]))
        product = tirx.Cast("int64", total[0]) * tirx.Cast("int64", mantissas[count])
        unit = tirx.const(1, "int64")
        mean = nest.let("mean", int32((product + (unit << (places - unit))) >> places) + after)
        nest.store(y, (n, oy, ox, c), clamp(mean, *limits(target.dtype)))
    return nest.kernel()


@operator("TOSA_AVG_POOL2D", dtypes=("float32",), ulp=LIBRARY_ULP)
def avg_pool2d_of_floats(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average each window's part inside the input."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    vertical, horizontal = axes(op, source.shape[1:3], op.options["kernel"], target.shape[1:3])
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loops(target.shape) as (n, oy, ox, c):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        count = nest.let("count", tirx.Cast("float32", int32((bottom - top) * (right - left))))
        total = nest.local("total", number(0, "float32"))
        with (
            vertical.taps_inside(nest, "dy", oy) as (_, iy),
            horizontal.taps_inside(nest, "dx", ox) as (_, ix),
        ):
            nest.store(total, (0,), total[0] + x[n, iy, ix, c])
        nest.store(y, (n, oy, ox, c), tirx.div(total[0], count))
    return nest.kernel()


def reciprocal(count: int) -> tuple[int, int]:
    """Return 1 / count as multiplier and right shift (TOSA's reciprocal_scale)."""
    more = (count - 1).bit_length()
    return (((1 << 30) + 1) << more) // count, 30 + more


@operator("TOSA_RESIZE", dtypes=("float32",), ulp=LIBRARY_ULP)
@operator("TOSA_RESIZE", dtypes=DTYPES)
def resize(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Interpolate between four inputs, by integers in units of the scale, or take the nearest."""
    source, scale, offset, _ = (tensors[i] for i in op.inputs)
    target = tensors[op.outputs[0]]
    up = [int(scale.array()[2 * i]) for i in (0, 1)]
    down = [int(scale.array()[2 * i + 1]) for i in (0, 1)]
    tables = [
        _places(target.shape[i + 1], source.shape[i + 1], up[i], down[i], int(offset.array()[i]))
        for i in (0, 1)
    ]
    units: list[Any] = [*up]
    if op.options["mode"] == "BILINEAR" and target.dtype == "float32":
        for table, unit in zip(tables, up, strict=True):
            table[2] = (table[2] / unit).astype(np.float32)
        units = [real(1.0), real(1.0)]
    nest = Nest()
    x = nest.read("input", source)
    (top, below, dy), (left, right, dx) = (
        [nest.table(f"{name}{what}", values) for what, values in zip("abc", columns, strict=True)]
        for name, columns in zip(("row_", "column_"), tables, strict=True)
    )
    y = nest.write("output", target)
    with nest.loops(target.shape) as (n, oy, ox, c):
        if op.options["mode"] == "NEAREST":
            row = tirx.Select(dy[oy] * 2 >= up[0], below[oy], top[oy])
            column = tirx.Select(dx[ox] * 2 >= up[1], right[ox], left[ox])
            nest.store(y, (n, oy, ox, c), x[n, row, column, c])
        else:
            corners = [
                _weighted(target.dtype, x[n, row, column, c], a, b)
                for row, a in ((top[oy], units[0] - dy[oy]), (below[oy], dy[oy]))
                for column, b in ((left[ox], units[1] - dx[ox]), (right[ox], dx[ox]))
            ]
            nest.store(y, (n, oy, ox, c), corners[0] + corners[1] + corners[2] + corners[3])
    return nest.kernel()


def _weighted(dtype: str, value: Any, row: Any, column: Any) -> Any:
    return cast(dtype, centred(value, 0)) * cast(dtype, row) * cast(dtype, column)


def _places(count: int, size: int, up: int, down: int, offset: int) -> list[np.ndarray[Any, Any]]:
    """Return, for each output, both inputs and the distance from the first, in units of 1/up."""
    at = np.arange(count) * down + offset
    first = at // up
    return [
        np.clip(first, 0, size - 1).astype(np.int32),
        np.clip(first + 1, 0, size - 1).astype(np.int32),
        (at - first * up).astype(np.int32),
    ]
