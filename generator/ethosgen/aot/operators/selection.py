"""Operators that select elements by values: SELECT_V2, GATHER, SCATTER_ND, EMBEDDING_LOOKUP, …"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.aot.operators import operator
from ethosgen.aot.operators.copy import DTYPES
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import (
    BAD_VALUE,
    Array,
    Nest,
    int32,
    number,
    pointwise,
    real,
    strides,
)
from ethosgen.aot.tir.quantization import scale_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Operator, Tensor

_INDICES = ("int16", "int32", "int64")
"""Types of the indices of GATHER and GATHER_ND; TFLite Micro has only int32."""


@operator("SELECT_V2", dtypes=("int8", "int16", "float32"), decided_by=1)
@operator("SELECT_V2", dtypes=("uint8", "int32", "int64", "bool"), litert=True)
@operator("SELECT", dtypes=DTYPES, litert=True, decided_by=1)
def select(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy a where the condition is true, else b; SELECT applies a condition vector to rows."""
    condition, first, second = (tensors[i] for i in op.inputs)
    target = tensors[op.outputs[0]]
    if condition.dtype != "bool" or not first.dtype == second.dtype == target.dtype:
        raise UnsupportedError(
            f"its inputs are {condition.dtype}, {first.dtype} and {second.dtype}; only a bool and "
            "two of the same type are covered"
        )
    if op.code == "SELECT" and len(condition.shape) == 1 < len(target.shape):
        condition = replace(condition, shape=condition.shape + (1,) * (len(target.shape) - 1))
    return pointwise((condition, first, second), target, lambda _, c, a, b: tirx.Select(c, a, b))


@operator("GATHER", dtypes=("int8", "float32"))
@operator("GATHER", dtypes=("int16", "int32", "int64", "bool"), litert=True)
def gather(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy slices along an axis by index; an index out of range fails the inference."""
    source, indices, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    rank = len(source.shape)
    axis = int(op.options.get("axis", 0)) % rank
    batch_dims = int(op.options.get("batch_dims", 0))
    if batch_dims < 0:
        batch_dims += len(indices.shape)
    batches = math.prod(source.shape[:batch_dims])
    outer = math.prod(source.shape[batch_dims:axis])
    size, inner = source.shape[axis], math.prod(source.shape[axis + 1 :])
    count = math.prod(indices.shape[batch_dims:])
    _check_indices(indices, size, _INDICES)
    nest = Nest()
    x = nest.read("input", source, (batches, outer, size, inner))
    places = nest.read("indices", indices, (batches, count))
    y = nest.write("output", target, (batches, outer, count, inner))
    with nest.loops((batches, outer, count)) as (batch, row, i):
        place = _checked(nest, places[batch, i], indices, size)
        nest.copy(y, (batch, row, i, 0), x, (batch, row, place, 0), inner)
    return nest.kernel()


@operator("GATHER_ND", dtypes=("int8", "float32"))
@operator("GATHER_ND", dtypes=("int16", "int32", "int64", "bool"), litert=True)
def gather_nd(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy slices by multi-dimensional indices; an index out of range fails the inference.

    TFLite Micro checks only the flat offset: in a 2 x 5 tensor it treats (0, 7) as (1, 2).
    """
    source, indices, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    depth = indices.shape[-1]
    count, inner = indices.elements // depth, math.prod(source.shape[depth:])
    steps = strides(source.shape)[:depth]
    _need_dtype(indices, _INDICES)
    if indices.data is not None:
        for axis, column in enumerate(indices.array().reshape(-1, depth).T):
            _check_range(column, source.shape[axis])
    nest = Nest()
    x = nest.read("input", source, (source.elements,))
    places = nest.read("indices", indices, (count, depth))
    y = nest.write("output", target, (count, inner))
    with nest.loop("i", count) as i:
        start: Any = 0
        for axis, step in enumerate(steps):
            place = _checked(nest, places[i, axis], indices, source.shape[axis])
            start = place * step + start
        nest.copy(y, (i, 0), x, (start,), inner)
    return nest.kernel()


@operator(
    "SCATTER_ND",
    dtypes=("int8", "uint8", "int32", "int64", "float32", "bool"),
    litert=True,
    decided_by=1,
)
def scatter_nd(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add slices to zeros at multi-dimensional indices; one out of range fails the inference.

    Integers wrap; bools combine by OR (reference_ops.h, ScatterNd).
    """
    indices, updates, _, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    depth = indices.shape[-1] if indices.shape else 0
    slices = (*indices.shape[:-1], *target.shape[depth:])
    if not 0 < depth <= len(target.shape) or updates.shape != slices:
        raise UnsupportedError(
            f"its updates of shape {list(updates.shape)} are not slices of its output of shape "
            f"{list(target.shape)} for indices of shape {list(indices.shape)}"
        )
    _need_dtype(indices)
    if indices.data is not None:
        for axis, column in enumerate(indices.array().reshape(-1, depth).T):
            _check_range(column, target.shape[axis])
    count, inner = indices.elements // depth, math.prod(target.shape[depth:])
    steps = strides(target.shape)[:depth]
    nest = Nest()
    places = nest.read("indices", indices, (count, depth))
    x = nest.read("updates", updates, (count, inner))
    y = nest.write("output", target, (target.elements,))
    with nest.loop("i", target.elements) as i:
        nest.store(y, (i,), number(0, target.dtype))
    with nest.loop("i", count) as i:
        start: Any = 0
        for axis, step in enumerate(steps):
            place = _checked(nest, places[i, axis], indices, target.shape[axis])
            start = place * step + start
        first = nest.let("start", int32(start))
        with nest.loop("j", inner) as j:
            nest.store(y, (first + j,), _wrapping_sum(y[first + j], x[i, j], target.dtype))
    return nest.kernel()


def _wrapping_sum(a: Any, b: Any, dtype: str) -> Any:
    """Return a + b; signed integers are added as unsigned, whose overflow C defines."""
    if dtype == "bool":
        return tirx.any(a, b)
    if dtype in ("int32", "int64"):
        unsigned = f"u{dtype}"
        return tirx.Cast(dtype, tirx.Cast(unsigned, a) + tirx.Cast(unsigned, b))
    return a + b if dtype == "float32" else int32(a) + int32(b)


@operator("EMBEDDING_LOOKUP", dtypes=("int8", "float32"), decided_by=1)
def embedding_lookup(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Copy rows, or dequantize int8 rows; an index out of range fails the inference."""
    indices, source, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    rows, columns = source.shape[0], math.prod(source.shape[1:])
    count = indices.elements
    _check_indices(indices, rows)
    nest = Nest()
    places = nest.read("indices", indices, (count,))
    x = nest.read("input", source, (rows, columns))
    y = nest.write("output", target, (count, columns))
    with nest.loop("i", count) as i:
        row = _checked(nest, places[i], indices, rows)
        if source.dtype == target.dtype:
            nest.copy(y, (i, 0), x, (row, 0), columns)
        else:
            scale = real(scale_of(source))
            with nest.loop("j", columns) as j:
                nest.store(y, (i, j), scale * tirx.Cast("float32", x[row, j]))
    return nest.kernel()


def _need_dtype(indices: Tensor, dtypes: Sequence[str] = ("int32",)) -> None:
    if indices.dtype not in dtypes:
        raise UnsupportedError(f"its indices are {indices.dtype}; covered: {', '.join(dtypes)}")


def _check_indices(indices: Tensor, size: int, dtypes: Sequence[str] = ("int32",)) -> None:
    _need_dtype(indices, dtypes)
    if indices.data is None:
        return
    _check_range(np.ravel(indices.array()), size)


def _check_range(values: Array, size: int) -> None:
    if values.size and not 0 <= values.min() <= values.max() < size:
        raise UnsupportedError(f"its indices exceed the {counted(size, 'available place')}")


def _checked(nest: Nest, place: Any, indices: Tensor, size: int) -> Any:
    """Bind an index as int32, with a range check at run time if it is not constant."""
    bound = nest.let("place", place if indices.dtype == "int64" else int32(place))
    if indices.data is None:
        with nest.when(tirx.any(bound < 0, bound >= size)):
            nest.fail(BAD_VALUE)
    return int32(bound)
