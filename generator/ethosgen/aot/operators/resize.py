"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR over NHWC; indices are computed at compile time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Array, Nest, int32, number, real
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

_SINGLE = np.float32
ROW_OF = "ethosgen_row_of"
"""An option that ethosgen adds: this operator computes one row of a picture, from the input rows
that this one needs. Its value is the number of rows of the whole input and of the whole output."""


def _options(op: Operator) -> tuple[bool, bool]:
    return bool(op.options.get("align_corners")), bool(op.options.get("half_pixel_centers"))


def resize_ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return input and output; UnsupportedError if TFLite Micro would read past the input.

    TFLite Micro uses the output's batches and channels, LiteRT the input's.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    for place, axis in ((0, "batches"), (3, "channels")):
        if target.shape[place] > source.shape[place]:
            raise UnsupportedError(
                f"its output {list(target.shape)} has more {axis} than its input "
                f"{list(source.shape)}, so TFLite Micro reads past its end"
            )
    return source, target


# ---- nearest neighbour ---------------------------------------------------------------------------


@operator("RESIZE_NEAREST_NEIGHBOR", dtypes=("int8", "int16", "float32"))
def resize_nearest_neighbor(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the nearest pixel (reference/resize_nearest_neighbor.h)."""
    source, target = resize_ends(op, tensors)
    batch, height, width, depth = target.shape
    nest = Nest()
    x = nest.read("input", source)
    rows = nest.table("rows", nearest_places(op, source.shape[1], height))
    columns = nest.table("columns", nearest_places(op, source.shape[2], width))
    y = nest.write("output", target)
    with nest.loops((batch, height, width)) as (b, oy, ox):
        place = b, int32(rows[oy]), int32(columns[ox]), 0
        nest.copy(y, (b, oy, ox, 0), x, place, depth)
    return nest.kernel()


def nearest_places(op: Operator, before: int, after: int) -> Array:
    """Return the input index for each output index along one axis, in single precision."""
    align, half_pixel = _options(op)
    if align and after > 1:
        scale = _SINGLE(before - 1) / _SINGLE(after - 1)
    else:
        scale = _SINGLE(before) / _SINGLE(after)
    places = (np.arange(after, dtype=_SINGLE) + _SINGLE(0.5 if half_pixel else 0)) * scale
    rounded = np.floor(places + _SINGLE(0.5)) if align else np.floor(places)
    return np.asarray(np.clip(rounded, 0, before - 1), np.int16)


# ---- bilinear ------------------------------------------------------------------------------------


@operator("RESIZE_BILINEAR", dtypes=("int8", "float32"))
@operator("RESIZE_BILINEAR", dtypes=("int16",), litert=True)
def resize_bilinear(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Interpolate between four pixels (reference/resize_bilinear.h); int8 with 10-bit fractions.

    LiteRT interpolates uint8 in single precision, adds 0.5 and truncates.
    """
    source, target = resize_ends(op, tensors)
    batch, height, width, depth = target.shape
    was_unsigned = bool(op.options.get(UNSIGNED))
    single = source.dtype == "float32" or was_unsigned
    nest = Nest()
    x = nest.read("input", source)
    down_places = bilinear_places(op, source, *op.options.get(ROW_OF, (source.shape[1], height)))
    is_row = ROW_OF in op.options
    if is_row:
        low = down_places.pop("low")
        down_places["high"] -= low
    rows = _tables(nest, "row", down_places)
    columns = _tables(nest, "column", bilinear_places(op, source, source.shape[2], width))
    y = nest.write("output", target)
    with nest.loops((batch, height, width)) as (b, oy, ox):
        bounds = [_bound(nest, table[oy]) for table in rows]
        top, bottom, down = (int32(0), *bounds) if is_row else bounds
        left, right, across = (_bound(nest, table[ox]) for table in columns)
        with nest.loop("c", depth) as c:
            corners = [x[b, i, j, c] for j in (left, right) for i in (top, bottom)]
            if was_unsigned:
                corners = [tirx.Cast("float32", int32(corner) + 128) for corner in corners]
            value = _mixed(nest, corners, down, across, single)
            if was_unsigned:
                value = tirx.Cast("int32", value + real(0.5)) - 128
            nest.store(y, (b, oy, ox, c), value)
    return replace(nest.kernel(), row_tables=len(rows) if is_row else 0)


def _tables(nest: Nest, axis: str, places: Mapping[str, Array]) -> list[Any]:
    return [nest.table(f"{axis}_{what}", values) for what, values in places.items()]


def _bound(nest: Nest, value: Any) -> Any:
    short = str(value.ty.dtype) == "int16"
    return nest.let("place", int32(value) if short else value)


def _mixed(nest: Nest, corners: Sequence[Any], down: Any, across: Any, single: bool) -> Any:
    """Return the weighted mean of the corners (top left, bottom left, top right, bottom right)."""
    whole = real(1.0) if single else int32(1 << 10)
    up, back = whole - down, whole - across
    weights = [(up, back), (down, back), (up, across), (down, across)]
    if single:
        terms = [corner * v * h for corner, (v, h) in zip(corners, weights, strict=True)]
        return terms[0] + terms[1] + terms[2] + terms[3]
    # 8 bits plus two 10-bit fractions fit into 32 bits; 16 bits plus two fractions do not.
    wide = "int64" if str(corners[0].ty.dtype) == "int16" else "int32"
    products = [
        tirx.Cast(wide, corner) * tirx.Cast(wide, v * h)
        for corner, (v, h) in zip(corners, weights, strict=True)
    ]
    total = nest.let("total", sum(products[1:], products[0]))
    half, nothing = number(1 << 19, wide), number(0, wide)
    return tirx.truncdiv(
        total + tirx.Select(total > nothing, half, nothing - half), number(1 << 20, wide)
    )


def bilinear_places(op: Operator, source: Tensor, before: int, after: int) -> dict[str, Array]:
    """Return lower index, upper index and the fraction between them, as the type needs them.

    UnsupportedError if the rounded scale leads past the input, whose end TFLite does not check.
    """
    is_single = source.dtype == "float32" or bool(op.options.get(UNSIGNED))
    places = (single_places if is_single else _fixed_places)(op, before, after)
    if int(places["low"].max()) >= before:
        raise UnsupportedError(
            f"it enlarges {before} to {after} with a rounded scale that leads past the input, so "
            "TFLite reads other memory"
        )
    return places


def single_places(op: Operator, before: int, after: int) -> dict[str, Array]:
    """Return lower index, upper index and the fraction between them, in single precision."""
    align, half_pixel = _options(op)
    scale = _SINGLE(before) / _SINGLE(after)
    if align and after > 1:
        scale = _SINGLE(before - 1) / _SINGLE(after - 1)
    half = _SINGLE(0.5 if half_pixel else 0)
    places = (np.arange(after, dtype=_SINGLE) + half) * scale - half
    lower = np.maximum(np.floor(places), 0).astype(np.int16)
    upper = np.minimum(np.ceil(places), before - 1).astype(np.int16)
    return {"low": lower, "high": upper, "fraction": places - lower.astype(_SINGLE)}


def _fixed_places(op: Operator, before: int, after: int) -> dict[str, Array]:
    """Return lower index, upper index and the fraction between them, in units of 1 / 1024."""
    align, half_pixel = _options(op)
    scale = ((before << 10) + after // 2) // after
    if align and after > 1:
        scale = (((before - 1) << 10) + (after - 1) // 2) // (after - 1)
    places = np.arange(after, dtype=np.int64) * scale
    if half_pixel:
        places = places + scale // 2 - (1 << 9)
    lower = np.maximum(np.trunc(places / (1 << 10)), 0).astype(np.int16)
    upper = np.minimum(np.trunc((places + 1023) / (1 << 10)), before - 1).astype(np.int16)
    fraction = (places - (lower.astype(np.int64) << 10)).astype(np.int32)
    return {"low": lower, "high": upper, "fraction": fraction}
