"""Pools of int8, 4 channels at a time."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import cost
from ethosgen.aot.libraries.framework.core import CorePool
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.pools import windows
from ethosgen.aot.loops.window import pool_window
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.values.network import Operator, Tensor

POOL = frozenset({"ethosgen_dsp_pool.c"})
LEAST_CHANNELS = 4
MOST_UNROLLED = 4
"""Taps of windows inside the input that the compiler unrolls in the plain loops, which then take 17
instructions for each average of 4; these kernels take 31."""
MOST_TAPS = 255
"""Number of int8 elements whose sum always fits into 16 bits."""


@packed("AVERAGE_POOL_2D", cycles=cost.AVERAGES)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    vertical, horizontal = pool_window(op, tensors)
    taps = vertical.taps * horizontal.taps
    if op.options.get(UNSIGNED) or taps > MOST_TAPS:
        return None
    if taps <= MOST_UNROLLED and vertical.is_inside and horizontal.is_inside:
        return None
    return _pool("ethosgen_dsp_average_pool_s8", op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Find the maximum of the pixels of a window."""
    return _pool("ethosgen_dsp_max_pool_s8", op, tensors)


def _pool(function: str, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    if tensors[op.inputs[0]].shape[3] < LEAST_CHANNELS:
        return None
    return windows(function, CorePool, POOL, op, tensors)
