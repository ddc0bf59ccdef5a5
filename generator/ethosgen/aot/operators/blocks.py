"""Operators that move blocks of elements: CONCATENATION, PACK, SPLIT, PAD, …"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ethosgen.aot.cost import TwoForms, per_byte, per_element
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Array, Nest, int32, number
from ethosgen.aot.tir.quantization import scale_of, zero_point_of
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import ABSENT, Operator, Tensor

MOVED = ("int8", "int16", "int32", "float32")


# ---- CONCATENATION, PACK, SPLIT ------------------------------------------------------------------


_JOINED = TwoForms(per_byte(1.0, 0.2), per_byte(1.7, 0.2))


@operator("CONCATENATION", dtypes=(*MOVED, "int64", "bool"), cycles=_JOINED)
def concatenation(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the inputs side by side along an axis, without rescaling, as TFLite Micro does."""
    target = tensors[op.outputs[0]]
    sources = [tensors[i] for i in op.inputs]
    axis = joint_axis(op, tensors)
    tables: dict[int, Array] = {}
    if op.options.get(UNSIGNED):
        tables = {i: _rescaled(t, target) for i, t in enumerate(sources) if _differ(t, target)}
    return _joined(sources, target, axis, tables)


def joint_axis(op: Operator, tensors: Sequence[Tensor]) -> int:
    """Return the axis along which a CONCATENATION or a PACK joins its inputs.

    UnsupportedError if their elements are not those of the output.
    """
    target = tensors[op.outputs[0]]
    if op.options.get("fused_activation_function", "NONE") != "NONE":
        raise UnsupportedError("a fused activation is not covered")
    if op.code == "CONCATENATION" and target.dtype == "int8" and not op.options.get(UNSIGNED):
        _need_one_quantization([tensors[i] for i in (*op.inputs, *op.outputs)])
    return int(op.options.get("axis", 0)) % len(target.shape)


def _differ(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors differ in quantization."""
    known = first.quantization and second.quantization
    return bool(known) and (scale_of(first), zero_point_of(first)) != (
        scale_of(second),
        zero_point_of(second),
    )


def _rescaled(source: Tensor, target: Tensor) -> Array:
    """Return the rescaled output for each input byte, in single precision.

    See ConcatenationWithScaling.
    """
    scale = np.float32(scale_of(source)) * (np.float32(1) / np.float32(scale_of(target)))
    bias = np.float32(-128 - zero_point_of(source)) * scale
    scaled = np.arange(256, dtype=np.float32) * scale + bias
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    return np.asarray(np.clip(rounded + zero_point_of(target), -128, 127), np.int8)


def _need_one_quantization(parts: Sequence[Tensor]) -> None:
    known = {(scale_of(t), zero_point_of(t)) for t in parts if t.quantization}
    if len(known) > 1:
        raise UnsupportedError("its inputs and output differ in scale or zero point")


@operator("PACK", dtypes=(*MOVED, "int64"))
def pack(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy the inputs side by side along a new axis."""
    sources, target = [tensors[i] for i in op.inputs], tensors[op.outputs[0]]
    return _joined(sources, target, joint_axis(op, tensors))


def _joined(
    sources: Sequence[Tensor],
    target: Tensor,
    axis: int,
    tables: Mapping[int, Array] = MappingProxyType({}),
) -> Kernel:
    """Return a kernel that joins the inputs along an axis.

    `tables` gives lookup tables for some inputs, by position.
    """
    rows = math.prod(target.shape[:axis])
    widths = [source.elements // rows for source in sources]
    nest = Nest()
    names = [f"input{i}" for i in range(len(sources))]
    views = [
        nest.read(name, source, (rows, width))
        for name, source, width in zip(names, sources, widths, strict=True)
    ]
    looked_up = {i: nest.table(f"table{i}", values) for i, values in tables.items()}
    y = nest.write("output", target, (rows, sum(widths)))
    with nest.loop("row", rows) as row:
        start = 0
        for i, (view, width) in enumerate(zip(views, widths, strict=True)):
            if i in looked_up:
                with nest.loop("i", width) as at:
                    byte = int32(view[row, at]) + 128
                    nest.store(y, (row, start + at), looked_up[i][byte])
            else:
                nest.copy(y, (row, start), view, (row, 0), width)
            start += width
    return nest.kernel()


@operator("SPLIT", dtypes=MOVED, decided_by=1)
@operator("SPLIT_V", "UNPACK", dtypes=MOVED)
@operator("SPLIT", "SPLIT_V", dtypes=("int64",), litert=True)
@operator("UNPACK", dtypes=("bool",), litert=True)
def split(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy adjacent parts along an axis to separate tensors."""
    source, axis = split_along(op, tensors)
    rows = math.prod(source.shape[:axis])
    targets = [tensors[i] for i in op.outputs]
    nest = Nest()
    x = nest.read("input", source, (rows, source.elements // rows))
    views = [
        nest.write(f"output{i}", target, (rows, target.elements // rows))
        for i, target in enumerate(targets)
    ]
    with nest.loop("row", rows) as row:
        start = 0
        for view, target in zip(views, targets, strict=True):
            width = target.elements // rows
            nest.copy(view, (row, 0), x, (row, start), width)
            start += width
    return nest.kernel()


def split_along(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, int]:
    """Return the tensor that a SPLIT, SPLIT_V or UNPACK divides, and the axis."""
    source = tensors[op.inputs[1 if op.code == "SPLIT" else 0]]
    if op.code == "UNPACK":
        axis = int(op.options.get("axis", 0))
    else:
        axis = int(constant(tensors[op.inputs[0 if op.code == "SPLIT" else 2]], "axis").flat[0])
    return source, axis % len(source.shape)


def constant(tensor: Tensor, what: str) -> np.ndarray[Any, Any]:
    """Return an operand's value; UnsupportedError if it is computed at run time."""
    if tensor.data is None:
        raise UnsupportedError(f"its {what} (tensor '{tensor.name}') is computed at run time")
    return tensor.array()


# ---- PAD -----------------------------------------------------------------------------------------


@operator("PAD", "PADV2", dtypes=MOVED, cycles=per_element(1.0, moves=True))
@operator("PAD", "PADV2", dtypes=("int64", "bool"), litert=True)
def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Fill the output with the zero point or PADV2's value, and copy the input into it."""
    source, paddings, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    before = padded_before(source, paddings, target)
    sizes, starts, totals = contiguous(source.shape, before, target.shape)
    has_value = len(op.inputs) > 2 and op.inputs[2] != ABSENT
    nest = Nest()
    x = nest.read("input", source, sizes)
    value = nest.read("value", tensors[op.inputs[2]], (1,))[0] if has_value else _zero(target)
    y = nest.write("output", target, totals)
    with nest.loops(totals) as index:
        nest.store(y, index, value)
    with nest.loops(sizes[:-1]) as index:
        place = [i + start for i, start in zip(index, starts, strict=False)]
        nest.copy(y, (*place, starts[-1]), x, (*index, 0), sizes[-1])
    return nest.kernel()


def padded_before(source: Tensor, paddings: Tensor, target: Tensor) -> list[int]:
    """Return the number of elements of padding before each dimension."""
    pairs = constant(paddings, "paddings")
    fits = pairs.shape == (len(source.shape), 2)
    if not fits or tuple(pairs.sum(1) + source.shape) != target.shape:
        raise UnsupportedError(
            f"its paddings {pairs.tolist()} do not match its input shape {list(source.shape)} and "
            f"its output shape {list(target.shape)}"
        )
    if (pairs < 0).any():
        raise UnsupportedError(f"its paddings {pairs.tolist()} must not be negative")
    return [int(pair[0]) for pair in pairs]


def _zero(target: Tensor) -> Any:
    point = zero_point_of(target) if target.dtype == "int8" else 0
    return number(point, target.dtype)


def contiguous(
    shape: Sequence[int], before: Sequence[int], whole: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return sizes, starts and totals, with unpadded dimensions merged."""
    sizes, starts, totals = [1], [0], [1]
    for size, start, total in zip(shape, before, whole, strict=True):
        if size == total:
            sizes[-1], starts[-1], totals[-1] = (
                sizes[-1] * size,
                starts[-1] * size,
                totals[-1] * size,
            )
        else:
            sizes.append(size)
            starts.append(start)
            totals.append(total)
    return sizes, starts, totals
