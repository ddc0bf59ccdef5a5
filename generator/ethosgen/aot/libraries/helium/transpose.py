"""TRANSPOSE of elements of 8, 16 and 32 bits: transposed matrices, or copied rows.

Joints and divisions are copied rows, too.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ethosgen.aot.libraries.framework.copies import RowCopies
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.helium.cost import LANES
from ethosgen.aot.libraries.helium.shapes import Transpose
from ethosgen.aot.operators.blocks import constant
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, strides
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

TRANSPOSE = frozenset({"ethosgen_transpose.c"})
MOST_STEP = 9362
"""Bytes from a row to the next, so that 8 rows are within an offset of 16 bits."""
LEAST_BLOCK = 16
"""Least elements of a matrix, or bytes of a row, for which a call is faster."""
COPY_ROWS = "ethosgen_transpose_rows"
LEAST_COPIED = 13
"""Bytes of a row from which GCC copies single words in a loop."""
ROW, VECTOR = 8.0, 4.0
"""Cycles of a row that is copied, and of each of its vectors."""
NARROW = 4.0, 0.75
"""The same of a shorter row, and of each of its bytes."""


def keeps_rows(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether the last dimension stays the last one: memcpy is as fast without Helium."""
    shape, order = _merged(op, tensors)
    return bool(shape) and order[-1] == len(shape) - 1


@packed("TRANSPOSE", for_helium=keeps_rows)
@packed("TRANSPOSE", dtype="int16", for_helium=keeps_rows)
@packed("TRANSPOSE", dtype="int32", for_helium=keeps_rows)
@packed("TRANSPOSE", dtype="float32", for_helium=keeps_rows)
@packed("TRANSPOSE", dtype="bool", for_helium=keeps_rows)
def transpose(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Transpose the matrix of the last dimensions of input and output, for each index of the
    others.

    Where the last dimension stays the last one, copy its rows.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    shape, order = _merged(op, tensors)
    last = len(shape) - 1
    if last < 1 or source.elements != math.prod(shape):
        return None
    if order[-1] == last:
        return _rows(source, target, shape, order)
    size = np.dtype(source.dtype).itemsize
    turned = [shape[axis] for axis in order]
    ends = (shape[order[-1]], shape[last])
    steps = (strides(shape)[order[-1]] * size, strides(turned)[order.index(last)] * size)
    is_near = size == 4 or max(steps) <= MOST_STEP
    if math.prod(ends) < LEAST_BLOCK or not is_near:
        return None
    block = Transpose(rows=ends[0], columns=ends[1], input_step=steps[0], output_step=steps[1])
    outer = [1 if axis in (last, order[-1]) else shape[axis] for axis in order]
    return _called(f"ethosgen_transpose_{8 * size}", block, (source, target), (shape, order), outer)


def _rows(
    source: Tensor, target: Tensor, shape: Sequence[int], order: Sequence[int]
) -> Kernel | None:
    """Copy the rows of the output's last two dimensions, for each index of the others."""
    size = np.dtype(source.dtype).itemsize
    row = shape[-1] * size
    if len(shape) < 3 or row < LEAST_BLOCK:
        return None
    step = strides(shape)[order[-2]] * size
    block = Transpose(rows=shape[order[-2]], columns=row, input_step=step, output_step=row)
    outer = [1 if axis in order[-2:] else shape[axis] for axis in order]
    return _called(COPY_ROWS, block, (source, target), (shape, order), outer)


def _copied(size: int, _is_aligned: bool) -> float:
    """Return the cycles of a row of bytes."""
    return ROW + VECTOR * pieces(size, LANES)


joined, divided = RowCopies(COPY_ROWS, Transpose, TRANSPOSE, LEAST_COPIED, _copied, NARROW).packs(
    for_helium=True
)


def _called(
    function: str,
    block: Transpose,
    tensors: tuple[Tensor, Tensor],
    sizes: tuple[Sequence[int], Sequence[int]],
    outer: Sequence[int],
) -> Kernel:
    """Return a kernel that calls a function for each block; `sizes` are the shape and the order."""
    shape, order = sizes
    nest = Nest()
    x = nest.read("input", tensors[0], shape)
    y = nest.write("output", tensors[1], [shape[axis] for axis in order])
    numbers = nest.table("shape", block)
    with nest.loops(outer) as index:
        place = [index[order.index(axis)] for axis in range(len(shape))]
        places = tirx.address_of(y[tuple(index)]), tirx.address_of(x[tuple(place)])
        nest.call(function, *places, numbers.data)
    return nest.kernel(TRANSPOSE)


def _merged(op: Operator, tensors: Sequence[Tensor]) -> tuple[list[int], list[int]]:
    source, permutation = (tensors[i] for i in op.inputs)
    axes = constant(permutation, "permutation").reshape(-1)
    return merged(source.shape, [int(axis) % len(source.shape) for axis in axes])


def merged(shape: Sequence[int], order: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return a shape and an order with the same effect and as few dimensions as possible."""
    kept = [axis for axis in order if shape[axis] != 1]
    ranks = {axis: rank for rank, axis in enumerate(sorted(kept))}
    runs = [[axis] for axis in kept[:1]]
    for before, axis in pairwise(kept):
        if ranks[axis] == ranks[before] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    places = sorted(range(len(runs)), key=lambda place: ranks[runs[place][0]])
    sizes = [math.prod(shape[axis] for axis in runs[place]) for place in places]
    return sizes, [places.index(place) for place in range(len(runs))]
