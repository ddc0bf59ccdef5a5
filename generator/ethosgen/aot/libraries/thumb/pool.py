"""Pools of int8, 4 channels at a time; both architectures have the same C."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.calls import pool_kernel
from ethosgen.aot.libraries.framework.core import CorePool
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.thumb import cost
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.values.network import Operator, Tensor

POOL = frozenset({"ethosgen_thumb_pool.c"})


@packed("AVERAGE_POOL_2D", cycles=cost.AVERAGES)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    if op.options.get(UNSIGNED):
        return None
    return pool_kernel("ethosgen_thumb_average_pool_s8", CorePool, POOL, op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window."""
    return pool_kernel("ethosgen_thumb_max_pool_s8", CorePool, POOL, op, tensors)
