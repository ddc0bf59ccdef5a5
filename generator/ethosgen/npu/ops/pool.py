"""NPU_OP_POOL: maximum, average, and the sum over channels."""

import numpy as np

from ethosgen.errors import NpuFault
from ethosgen.npu import feature_map
from ethosgen.npu.isa import PoolingMode, RoundMode
from ethosgen.npu.operation import Pool
from ethosgen.npu.ops.context import Context
from ethosgen.npu.ops.output import finish, scale_globally
from ethosgen.npu.ops.window import padded_ifm, windows
from ethosgen.npu.scaling import Ints, pooling_scale, rescale

_MAX_WORK = 1 << 31
_LOWEST = -(1 << 40)


def run(context: Context, operation: Pool) -> int:
    """Carry out a pooling operation; returns the number of elements that it looked at."""
    height, width, depth = operation.ofm.shape
    kernel = operation.kernel.size
    work = height * width * depth * kernel[0] * kernel[1]
    if operation.mode is PoolingMode.REDUCE_SUM:
        work *= operation.ifm_depth
    if work > _MAX_WORK:
        raise NpuFault("timeout", f"pooling over {work} elements is beyond the model")
    finish(context, operation.ofm, _MODES[operation.mode](context, operation))
    return work


def _maximum(context: Context, operation: Pool) -> Ints:
    padded = padded_ifm(context, operation, np.int64, fill=_LOWEST)
    view = windows(operation, padded)
    rows = view[:, :, 0].copy()
    for y in range(1, operation.kernel.size[0]):
        np.maximum(rows, view[:, :, y], out=rows)
    return scale_globally(rows.max(axis=2), operation.ofm)


def _average(context: Context, operation: Pool) -> Ints:
    """Sum the window; divide by OFM_SCALE, or by the elements inside the IFM where it is padded."""
    padded = padded_ifm(context, operation, np.int64)
    sums = _window_sums(operation, padded)
    if not operation.padding.any:
        return scale_globally(sums, operation.ofm)
    counts = _valid_counts(operation)
    if operation.ofm.rounding is RoundMode.TRUNCATE:
        return np.sign(sums) * (np.abs(sums) // counts)
    scale, shift = pooling_scale(counts)
    return rescale(sums, scale, shift, operation.ofm.rounding)


def _window_sums(operation: Pool, padded: Ints) -> Ints:
    """Sum over each window, first down its rows, then along its columns."""
    view = windows(operation, padded)
    rows = view[:, :, 0].copy()
    for y in range(1, operation.kernel.size[0]):
        rows += view[:, :, y]
    result: Ints = rows.sum(axis=2)
    return result


def _valid_counts(operation: Pool) -> Ints:
    """Return how many elements of each window lie inside the IFM: (height, width, 1)."""
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
    return np.maximum(np.outer(counts[0], counts[1]), 1)[:, :, None].astype(np.int64)


def _reduce_sum(context: Context, operation: Pool) -> Ints:
    ifm = operation.ifm
    values = feature_map.read(context.bus, ifm, context.base(ifm.region), operation.ifm_shape)
    height, width, _ = operation.ofm.shape
    if operation.ifm_shape[:2] != (height, width):
        raise NpuFault("parse", "a sum over channels needs a kernel of 1x1 and no padding")
    sums = values.sum(axis=2, keepdims=True, dtype=np.int64) - ifm.zero_point * operation.ifm_depth
    return scale_globally(sums, operation.ofm)


_MODES = {
    PoolingMode.MAX: _maximum,
    PoolingMode.AVERAGE: _average,
    PoolingMode.REDUCE_SUM: _reduce_sum,
}
