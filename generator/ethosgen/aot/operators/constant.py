"""Operators with a nearly constant output: SHAPE, FILL, ZEROS_LIKE, BROADCAST_ARGS."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.operators import operator
from ethosgen.aot.operators.copy import DTYPES
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, number, pointwise
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor


@operator("SHAPE", dtypes=DTYPES)
def shape(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Store the input's shape, which is known at compile time."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype not in ("int32", "int64"):
        raise UnsupportedError(f"its output is {target.dtype}; only int32 and int64 are covered")
    nest = Nest()
    sizes = nest.table("shape", np.array(source.shape, target.dtype))
    y = nest.write("output", target)
    nest.copy(y, (0,), sizes, (0,), len(source.shape))
    return nest.kernel()


@operator("FILL", dtypes=("int8", "int32", "float32"), decided_by=1)
@operator("FILL", dtypes=("uint8", "int16", "int64", "bool"), litert=True)
def fill(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Store one value in every element."""
    if tensors[op.inputs[1]].elements != 1:
        raise UnsupportedError(f"its value has the shape {list(tensors[op.inputs[1]].shape)}")
    return pointwise([tensors[op.inputs[1]]], tensors[op.outputs[0]], lambda _, a: a)


@operator("ZEROS_LIKE", dtypes=("int8", "int32", "int64", "float32"))
def zeros_like(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Zeros."""
    target = tensors[op.outputs[0]]
    return pointwise([], target, lambda _: number(0, target.dtype))


@operator("BROADCAST_ARGS", dtypes=("int32", "int64"))
def broadcast_args(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Store the shape to which two shapes broadcast."""
    first, second, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    ranks = [len(tensor.shape) for tensor in (first, second, target)]
    if ranks != [1, 1, 1] or max(first.elements, second.elements) != target.elements:
        raise UnsupportedError("its inputs and output are not shapes that broadcast")
    nest = Nest()
    views = [nest.read("first_input", first), nest.read("second_input", second)]
    y = nest.write("output", target)
    for place in range(target.elements):
        sizes = [
            view[place - target.elements + tensor.elements]
            for view, tensor in zip(views, (first, second), strict=True)
            if place >= target.elements - tensor.elements
        ]
        if len(sizes) == 1:
            nest.store(y, (place,), sizes[0])
            continue
        a, b = (nest.let(name, size) for name, size in zip("ab", sizes, strict=True))
        nest.store(y, (place,), tirx.Select(tirx.EQ(a, number(1, first.dtype)), b, a))
    return nest.kernel()
