"""NPU_OP_POOL: maximum, average, and the sum over channels."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import IfmUpscaleMode, PoolingMode, RoundMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import Pool, Windowed
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import finisher, scaler
from ethosgen.backend.ethosu.simulator.ops.window import padder, place_ifm, windows
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, pooling_scale, scalar
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_MAX_WORK = 1 << 31
FAR = 1 << 40
"""Beyond any element; stands for padding in a maximum or minimum."""

Pooled = Callable[[], NDArray[Any]]


def prepare(context: Context, operation: Pool, ofm: Placed) -> Action:
    """Return a function that executes a pooling operation."""
    check_work(operation, operation.mode is PoolingMode.REDUCE_SUM)
    pooled = _MODES[operation.mode](context, operation)
    finish = finisher(context, operation.ofm, ofm)
    return lambda: finish(pooled())


def check_work(operation: Windowed, over_channels: bool) -> None:
    """Raise NpuFault for a pool over more elements than the model computes in reasonable time."""
    work = math.prod(operation.ofm.shape) * math.prod(operation.kernel.size)
    if over_channels:
        work *= operation.ifm_depth
    if work > _MAX_WORK:
        raise NpuFault(
            "timeout", f"pooling over {counted(work, 'element')} is too much for the model"
        )


def _maximum(context: Context, operation: Pool) -> Pooled:
    most, scale = extreme(context, operation, np.maximum, -FAR), scaler(operation.ofm)
    return lambda: scale(most())


def extreme(context: Context, operation: Windowed, choose: np.ufunc, fill: int) -> Pooled:
    """Return a function that takes each window's extreme in the IFM minus its zero point.

    It does so in the IFM's dtype if that need not hold `fill`, which stands for padding.
    """
    ifm = place_ifm(context, operation)
    zero_point = scalar(operation.ifm.zero_point)
    is_plain = not operation.padding.any and operation.upscale is IfmUpscaleMode.NONE
    dtype = ifm.dtype if is_plain else np.dtype(np.int64)
    padded = padder(operation, ifm, dtype, int(zero_point), fill + int(zero_point))
    return lambda: over_windows(choose, operation, padded()) - zero_point


def over_windows(combine: np.ufunc, operation: Windowed, padded: NDArray[Any]) -> NDArray[Any]:
    """Combine each window's elements, first over rows, then over columns."""
    view = windows(operation, padded)
    height, width = operation.kernel.size
    rows = view[:, :, 0]
    if height > 1:
        rows = rows.copy()
        for y in range(1, height):
            combine(rows, view[:, :, y], out=rows)
    result: NDArray[Any] = rows[:, :, 0] if width == 1 else combine.reduce(rows, axis=2)
    return result


def _average(context: Context, operation: Pool) -> Pooled:
    """Sum the window; divide by OFM_SCALE, or with padding by its number of elements in the IFM."""
    ifm = place_ifm(context, operation)
    zero_point = operation.ifm.zero_point
    padded = padder(operation, ifm, _sum_dtype(operation), zero_point, zero_point)
    offset = scalar(zero_point * math.prod(operation.kernel.size))
    scale = _mean(operation)
    return lambda: scale(over_windows(np.add, operation, padded()) - offset)


def _sum_dtype(operation: Pool) -> np.dtype[Any]:
    """Return the narrowest type that holds a window's sum, including the zero point."""
    info, taps = np.iinfo(operation.ifm.dtype), math.prod(operation.kernel.size)
    most = max(int(info.max), -int(info.min), abs(operation.ifm.zero_point))
    return np.dtype(np.int32 if most * taps < 1 << 31 else np.int64)


def _mean(operation: Pool) -> Callable[[Ints], Ints]:
    if not operation.padding.any:
        return scaler(operation.ofm)
    counts = valid_counts(operation)
    if operation.ofm.rounding is RoundMode.TRUNCATE:
        return lambda sums: np.sign(sums) * (np.abs(sums) // counts)
    return Rescale(*pooling_scale(counts), operation.ofm.rounding)


def valid_counts(operation: Windowed) -> Ints:
    """Return the number of each window's elements inside the IFM, or 1: (height, width, 1)."""
    return np.maximum(covered_counts(operation), 1)


def covered_counts(operation: Windowed) -> Ints:
    """Return the number of each window's elements inside the IFM: (height, width, 1)."""
    size = operation.upscaled_size
    before = (operation.padding.top, operation.padding.left)
    counts = []
    for axis in (0, 1):
        starts = np.arange(operation.ofm.shape[axis]) * operation.kernel.stride[axis] - before[axis]
        taps = (
            starts[:, None]
            + np.arange(operation.kernel.size[axis]) * operation.kernel.dilation[axis]
        )
        counts.append(((taps >= 0) & (taps < size[axis])).sum(axis=1))
    return np.outer(counts[0], counts[1])[:, :, None].astype(np.int64)


def _reduce_sum(context: Context, operation: Pool) -> Pooled:
    sums, scale = channel_sums(context, operation), scaler(operation.ofm)
    return lambda: scale(sums())


def channel_sums(context: Context, operation: Windowed) -> Pooled:
    """Return a function that sums each pixel's channels in the IFM minus its zero point."""
    fm = operation.ifm
    ifm = Placed(context.bus, fm, context.base(fm.region), operation.ifm_shape)
    height, width, _ = operation.ofm.shape
    if operation.ifm_shape[:2] != (height, width):
        raise NpuFault("parse", "a sum over channels needs a kernel of 1x1 and no padding")
    offset = scalar(fm.zero_point * operation.ifm_depth)

    def summed() -> Ints:
        sums = np.add.reduce(ifm.read(), axis=2, keepdims=True, dtype=np.int64)
        sums -= offset
        return sums

    return summed


_MODES: dict[PoolingMode, Callable[[Context, Pool], Pooled]] = {
    PoolingMode.MAX: _maximum,
    PoolingMode.AVERAGE: _average,
    PoolingMode.REDUCE_SUM: _reduce_sum,
}
