"""BATCH_MATMUL of int8 and int16.

The kernels read the rows of the first matrix and the columns of the second as vectors. Matrices
that the network stores otherwise are transposed first: int8 columns four at a time, the rest all at
once.
"""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import (
    MOST_TURNED,
    product_kernel,
    read_matrices,
    turned_matrix,
)
from ethosgen.aot.libraries.framework.recurrent import four
from ethosgen.aot.libraries.helium.order import scale_s64
from ethosgen.aot.libraries.helium.shapes import HeliumProductS16
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import shorten, zero_point_of
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

PRODUCT = frozenset({"ethosgen_product_s16.c", "ethosgen_wide.h"})


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    matrices = read_matrices(op, tensors)
    rows, columns = matrices.rows, matrices.columns
    vectors, eights = pieces(matrices.depth, 16), pieces(matrices.depth, 8)
    turned = 0.0 if matrices.has_rows else 20 + columns * (10 + 4.0 * eights)
    if matrices.has_columns:
        turned += 20 + rows * (10 + 4.0 * eights)
    rows_alone = rows * (16 + 3.0 * vectors)
    products = pieces(columns, 4) * (100 + 12 * vectors + rows * (26 + 10.0 * vectors))
    return matrices.each(60 + turned + rows_alone + products)


batch_matmul = packed("BATCH_MATMUL", cycles=estimate, for_helium=True)(product_kernel)


def estimate_s16(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    matrices = read_matrices(op, tensors)
    vectors = pieces(matrices.depth, 8)
    turned = 0.0 if matrices.has_rows else matrices.columns * (10 + 8.0 * vectors)
    if matrices.has_columns:
        turned += matrices.rows * (10 + 8.0 * vectors)
    pairs = pieces(matrices.columns, 2)
    products = matrices.rows * (10 + pairs * (20 + 6.0 * vectors) + 18.0 * matrices.columns)
    return matrices.each(60 + turned + products)


@packed("BATCH_MATMUL", dtype="int16", cycles=estimate_s16, for_helium=True)
def batch_matmul_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call, after transposing those stored otherwise."""
    matrices = read_matrices(op, tensors)
    three = matrices.first, matrices.second, matrices.target
    if matrices.second.dtype != "int16" or any(map(zero_point_of, three)):
        return None
    rows, columns, depth = matrices.rows, matrices.columns, matrices.depth
    if matrices.is_empty or max(rows, columns) > MOST_TURNED:
        return None
    (multiplier,) = multipliers_of(*three)
    scale = four(scale_s64(0, *shorten(multiplier)))
    product = HeliumProductS16(rows=rows, depth=depth, columns=columns, scale=scale)
    nest = Nest()
    with matrices.products(nest, product) as (places, constants):
        place, left, right = places
        if matrices.has_columns:
            left = turned_matrix(nest, "first_turned", left, (depth, rows), "int16")
        if not matrices.has_rows:
            right = turned_matrix(nest, "second_turned", right, (depth, columns), "int16")
        nest.call("ethosgen_product_s16", place, left, right, *constants)
    return nest.kernel(PRODUCT)
