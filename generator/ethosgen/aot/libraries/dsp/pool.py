"""Pools of int8, 4 channels at a time, and of int16, 8 at a time."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import cost, cost_s16
from ethosgen.aot.libraries.dsp.shapes import DspPoolS16
from ethosgen.aot.libraries.framework.calls import pool_kernel
from ethosgen.aot.libraries.framework.core import CorePool
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.loops.window import pool_window
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.values.network import Operator, Tensor

POOL = frozenset({"ethosgen_dsp_pool.c"})
LEAST_CHANNELS = 4
MOST_UNROLLED = 3
MOST_TAPS_UNROLLED = 4
"""Rows or columns, and taps, of windows inside the input that the compiler unrolls in the plain
loops, which then take 17 instructions for each average of 4; these kernels take 31."""
MOST_TAPS = 255
"""Number of int8 elements whose sum always fits into 16 bits."""
POOL_S16 = frozenset({"ethosgen_dsp_pool_s16.c"})
LEAST_CHANNELS_S16 = 2
MOST_TAPS_S16 = (1 << 16) - 2
"""Number of int16 elements whose sum, and a half, always fit into 32 bits."""


@packed("AVERAGE_POOL_2D", cycles=cost.AVERAGES)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    vertical, horizontal = pool_window(op, tensors)
    taps = vertical.taps * horizontal.taps
    if op.options.get(UNSIGNED) or taps > MOST_TAPS:
        return None
    is_inside = vertical.is_inside and horizontal.is_inside
    is_unrolled = max(vertical.taps, horizontal.taps) <= MOST_UNROLLED
    if is_inside and is_unrolled and taps <= MOST_TAPS_UNROLLED:
        return None
    return _pool("ethosgen_dsp_average_pool_s8", op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Find the maximum of the pixels of a window."""
    return _pool("ethosgen_dsp_max_pool_s8", op, tensors)


def _pool(function: str, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    if tensors[op.inputs[0]].shape[3] < LEAST_CHANNELS:
        return None
    return pool_kernel(function, CorePool, POOL, op, tensors)


@packed("AVERAGE_POOL_2D", dtype="int16", cycles=cost_s16.AVERAGES)
def average_pool_2d_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    vertical, horizontal = pool_window(op, tensors)
    if vertical.taps * horizontal.taps > MOST_TAPS_S16:
        return None
    return _pool_s16("ethosgen_dsp_average_pool_s16", op, tensors)


@packed("MAX_POOL_2D", dtype="int16", cycles=cost_s16.MAXIMA)
def max_pool_2d_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Find the maximum of the pixels of a window."""
    return _pool_s16("ethosgen_dsp_max_pool_s16", op, tensors)


def _pool_s16(function: str, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    if tensors[op.inputs[0]].shape[3] < LEAST_CHANNELS_S16:
        return None
    return pool_kernel(function, DspPoolS16, POOL_S16, op, tensors)
