"""BATCH_MATMUL of int8.

The kernel reads the rows of the first matrix and the columns of the second as vectors. What the
network stores otherwise is turned first, once for each product.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tvm import tirx

from ethosgen.aot.arithmetic.quantization import limits, zero_point_of
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.loops.nest import Nest, broadcast
from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.matmul import full_shape, product_sizes
from ethosgen.aot.packed import packed
from ethosgen.values.network import Operator, Tensor

PRODUCT = frozenset({"ethosgen_product.c"})
MOST_TURNED = 8192
"""Columns of a matrix that can be turned: 8 rows of them are within an offset of 16 bits."""


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = _merged(op, first, second, target)
    vectors, eights, blocks = -(-depth // 16), -(-depth // 8), -(-columns // 4)
    turned = 0.0 if op.options.get("adj_y") else 20 + columns * (10 + 4.0 * eights)
    if op.options.get("adj_x"):
        turned += 20 + rows * (10 + 4.0 * eights)
    rows_alone = rows * (16 + 3.0 * vectors)
    products = blocks * (100 + 12 * vectors + rows * (26 + 10.0 * vectors))
    return prod(batches) * (60 + turned + rows_alone + products) / max(target.elements, 1)


@packed("BATCH_MATMUL", cycles=estimate, for_helium=True)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if second.dtype != "int8":
        return None
    batches, (rows, columns, depth) = _merged(op, first, second, target)
    (multiplier,) = multipliers_of(first, second, target)
    if multiplier.shift > 0 or target.elements == 0 or max(rows, columns) > MOST_TURNED:
        return None
    numbers = (
        *(rows, depth, columns, zero_point_of(first), zero_point_of(second)),
        *(multiplier.mantissa, multiplier.shift, zero_point_of(target), *limits("int8")),
    )
    leads = [_leading(tensor, batches) for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], rows * depth))
    b = nest.read("second", second, (*leads[1], columns * depth))
    shape = nest.table("shape", np.array(numbers, np.int32))
    y = nest.write("output", target, (*batches, rows * columns))
    terms = nest.workspace("terms", "int32", (rows,))
    with nest.loops(batches) as batch:
        left, right = (
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        )
        if op.options.get("adj_x"):
            left = _turned(nest, "first_turned", left, (depth, rows))
        if not op.options.get("adj_y"):
            right = _turned(nest, "second_turned", right, (depth, columns))
        place = tirx.address_of(y[(*batch, 0)])
        nest.call("ethosgen_product_s8", place, left, right, terms.data, shape.data)
    return nest.kernel(PRODUCT)


def _turned(nest: Nest, name: str, matrix: Any, shape: tuple[int, int]) -> Any:
    """Return the place of a matrix's columns, one after another."""
    if 1 in shape:
        return matrix
    turned = nest.workspace(name, "int8", (prod(shape),))
    nest.call("ethosgen_turn_s8", turned.data, matrix, *shape)
    return turned.data


def _merged(
    op: Operator, first: Tensor, second: Tensor, target: Tensor
) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Return the batches, and rows, columns and depth.

    If all batches have the same second matrix, their rows are those of one product.
    """
    batches, (rows, columns, depth) = product_sizes(op, first, second, target)
    is_one = prod(second.shape[:-2]) == 1 and not op.options.get("adj_x")
    return (
        ((), (rows * prod(batches), columns, depth))
        if is_one
        else (batches, (rows, columns, depth))
    )


def _leading(tensor: Tensor, batches: tuple[int, ...]) -> tuple[int, ...]:
    """Return as many leading dimensions as there are batches."""
    return full_shape(tensor, len(batches))[:-2] if batches else ()
