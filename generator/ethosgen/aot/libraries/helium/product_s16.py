"""BATCH_MATMUL of int16: the kernel reads the columns of the second matrix as vectors."""

from collections.abc import Sequence
from math import prod

from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import (
    MOST_TURNED,
    leading,
    merged_sizes,
    turned_matrix,
)
from ethosgen.aot.libraries.framework.recurrent import four
from ethosgen.aot.libraries.helium.order import scale_s64
from ethosgen.aot.libraries.helium.shapes_s16 import HeliumProductS16
from ethosgen.aot.loops.layer import multipliers_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast
from ethosgen.aot.tir.quantization import shorten, zero_point_of
from ethosgen.values.network import Operator, Tensor

PRODUCT = frozenset({"ethosgen_product_s16.c", "ethosgen_wide.h"})


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    vectors = -(-depth // 8)
    turned = 0.0 if op.options.get("adj_y") else columns * (10 + 8.0 * vectors)
    if op.options.get("adj_x"):
        turned += rows * (10 + 8.0 * vectors)
    pairs = -(-columns // 2)
    products = rows * (10 + pairs * (20 + 6.0 * vectors) + 18.0 * columns)
    return prod(batches) * (60 + turned + products) / max(target.elements, 1)


@packed("BATCH_MATMUL", dtype="int16", cycles=estimate, for_helium=True)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call, after turning those stored otherwise."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if second.dtype != "int16" or any(map(zero_point_of, (first, second, target))):
        return None
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
    if min(target.elements, depth) == 0 or max(rows, columns) > MOST_TURNED:
        return None
    (multiplier,) = multipliers_of(first, second, target)
    scale = four(scale_s64(0, *shorten(multiplier)))
    product = HeliumProductS16(rows=rows, depth=depth, columns=columns, scale=scale)
    leads = [leading(tensor, batches) for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], rows * depth))
    b = nest.read("second", second, (*leads[1], columns * depth))
    shape = nest.table("shape", product)
    y = nest.write("output", target, (*batches, rows * columns))
    with nest.loops(batches) as batch:
        left, right = (
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        )
        if op.options.get("adj_x"):
            left = turned_matrix(nest, "first_turned", left, (depth, rows), "int16")
        if not op.options.get("adj_y"):
            right = turned_matrix(nest, "second_turned", right, (depth, columns), "int16")
        nest.call("ethosgen_product_s16", tirx.address_of(y[(*batch, 0)]), left, right, shape.data)
    return nest.kernel(PRODUCT)
