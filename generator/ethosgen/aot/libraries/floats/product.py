"""BATCH_MATMUL of float32. A second matrix that is not constant is packed at each inference."""

from collections.abc import Sequence
from math import prod

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import MATRIX, two_forms
from ethosgen.aot.libraries.floats.shapes import contiguous
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.operators.matmul import full_shape, product_sizes
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, broadcast
from ethosgen.values.network import Operator, Tensor

FILES = MATRIX | {"ethosgen_pack_f32.c"}
PACK = {cost.HELIUM: 6.0, cost.IN_C: 18.0}
"""Instructions that pack 4 elements."""
WHOLE = (-np.inf, np.inf)
"""The bounds of outputs without an activation."""


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    batches, (rows, columns, depth) = _merged(op, first, second, target)
    pack = 80 + -(-columns // order.BLOCK) * (20 + PACK[by] * depth)
    return prod(batches) * (pack + cost.rows(by, rows, depth, columns))


@packed("BATCH_MATMUL", dtype="float32", cycles=two_forms(_whole))
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch by one call."""
    first, second, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if op.options.get("adj_x") or second.dtype != "float32":
        return None
    batches, (rows, columns, depth) = _merged(op, first, second, target)
    if min(target.elements, depth) == 0:
        return None
    steps = (1, depth) if op.options.get("adj_y") else (columns, 1)
    leads = [full_shape(tensor, len(batches))[:-2] if batches else () for tensor in (first, second)]
    nest = Nest()
    a = nest.read("first", first, (*leads[0], rows * depth))
    b = nest.read("second", second, (*leads[1], columns * depth))
    shape = nest.table("shape", contiguous(rows, depth, columns))
    y = nest.write("output", target, (*batches, rows * columns))
    blocks = -(-columns // order.BLOCK)
    weights = nest.workspace("weights", "float32", (2 + blocks * order.BLOCK * (1 + depth),))
    with nest.loops(batches) as batch:
        left, right = (
            tirx.address_of(matrix[(*broadcast(batch, lead), 0)])
            for matrix, lead in zip((a, b), leads, strict=True)
        )
        nest.call("ethosgen_pack_f32", weights.data, right, depth, columns, *steps)
        place = tirx.address_of(y[(*batch, 0)])
        nest.call("ethosgen_matrix_f32", place, left, weights.data, shape.data)
    return nest.kernel(FILES)


def _merged(
    op: Operator, first: Tensor, second: Tensor, target: Tensor
) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Return the batches, and rows, columns and depth of each.

    If all batches have the same second matrix, their rows are those of one product.
    """
    batches, (rows, columns, depth) = product_sizes(op, first, second, target)
    if prod(second.shape[:-2]) > 1 or op.options.get("adj_x"):
        return batches, (rows, columns, depth)
    return (), (rows * prod(batches), columns, depth)
