"""Pools of int16, 8 channels at a time."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import cost_s16 as cost
from ethosgen.aot.libraries.dsp.shapes import DspPoolS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.pools import windows
from ethosgen.aot.loops.window import pool_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

POOL = frozenset({"ethosgen_dsp_pool_s16.c"})
LEAST_CHANNELS = 2
MOST_TAPS = (1 << 16) - 2
"""Number of int16 elements whose sum, and a half, always fit into 32 bits."""


@packed("AVERAGE_POOL_2D", dtype="int16", cycles=cost.AVERAGES)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    vertical, horizontal = pool_window(op, tensors)
    if vertical.taps * horizontal.taps > MOST_TAPS:
        return None
    return _pool("ethosgen_dsp_average_pool_s16", op, tensors)


@packed("MAX_POOL_2D", dtype="int16", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Find the maximum of the pixels of a window."""
    return _pool("ethosgen_dsp_max_pool_s16", op, tensors)


def _pool(function: str, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    if tensors[op.inputs[0]].shape[3] < LEAST_CHANNELS:
        return None
    return windows(function, DspPoolS16, POOL, op, tensors)
