"""BATCH_MATMUL of int8.

The kernel reads the rows of the first matrix and the columns of the second as vectors. What the
network stores otherwise is turned first: columns four at a time, rows all at once.
"""

from collections.abc import Sequence
from math import prod

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import merged_sizes, product_kernel
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = merged_sizes(op, first, second, target)
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
    return product_kernel(op, tensors)
