"""TOSA's operators with TFLite's arithmetic: those that move, select, reduce and compare.

They use TFLite's kernels. TOSA's attributes are constant inputs of TFLite's operators, which are
added here; kernels read them when they are built, never in the firmware.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.operators import LIBRARY_ULP, Build, operator
from ethosgen.aot.operators.blocks import concatenation, pad
from ethosgen.aot.operators.copy import copy
from ethosgen.aot.operators.rearrangement import reverse, slice_, tile, transpose
from ethosgen.aot.operators.reduction import arg_extremum, extremum, reduce_truth
from ethosgen.aot.operators.selection import gather, select
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import BAD_VALUE, Nest, number
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

MOVED = ("int8", "int16", "int32", "float32", "bool")
ROWS = ("int8", "int16", "int32", "float32")


def _built(
    build: Build,
    code: str,
    op: Operator,
    tensors: Sequence[Tensor],
    operands: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
    kept: int = 1,
) -> Kernel:
    """Return TFLite's kernel of an operator's first `kept` inputs and of constant operands."""
    known = unrounded(tensors)
    inputs = list(op.inputs[:kept])
    for values in operands:
        array = np.array(values, np.int32)
        inputs.append(len(known))
        known.append(Tensor(len(known), "operand", array.shape, "int32", None, array.tobytes()))
    return build(replace(op, code=code, inputs=tuple(inputs), options=options or {}), known)


def unrounded(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors for operators that move values, which already fit float16."""
    return [replace(tensor, is_half=False) if tensor.is_half else tensor for tensor in tensors]


@operator("TOSA_CONCAT", dtypes=MOVED)
def _concat(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    count = len(op.inputs)
    return _built(concatenation, "CONCATENATION", op, tensors, (), op.options, count)


@operator("TOSA_PAD", dtypes=MOVED)
def _pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    source, padding, value = (tensors[i] for i in op.inputs)
    if not source.shape:
        return copy(op, tensors)
    pairs = replace(padding, shape=(len(source.shape), 2))
    known = [pairs if tensor.index == padding.index else tensor for tensor in unrounded(tensors)]
    return pad(replace(op, code="PADV2", inputs=(source.index, padding.index, value.index)), known)


@operator("TOSA_REVERSE", dtypes=MOVED)
def _reverse(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(reverse, "REVERSE_V2", op, tensors, [[op.options["axis"]]])


@operator("TOSA_SLICE", dtypes=MOVED)
def _slice(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    if not tensors[op.inputs[0]].shape:
        return copy(op, tensors)
    operands = [tensors[i].array() for i in op.inputs[1:]]
    return _built(slice_, "SLICE", op, tensors, operands)


@operator("TOSA_TILE", dtypes=MOVED)
def _tile(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(tile, "TILE", op, tensors, [tensors[op.inputs[1]].array()])


@operator("TOSA_TRANSPOSE", dtypes=MOVED)
def _transpose(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(transpose, "TRANSPOSE", op, tensors, [op.options["perms"]])


@operator("TOSA_SELECT", dtypes=MOVED, decided_by=1)
def _select(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(select, "SELECT_V2", op, tensors, kept=3)


@operator("TOSA_GATHER", dtypes=ROWS)
def _gather(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(gather, "GATHER", op, tensors, (), {"axis": 1, "batch_dims": 1}, 2)


@operator("TOSA_REDUCE_ALL", "TOSA_REDUCE_ANY", dtypes=("bool",))
def _truth(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    code = op.code.removeprefix("TOSA_")
    return _built(reduce_truth, code, op, tensors, [[op.options["axis"]]])


@operator("TOSA_REDUCE_MAX", "TOSA_REDUCE_MIN", dtypes=("int8", "int16", "int32"))
def _extremum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    code = op.code.removeprefix("TOSA_")
    return _built(extremum, code, op, tensors, [[op.options["axis"]]])


@operator("TOSA_ARGMAX", dtypes=("int8", "int16"))
def _argmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    return _built(arg_extremum, "ARG_MAX", op, tensors, [[op.options["axis"]]])


@operator("TOSA_REDUCE_SUM", dtypes=("float32",), ulp=LIBRARY_ULP)
@operator("TOSA_REDUCE_SUM", dtypes=("int32",))
def reduce_sum(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add in int32 or float32 along an axis."""
    return reduced(op, tensors, 0, lambda _, total, x: total + x)


def reduced(op: Operator, tensors: Sequence[Tensor], start: float, combine: Any) -> Kernel:
    """Return a kernel that combines the elements along an axis, in order, after `start`."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    axis = int(op.options["axis"])
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loops(target.shape) as index:
        total = nest.local("total", number(start, source.dtype))
        with nest.loop("k", source.shape[axis]) as k:
            element = nest.let("element", x[(*index[:axis], k, *index[axis + 1 :])])
            nest.store(total, (0,), combine(nest, nest.let("so_far", total[0]), element))
        nest.store(y, index, total[0])
    return nest.kernel()


@operator("TOSA_SCATTER", dtypes=ROWS)
def scatter(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the values and overwrite rows by index; one out of range fails the inference."""
    values, indices, source = (tensors[i] for i in op.inputs)
    target = replace(tensors[op.outputs[0]], is_half=False)
    batches, rows, depth = target.shape
    nest = Nest()
    first = nest.read("values", values, (values.elements,))
    places = nest.read("indices", indices)
    x = nest.read("input", source)
    y = nest.write("output", target)
    nest.copy(y, (0, 0, 0), first, (0,), target.elements)
    with nest.loops((batches, source.shape[1])) as (batch, i):
        place = nest.let("place", places[batch, i])
        with nest.when(tirx.any(place < 0, place >= rows)):
            nest.fail(BAD_VALUE)
        nest.copy(y, (batch, place, 0), x, (batch, i, 0), depth)
    return nest.kernel()
