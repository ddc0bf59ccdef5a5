"""Operators that reorder elements: TRANSPOSE, SLICE, MIRROR_PAD, SPACE_TO_DEPTH, …"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from ethosgen.aot.operators import operator
from ethosgen.aot.operators.blocks import constant, padded_before
from ethosgen.aot.operators.copy import DTYPES
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import BAD_VALUE, Nest, int32, number, pointwise
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

Place = Callable[[Sequence[Any]], Sequence[Any]]
"""Maps an output index to an input index."""


def _moved(source: Tensor, target: Tensor, place: Place) -> Kernel:
    nest = Nest()
    x = nest.read("input", source)
    y = nest.write("output", target)
    with nest.loops(target.shape or (1,)) as index:
        nest.store(y, index, x[tuple(place(index))])
    return nest.kernel()


# ---- orders of dimensions ------------------------------------------------------------------------


@operator("TRANSPOSE", dtypes=("int8", "int16", "float32"))
@operator("TRANSPOSE", dtypes=("int32", "int64", "bool"), litert=True)
def transpose(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Change the order of the dimensions."""
    source, permutation, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    order = [int(axis) % len(source.shape) for axis in constant(permutation, "permutation")]
    return _permuted(source, target, source.shape, order)


@operator("SPACE_TO_DEPTH", dtypes=("int8", "float32"))
@operator("SPACE_TO_DEPTH", dtypes=("int32", "int64"), litert=True)
def space_to_depth(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Move blocks of rows and columns to the depth dimension."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    block = int(op.options["block_size"])
    batch, height, width, _ = target.shape
    shape = (batch, height, block, width, block, source.shape[3])
    return _permuted(source, target, shape, [0, 1, 3, 2, 4, 5])


@operator("DEPTH_TO_SPACE", dtypes=("int8", "float32"))
@operator("DEPTH_TO_SPACE", dtypes=("int32", "int64"), litert=True)
def depth_to_space(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Move the depth dimension to blocks of rows and columns."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    block = int(op.options["block_size"])
    batch, height, width, _ = source.shape
    shape = (batch, height, width, block, block, target.shape[3])
    return _permuted(source, target, shape, [0, 1, 3, 2, 4, 5])


def _permuted(source: Tensor, target: Tensor, shape: Sequence[int], order: Sequence[int]) -> Kernel:
    """Return a kernel that permutes the reshaped input; trailing fixed dimensions are one copy."""
    kept = len(order)
    while kept and order[kept - 1] == kept - 1:
        kept -= 1
    inner = math.prod(shape[kept:])
    nest = Nest()
    x = nest.read("input", source, (*shape[:kept], inner))
    y = nest.write("output", target, (*(shape[axis] for axis in order[:kept]), inner))
    with nest.loops([shape[axis] for axis in order[:kept]]) as index:
        place = [index[order.index(axis)] for axis in range(kept)]
        nest.copy(y, (*index, 0), x, (*place, 0), inner)
    return nest.kernel()


@operator("REVERSE_V2", dtypes=DTYPES)
def reverse(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Reverse the order along axes."""
    source, axes, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    reversed_axes = {int(axis) % len(source.shape) for axis in constant(axes, "axes").flat}

    def place(index: Sequence[Any]) -> list[Any]:
        return [
            size - 1 - i if axis in reversed_axes else i
            for axis, (i, size) in enumerate(zip(index, source.shape, strict=True))
        ]

    return _moved(source, target, place)


@operator("BROADCAST_TO", dtypes=DTYPES)
def broadcast_to(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Repeat along dimensions of size 1."""
    return pointwise([tensors[op.inputs[0]]], tensors[op.outputs[0]], lambda _, a: a)


@operator("TILE", dtypes=DTYPES, litert=True)
def tile(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Repeat along every dimension."""
    source, _, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    fits = len(source.shape) == len(target.shape)
    if not fits or any(
        whole % size for size, whole in zip(source.shape, target.shape, strict=True)
    ):
        raise UnsupportedError(
            f"its output of shape {list(target.shape)} is not a multiple of its input of "
            f"{list(source.shape)}"
        )
    shape = [
        n
        for size, whole in zip(source.shape, target.shape, strict=True)
        for n in (whole // size, size)
    ]
    nest = Nest()
    x = nest.read("input", source)
    y = nest.write("output", target, shape)
    with nest.loops(shape) as index:
        nest.store(y, index, x[tuple(index[1::2])])
    return nest.kernel()


# ---- slices and mirrors --------------------------------------------------------------------------


@operator("SLICE", dtypes=("int8", "int16", "int32", "float32", "bool"))
@operator("SLICE", dtypes=("int64",), litert=True)
def slice_(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy a slice; its start can be computed, and a start out of bounds fails the inference."""
    source, begin, _, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    nest = Nest()
    x = nest.read("input", source)
    if begin.data is not None:
        starts = [int(start) for start in begin.array().flat]
    else:
        begins = nest.read("begin", begin)
        starts = [nest.let("start", int32(begins[axis])) for axis in range(len(source.shape))]
        for start, size, whole in zip(starts, target.shape, source.shape, strict=True):
            with nest.when(tirx.any(start < 0, start > whole - size)):
                nest.fail(BAD_VALUE)
    y = nest.write("output", target)
    with nest.loops(target.shape[:-1]) as index:
        place = [i + start for i, start in zip(index, starts, strict=False)]
        nest.copy(y, (*index, 0), x, (*place, starts[-1]), target.shape[-1])
    return nest.kernel()


@operator("STRIDED_SLICE", dtypes=("int8", "int16", "int32", "float32", "bool"))
@operator("STRIDED_SLICE", dtypes=("int64",), litert=True)
def strided_slice(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy every n-th element of a slice (internal/strided_slice_logic.h)."""
    source, *limits, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    begin, _, steps = ([int(v) for v in constant(t, "limits").flat] for t in limits)
    for refused in ("ellipsis_mask", "new_axis_mask", "offset"):
        if op.options.get(refused):
            raise UnsupportedError(f"its {refused} is not covered")
    masked, dropped = (int(op.options.get(f"{n}_mask", 0)) for n in ("begin", "shrink_axis"))
    starts = [
        _first(start, step, size, bool(masked >> axis & 1))
        for axis, (start, step, size) in enumerate(zip(begin, steps, source.shape, strict=True))
    ]

    def place(index: Sequence[Any]) -> list[Any]:
        rest = iter(index if target.shape else ())
        return [
            start if dropped >> axis & 1 else start + next(rest) * step
            for axis, (start, step) in enumerate(zip(starts, steps, strict=True))
        ]

    return _moved(source, target, place)


def _first(start: int, step: int, size: int, masked: bool) -> int:
    """Return the first index of a strided slice along one axis."""
    if masked:
        return 0 if step > 0 else size - 1
    start += size if start < 0 else 0
    return min(max(start, 0), size) if step > 0 else min(max(start, -1), size - 1)


@operator("DYNAMIC_UPDATE_SLICE", dtypes=("int8", "int16", "int32", "float32"))
@operator("DYNAMIC_UPDATE_SLICE", dtypes=("int64", "bool"), litert=True)
def dynamic_update_slice(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the input and overwrite a slice of it, whose start is clamped to the input."""
    source, part, begin, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if begin.dtype not in ("int32", "int64") or part.dtype != source.dtype:
        raise UnsupportedError(f"its update is {part.dtype} and its start {begin.dtype}")
    sizes = zip(source.shape, part.shape, strict=False)
    if len(source.shape) != len(part.shape) or any(size > whole for whole, size in sizes):
        raise UnsupportedError(f"its update of {part.shape} does not fit into {source.shape}")
    nest = Nest()
    x = nest.read("input", source, (source.elements,))
    update = nest.read("update", part)
    begins = nest.read("begin", begin)
    y = nest.write("output", target)
    nest.copy(y, (0,) * len(target.shape), x, (0,), target.elements)
    starts = []
    for axis, (whole, size) in enumerate(zip(target.shape, part.shape, strict=True)):
        most = tirx.const(whole - size, begin.dtype)
        start = nest.let("start", begins[axis])
        low = nest.let("low", tirx.max(start, tirx.const(0, begin.dtype)))
        starts.append(nest.let("inside", int32(nest.let("inside", tirx.min(low, most)))))
    with nest.loops(part.shape[:-1]) as index:
        place = [i + start for i, start in zip(index, starts, strict=False)]
        nest.copy(y, (*place, starts[-1]), update, (*index, 0), part.shape[-1])
    return nest.kernel()


@operator("MIRROR_PAD", dtypes=("int8", "float32"))
@operator("MIRROR_PAD", dtypes=("int16", "int32", "int64", "bool"), litert=True)
def mirror_pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Pad with the mirrored input; REFLECT does not repeat the edge."""
    source, paddings, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    before = padded_before(source, paddings, target)
    skip = 1 if op.options.get("mode", "REFLECT") == "REFLECT" else 0

    def place(index: Sequence[Any]) -> list[Any]:
        return [
            _mirrored(i, start, size, total, skip)
            for i, start, size, total in zip(index, before, source.shape, target.shape, strict=True)
        ]

    return _moved(source, target, place)


def _mirrored(i: Any, start: int, size: int, total: int, skip: int) -> Any:
    if size == total:
        return i
    inside = i - start
    left = start + skip - 1 - i
    right = 2 * size - 1 - skip - inside
    return tirx.Select(inside < 0, left, tirx.Select(inside >= size, right, inside))


# ---- blocks and batches --------------------------------------------------------------------------


@operator("SPACE_TO_BATCH_ND", dtypes=("int8", "float32"))
@operator("SPACE_TO_BATCH_ND", dtypes=("int16", "int32", "int64", "bool"), litert=True)
def space_to_batch(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Pad, and move the positions within a block to the batch dimension."""
    source, block, paddings, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    (rows, columns), (top, left) = _blocks(block), _starts(paddings)
    batch, height, width, depth = _image(source.shape)
    point = zero_point_of(target) if target.dtype == "int8" else 0
    nest = Nest()
    x = nest.read("input", source, (batch, height, width, depth))
    _, out_height, out_width, _ = _image(target.shape)
    y = nest.write("output", target, (rows, columns, batch, out_height, out_width, depth))
    with nest.loops((rows, columns, batch, out_height, out_width, depth)) as index:
        dy, dx, b, oy, ox, c = index
        nest.store(y, index, number(point, target.dtype))
        iy = nest.let("iy", int32(oy * rows + dy - top))
        ix = nest.let("ix", int32(ox * columns + dx - left))
        with nest.when(tirx.all(iy >= 0, iy < height, ix >= 0, ix < width)):
            nest.store(y, index, x[b, iy, ix, c])
    return nest.kernel()


@operator("BATCH_TO_SPACE_ND", dtypes=("int8", "float32"))
@operator("BATCH_TO_SPACE_ND", dtypes=("int16", "int32", "int64", "bool"), litert=True)
def batch_to_space(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Move the positions within a block out of the batch dimension, and crop."""
    source, block, crops, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    (rows, columns), (top, left) = _blocks(block), _starts(crops)
    _, height, width, depth = _image(source.shape)
    batch, out_height, out_width, _ = _image(target.shape)
    nest = Nest()
    x = nest.read("input", source, (rows, columns, batch, height, width, depth))
    y = nest.write("output", target, (batch, out_height, out_width, depth))
    with nest.loops((batch, out_height, out_width)) as (b, oy, ox):
        iy, ix = nest.let("iy", int32(oy + top)), nest.let("ix", int32(ox + left))
        dy, dx = tirx.truncmod(iy, rows), tirx.truncmod(ix, columns)
        place = (dy, dx, b, tirx.truncdiv(iy, rows), tirx.truncdiv(ix, columns), 0)
        nest.copy(y, (b, oy, ox, 0), x, place, depth)
    return nest.kernel()


def _image(shape: Sequence[int]) -> tuple[int, ...]:
    """Return an NHWC shape; TFLite treats a missing width as 1."""
    return tuple(shape) if len(shape) == 4 else (shape[0], shape[1], 1, shape[2])


def _blocks(block: Tensor) -> tuple[int, int]:
    sizes = [int(size) for size in constant(block, "block shape").flat]
    return sizes[0], sizes[1] if len(sizes) > 1 else 1


def _starts(paddings: Tensor) -> tuple[int, int]:
    pairs = constant(paddings, "paddings").reshape(-1, 2)
    return int(pairs[0][0]), int(pairs[1][0]) if len(pairs) > 1 else 0
