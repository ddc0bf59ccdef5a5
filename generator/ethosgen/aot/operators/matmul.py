"""BATCH_MATMUL, as in TFLite's reference/batch_matmul.h."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.cost import per_depth
from ethosgen.aot.loops.layer import less, litert_multipliers, multipliers_of
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast, int32, number
from ethosgen.aot.tir.quantization import (
    clamp,
    limits,
    rescale_int64,
    scale_of,
    shorten,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

SUMS = {"int8": "int32", "int16": "int64", "float32": "float32"}
"""The accumulator type by the first input's type."""

CYCLES = per_depth({"int8": 6.6, "int16": 6.0, "float32": 6.0}, other=6.0, output=29.0)
"""Least squares over what was counted (evidence/choice.md): 4.2 to 7.4 for each product."""


@operator("BATCH_MATMUL", dtypes=tuple(SUMS), cycles=CYCLES)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply matrices in the last two dimensions; the leading dimensions broadcast.

    adj_x and adj_y mean that the first or second matrix is stored transposed. Either input can be
    a constant.
    """
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = product_sizes(op, first, second, target)
    nest, kind = Nest(), SUMS[first.dtype]
    a, b = (
        nest.read(name, tensor, full_shape(tensor, len(batches)))
        for name, tensor in (("first", first), ("second", second))
    )
    y = nest.write("output", target, (*batches, rows, columns))
    with nest.loops((*batches, rows, columns)) as (*batch, row, column):
        total = nest.local("total", number(0, kind))
        with nest.loop("i", depth) as i:
            left = a[(*broadcast(batch, a.shape[:-2]), *_turned(op, "adj_x", row, i))]
            right = b[(*broadcast(batch, b.shape[:-2]), *_turned(op, "adj_y", i, column))]
            if kind != "float32":
                left = less(int32(left), zero_point_of(first))
                right = less(int32(right), zero_point_of(second))
            product = left * right
            if kind == "int64":
                product = tirx.Cast("int64", product)
            nest.store(total, (0,), total[0] + product)
        value = _output(nest, total[0], first, second, target)
        nest.store(y, (*batch, row, column), value)
    return nest.kernel()


def _turned(op: Operator, option: str, row: Any, column: Any) -> tuple[Any, Any]:
    return (column, row) if op.options.get(option) else (row, column)


def full_shape(tensor: Tensor, batches: int) -> tuple[int, ...]:
    """Return a shape with `batches` leading dimensions before the last two."""
    return (1,) * (batches + 2 - len(tensor.shape)) + tensor.shape


def product_sizes(
    op: Operator, first: Tensor, second: Tensor, target: Tensor
) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Return the batch shape, and rows, columns and depth; UnsupportedError if they mismatch."""
    int16_by_int8 = (first.dtype, second.dtype) == ("int16", "int8")
    if first.dtype != target.dtype or (first.dtype != second.dtype and not int16_by_int8):
        raise UnsupportedError(
            f"its inputs and output are {first.dtype}, {second.dtype} and {target.dtype}; only one "
            "common type, or int16 by int8 to int16, is covered"
        )
    if second.quantization and len(second.quantization.scale) > 1:
        raise UnsupportedError(
            f"'{second.name}' has a scale for each channel, which no interpreter computes here: "
            "LiteRT uses 0, TFLite Micro the first scale for all; quantize it per tensor"
        )
    ends = f"the shapes {first.shape} and {second.shape} do not multiply to {target.shape}"
    if min(len(first.shape), len(second.shape)) < 2:
        raise UnsupportedError(ends)
    rows, depth = _turned(op, "adj_x", *first.shape[-2:])
    same, columns = _turned(op, "adj_y", *second.shape[-2:])
    try:
        batches = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    except ValueError:
        raise UnsupportedError(ends) from None
    if depth != same or target.shape != (*batches, rows, columns):
        raise UnsupportedError(ends)
    return batches, (rows, columns, depth)


def _output(nest: Nest, total: Any, first: Tensor, second: Tensor, target: Tensor) -> Any:
    if target.dtype == "float32":
        return total
    scale_of(second)
    # TFLite Micro lacks int16 by int8 (ethosgen.oracle)
    of_oracle = litert_multipliers if first.dtype != second.dtype else multipliers_of
    (multiplier,) = of_oracle(first, second, target)
    if target.dtype == "int8":
        scaled = nest.rescale(total, multiplier, zero_point_of(target))
        return clamp(scaled, *limits("int8"))
    for tensor in (first, second, target):
        if zero_point_of(tensor):
            raise UnsupportedError(f"int16 '{tensor.name}' has a zero point other than 0")
    return clamp(rescale_int64(total, *shorten(multiplier)), *limits("int16"))
