"""NPU_OP_POOL on U85."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa_u85 import AccInput, PoolingMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import Target, finisher, scaler
from ethosgen.backend.ethosu.simulator.ops.pool import check_work, over_windows, valid_counts
from ethosgen.backend.ethosu.simulator.ops.window import padder, place_ifm, windows
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, pooling_scale
from ethosgen.backend.ethosu.simulator.u85.operation import U85Output, U85Pool
from ethosgen.backend.ethosu.simulator.u85.ops.accumulators import starts
from ethosgen.backend.ethosu.simulator.u85.weights import decode_records
from ethosgen.values.errors import NpuFault

_FAR = 1 << 40
"""Beyond any element; stands for padding in a maximum or minimum."""

_Pooled = Callable[[], Ints]


def prepare(context: Context, operation: U85Pool, ofm: Target) -> Action:
    """Return a function that executes a pooling operation."""
    check_work(operation, operation.mode is PoolingMode.REDUCE_SUM)
    pooled = _MODES[operation.mode](context, operation)
    assert isinstance(operation.ofm, U85Output)
    if not operation.ofm.enabled:
        return lambda: _keep(context, pooled())
    if operation.mode not in (PoolingMode.NONE, PoolingMode.SUM) and (
        operation.accumulators.source is not AccInput.RESET
    ):
        raise NpuFault("parse", f"pooling {operation.mode.name} on accumulators is not modelled")
    scale = _scale(context, operation)
    finish = finisher(context, operation.ofm, ofm)
    return lambda: finish(scale(pooled()))


def _keep(context: Context, values: Ints) -> None:
    context.inner.accumulators = values


def _scale(context: Context, operation: U85Pool) -> Callable[[Ints], Ints]:
    """Return a function that applies OFM_SCALE, or a record for each channel."""
    ofm = operation.ofm
    if operation.mode in (PoolingMode.ARGMAX_X, PoolingMode.ARGMAX_Y):
        return lambda values: values  # 1/2**16 selects the index from the accumulator
    if not operation.scales:
        return scaler(ofm)
    (stream,) = operation.scales
    data = context.view_stream(stream)
    wide = operation.accumulators.wide

    def scale(values: Ints) -> Ints:
        records = decode_records(data.tobytes(), ofm.shape[2], wide)
        return Rescale(records.scale, records.shift, ofm.rounding)(values + records.bias)

    return scale


def _elements(context: Context, operation: U85Pool, fill: int) -> Callable[[], NDArray[Any]]:
    """Return a function that reads the IFM minus its zero point, padded with `fill`."""
    ifm = place_ifm(context, operation)
    zero_point = operation.ifm.zero_point
    pad = padder(operation, ifm, np.dtype(np.int64), zero_point, fill + zero_point)
    return lambda: pad() - zero_point


def _maximum(context: Context, operation: U85Pool) -> _Pooled:
    read = _elements(context, operation, -_FAR)
    return lambda: np.array(over_windows(np.maximum, operation, read()))


def _minimum(context: Context, operation: U85Pool) -> _Pooled:
    read = _elements(context, operation, _FAR)
    return lambda: np.array(over_windows(np.minimum, operation, read()))


def _sum(context: Context, operation: U85Pool) -> _Pooled:
    read = _elements(context, operation, 0)
    start = starts(context, operation.accumulators, operation.ofm.shape)
    return lambda: over_windows(np.add, operation, read()) + start()


def _average(context: Context, operation: U85Pool) -> _Pooled:
    """Divide each window's sum by its number of elements in the IFM."""
    ofm = operation.ofm
    if ofm.scale.scale != 1 << ofm.scale.shift and math.prod(operation.kernel.size) > 1:
        raise NpuFault("parse", "an average that is also scaled is not modelled")
    read = _elements(context, operation, 0)
    scale = Rescale(*pooling_scale(valid_counts(operation)), ofm.rounding)
    return lambda: scale(over_windows(np.add, operation, read()))


def _reduce_sum(context: Context, operation: U85Pool) -> _Pooled:
    fm = operation.ifm
    ifm = Placed(context.bus, fm, context.base(fm.region), operation.ifm_shape)
    if operation.ifm_shape[:2] != operation.ofm.shape[:2]:
        raise NpuFault("parse", "a sum over channels needs a kernel of 1x1 and no padding")
    offset = fm.zero_point * operation.ifm_depth
    return lambda: np.add.reduce(ifm.read(), axis=2, keepdims=True, dtype=np.int64) - offset


def _none(context: Context, operation: U85Pool) -> _Pooled:
    start = starts(context, operation.accumulators, operation.ofm.shape)
    return lambda: np.array(np.broadcast_to(start(), operation.ofm.shape))


def _argmax(context: Context, operation: U85Pool) -> _Pooled:
    """Return the first position of the maximum along the kernel's only axis."""
    if min(operation.kernel.size) != 1:
        raise NpuFault("parse", "the position of a maximum needs a kernel along one axis")
    read = _elements(context, operation, -_FAR)

    def pooled() -> Ints:
        view = windows(operation, np.ascontiguousarray(read()))
        height, width, rows, columns, depth = view.shape
        flat = view.reshape(height, width, rows * columns, depth)
        found: Ints = flat.argmax(axis=2).astype(np.int64)
        return found

    return pooled


_MODES: dict[PoolingMode, Callable[[Context, U85Pool], _Pooled]] = {
    PoolingMode.MAX: _maximum,
    PoolingMode.MIN: _minimum,
    PoolingMode.AVERAGE: _average,
    PoolingMode.SUM: _sum,
    PoolingMode.REDUCE_SUM: _reduce_sum,
    PoolingMode.NONE: _none,
    PoolingMode.ARGMAX_X: _argmax,
    PoolingMode.ARGMAX_Y: _argmax,
}
