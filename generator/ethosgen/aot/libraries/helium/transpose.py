"""TRANSPOSE of elements of 8, 16 and 32 bits whose last dimension moves: matrices, turned."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.helium.shapes import Transpose
from ethosgen.aot.operators.blocks import constant
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, strides
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

TRANSPOSE = frozenset({"ethosgen_transpose.c"})
MOST_STEP = 9362
"""Bytes from a row to the next, so that 8 rows are within an offset of 16 bits."""
LEAST_BLOCK = 16
"""Least elements of a matrix for which a call is faster."""


@packed("TRANSPOSE")
@packed("TRANSPOSE", dtype="int16")
@packed("TRANSPOSE", dtype="int32")
@packed("TRANSPOSE", dtype="float32")
@packed("TRANSPOSE", dtype="bool")
def transpose(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Turn the matrix of the last dimensions of input and output, for each of the other places."""
    source, permutation, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    axes = constant(permutation, "permutation").reshape(-1)
    shape, order = merged(source.shape, [int(axis) % len(source.shape) for axis in axes])
    last = len(shape) - 1
    if last < 1 or order[-1] == last:
        return None
    size = np.dtype(source.dtype).itemsize
    turned = [shape[axis] for axis in order]
    ends = (shape[order[-1]], shape[last])
    steps = (strides(shape)[order[-1]] * size, strides(turned)[order.index(last)] * size)
    is_near = size == 4 or max(steps) <= MOST_STEP
    if source.elements != math.prod(turned) or math.prod(ends) < LEAST_BLOCK or not is_near:
        return None
    block = Transpose(rows=ends[0], columns=ends[1], input_step=steps[0], output_step=steps[1])
    nest = Nest()
    x = nest.read("input", source, shape)
    y = nest.write("output", target, turned)
    numbers = nest.table("shape", block)
    outer = [1 if axis in (last, order[-1]) else shape[axis] for axis in order]
    with nest.loops(outer) as index:
        place = [index[order.index(axis)] for axis in range(len(shape))]
        places = tirx.address_of(y[tuple(index)]), tirx.address_of(x[tuple(place)])
        nest.call(f"ethosgen_transpose_{8 * size}", *places, numbers.data)
    return nest.kernel(TRANSPOSE)


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
