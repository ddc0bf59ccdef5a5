"""BATCH_MATMUL as products of matrices."""

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any

from tvm import tirx

from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.operators.matmul import full_shape, product_sizes
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast
from ethosgen.aot.tir.quantization import limits, zero_point_of
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

PRODUCT = frozenset({"ethosgen_product.c"})
BLOCK = 4
"""Columns that the kernel multiplies at a time."""
MOST_TURNED = 8192
"""Bytes of a row in a matrix that can be turned: 8 rows of them are within an offset of 16 bits."""


class OutputRange(Struct, name="ethosgen_output"):
    """The zero point and the bounds of a layer's outputs."""

    zero_point: int
    low: int
    high: int


class MatrixProduct(Struct, name="ethosgen_product"):
    """The product of two matrices from run time: `rows` times `columns` vectors of `depth` bytes.

    Byte k of column c of the second is at c * column_step + k * step.
    """

    rows: int
    depth: int
    columns: int
    column_step: int
    step: Annotated[int, "at most 8192"]
    first_zero_point: int
    second_zero_point: int
    mantissa: int
    shift: Annotated[int, "0 or negative"]
    output: OutputRange


def merged_sizes(
    op: Operator, first: Tensor, second: Tensor, target: Tensor
) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Return the batches, and rows, columns and depth.

    If all batches have the same second matrix, their rows are those of one product.
    """
    batches, (rows, columns, depth) = product_sizes(op, first, second, target)
    if prod(second.shape[:-2]) > 1 or op.options.get("adj_x"):
        return batches, (rows, columns, depth)
    return (), (rows * prod(batches), columns, depth)


def leading(tensor: Tensor, batches: tuple[int, ...]) -> tuple[int, ...]:
    """Return as many leading dimensions as there are batches."""
    return full_shape(tensor, len(batches))[:-2] if batches else ()


def product_kernel(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if second.dtype != "int8":
        return None
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    (multiplier,) = multipliers_of(first, second, target)
    steps = (depth, 1) if op.options.get("adj_y") else (1, columns)
    widest = max(steps[1], rows if op.options.get("adj_x") else 1)
    if multiplier.shift > 0 or min(target.elements, depth) == 0 or widest > MOST_TURNED:
        return None
    low, high = limits("int8")
    product = MatrixProduct(
        rows=rows,
        depth=depth,
        columns=columns,
        column_step=steps[0],
        step=steps[1],
        first_zero_point=zero_point_of(first),
        second_zero_point=zero_point_of(second),
        mantissa=multiplier.mantissa,
        shift=multiplier.shift,
        output=OutputRange(zero_point=zero_point_of(target), low=low, high=high),
    )
    leads = [leading(tensor, batches) for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], rows * depth))
    b = nest.read("second", second, (*leads[1], columns * depth))
    shape = nest.table("shape", product)
    y = nest.write("output", target, (*batches, rows * columns))
    terms = nest.workspace("terms", "int32", (rows,))
    # With steps of 1 there is nothing to turn.
    turned = y.data if steps[1] == 1 else nest.workspace("turned", "int8", (BLOCK * depth,)).data
    with nest.loops(batches) as batch:
        left, right = (
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        )
        if op.options.get("adj_x"):
            left = turned_matrix(nest, "first_turned", left, (depth, rows))
        place = tirx.address_of(y[(*batch, 0)])
        nest.call("ethosgen_product_s8", place, left, right, terms.data, turned, shape.data)
    return nest.kernel(PRODUCT)


def turned_matrix(
    nest: Nest, name: str, matrix: Any, shape: tuple[int, int], dtype: str = "int8"
) -> Any:
    """Return the place of a matrix's columns, one after another; `dtype` is int8 or int16."""
    if 1 in shape:
        return matrix
    turned = nest.workspace(name, dtype, (prod(shape),))
    suffix = {"int8": "s8", "int16": "s16"}[dtype]
    nest.call(f"ethosgen_turn_{suffix}", turned.data, matrix, *shape)
    return turned.data
