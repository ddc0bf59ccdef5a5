"""BATCH_MATMUL of int8: the plain C of the micro-kernels, four columns at a time."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.products import product_kernel
from ethosgen.aot.libraries.thumb import cost
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor


@packed("BATCH_MATMUL", cycles=cost.matrix_product)
def batch_matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the matrices of each batch in one call."""
    return product_kernel(op, tensors)
