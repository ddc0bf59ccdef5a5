"""BATCH_MATMUL of float32. A second matrix that is not constant is packed at each inference."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import MATRIX, two_forms
from ethosgen.aot.libraries.floats.shapes import contiguous
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import read_matrices
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import Operator, Tensor

FILES = MATRIX | {"ethosgen_pack_f32.c"}
PACK = {cost.HELIUM: 6.0, cost.IN_C: 18.0}
"""Instructions that pack 4 elements."""
WHOLE = (-np.inf, np.inf)
"""The bounds of outputs without an activation."""


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    matrices = read_matrices(op, tensors)
    columns, depth = matrices.columns, matrices.depth
    pack = 80 + pieces(columns, order.BLOCK) * (20 + PACK[by] * depth)
    return prod(matrices.batches) * (pack + cost.rows(by, matrices.rows, depth, columns))


@packed("BATCH_MATMUL", dtype="float32", cycles=two_forms(_whole))
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch by one call."""
    matrices = read_matrices(op, tensors)
    columns, depth = matrices.columns, matrices.depth
    if matrices.has_columns or matrices.second.dtype != "float32" or matrices.is_empty:
        return None
    if columns == 1:
        return None  # plain loops need no packed copy, and no lanes for missing columns
    steps = (1, depth) if matrices.has_rows else (columns, 1)
    nest, shape = Nest(), contiguous(matrices.rows, depth, columns)
    floats = 2 + rounded_up(columns, order.BLOCK) * (1 + depth)

    def declare(_output: Any) -> list[Any]:
        return [nest.workspace("weights", "float32", (floats,)).data]

    with matrices.products(nest, shape, declare) as ((place, left, right), (weights, struct)):
        nest.call("ethosgen_pack_f32", weights, right, depth, columns, *steps)
        nest.call("ethosgen_matrix_f32", place, left, weights, struct)
    return nest.kernel(FILES)
