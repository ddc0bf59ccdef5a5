# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Operators that move elements and change none: CONCATENATION, PAD."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, operator
from ethosgen.aot.operators.quantization import zero_point_of
from ethosgen.aot.primfunc import pointer
from ethosgen.errors import UnsupportedError
from ethosgen.model import ABSENT, Operator, Tensor


@operator("CONCATENATION", dtypes=("int8",))
def concatenation(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the inputs side by side along an axis; like TFLite Micro, without rescaling."""
    target = tensors[op.outputs[0]]
    if op.options.get("fused_activation_function", "NONE") != "NONE":
        raise UnsupportedError("a fused activation is not covered")
    axis = int(op.options["axis"]) % len(target.shape)
    rows = math.prod(target.shape[:axis])
    sources = [tensors[i] for i in op.inputs]
    widths = [math.prod(source.shape[axis:]) for source in sources]
    output = pointer("output", "int8")
    inputs = [pointer(f"input{i}", "int8") for i in range(len(sources))]
    row = tirx.Var("row", "int32")
    y = tirx.decl_buffer((rows, sum(widths)), "int8", "y", data=output)
    declarations, copies, start = [tirx.DeclBuffer(y, data=output)], [], 0
    for variable, width in zip(inputs, widths, strict=True):
        x = tirx.decl_buffer((rows, width), "int8", "x", data=variable)
        declarations.append(tirx.DeclBuffer(x, data=variable))
        places = [tirx.address_of(y[row, start]), tirx.address_of(x[row, 0])]
        copies.append(tirx.Evaluate(tirx.call_extern("void", "memcpy", *places, width)))
        start += width
    loop = tirx.For(row, 0, rows, tirx.ForKind.SERIAL, tirx.stmt_seq(*copies))
    body = tirx.stmt_seq(*declarations, loop)
    return Kernel(tirx.PrimFunc([*inputs, output], body), op.inputs)


@operator("PAD", "PADV2", dtypes=("int8",))
def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Fill with the zero point, or with PADV2's constant, and copy the input inside."""
    source, paddings, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if paddings.data is None:
        raise UnsupportedError("its paddings are computed at run time")
    before = [int(pair[0]) for pair in paddings.array()]
    filler = _filler(op, tensors, target)
    total = target.elements

    @T.prim_func(private=True)
    def function(input: T.handle("int8"), output: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        T.evaluate(T.call_extern("void", "memset", output, filler, total))
        for i in T.grid(*source.shape):
            y[_shifted(i, before)] = _at(x, i)

    return Kernel(function, (source.index,))


def _shifted(index: Sequence[Any], before: Sequence[int]) -> tuple[Any, ...]:
    return tuple(i + start for i, start in zip(index, before, strict=True))


def _at(buffer: Any, index: Sequence[Any]) -> Any:
    return buffer[tuple(index)]


def _filler(op: Operator, tensors: Sequence[Tensor], target: Tensor) -> int:
    if len(op.inputs) < 3 or op.inputs[2] == ABSENT:
        return zero_point_of(target)
    value = tensors[op.inputs[2]]
    if value.data is None:
        raise UnsupportedError("its padding value is computed at run time")
    return int(np.ravel(value.array())[0])
