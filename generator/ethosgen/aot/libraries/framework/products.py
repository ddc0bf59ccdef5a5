"""BATCH_MATMUL as products of matrices."""

from math import prod

from ethosgen.aot.operators.matmul import full_shape, product_sizes
from ethosgen.values.network import Operator, Tensor


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
