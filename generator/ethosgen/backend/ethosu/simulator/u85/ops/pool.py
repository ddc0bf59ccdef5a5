"""NPU_OP_POOL on U85."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import PoolingMode
from ethosgen.backend.ethosu.isa_u85 import AccInput, U85PoolingMode
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget, finisher, scaler
from ethosgen.backend.ethosu.simulator.ops.pool import (
    FAR,
    Pooled,
    channel_sums,
    check_work,
    covered_counts,
    extreme,
    over_windows,
    valid_counts,
)
from ethosgen.backend.ethosu.simulator.ops.window import padder, place_ifm, windows
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, pooling_scale
from ethosgen.backend.ethosu.simulator.u85.operation import AnyPoolingMode, U85Output, U85Pool
from ethosgen.backend.ethosu.simulator.u85.ops.accumulators import starts
from ethosgen.backend.ethosu.simulator.u85.weights import decode_records
from ethosgen.values.errors import NpuFault

_REGISTER_BITS = 31
"""The bits of OFM_SCALE that Regor uses for 1 / kernel."""

_UNSCALED = (PoolingMode.AVERAGE, U85PoolingMode.ARGMAX_X, U85PoolingMode.ARGMAX_Y)
"""OFM_SCALE is about something else: see _average; 1/2**16 selects ARGMAX's index."""


def prepare(context: Context, operation: U85Pool, ofm: OutputTarget) -> Action:
    """Return a function that executes a pooling operation."""
    check_work(operation, operation.mode is PoolingMode.REDUCE_SUM)
    pooled = _MODES[operation.mode](context, operation)
    assert isinstance(operation.ofm, U85Output)
    if not operation.ofm.enabled:
        return lambda: _keep(context, pooled())
    if operation.mode not in (U85PoolingMode.NONE, U85PoolingMode.SUM) and (
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
    if operation.mode in _UNSCALED:
        return lambda values: values
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


def _check_windows(operation: U85Pool) -> None:
    """Refuse windows that contain only padding: the sources do not define their maximum."""
    if not covered_counts(operation).all():
        raise NpuFault("parse", f"pooling {operation.mode.name} of only padding is not modelled")


def _maximum(context: Context, operation: U85Pool) -> Pooled:
    _check_windows(operation)
    return extreme(context, operation, np.maximum, -FAR)


def _minimum(context: Context, operation: U85Pool) -> Pooled:
    _check_windows(operation)
    return extreme(context, operation, np.minimum, FAR)


def _sum(context: Context, operation: U85Pool) -> Pooled:
    read = _elements(context, operation, 0)
    start = starts(context, operation.accumulators, operation.ofm.shape)
    return lambda: over_windows(np.add, operation, read()) + start()


def _average(context: Context, operation: U85Pool) -> Pooled:
    """Divide each window's sum by its number of elements in the IFM, whatever OFM_SCALE is.

    For the same average, Vela 5 sets OFM_SCALE to 1, and Vela 4.5 to 1 / kernel even where padding
    makes windows smaller (Regor's ethos_u85_scaling.cpp, RescalePooling). No Vela sets another.
    """
    if not _is_plain(operation):
        raise NpuFault("parse", "an average that is also scaled is not modelled")
    read = _elements(context, operation, 0)
    scale = Rescale(*pooling_scale(valid_counts(operation)), operation.ofm.rounding)
    return lambda: scale(over_windows(np.add, operation, read()))


def _is_plain(operation: U85Pool) -> bool:
    """Return whether OFM_SCALE is 1 or 1 / kernel."""
    scale, elements = operation.ofm.scale, np.array(math.prod(operation.kernel.size))
    reciprocal = tuple(int(word) for word in pooling_scale(elements, _REGISTER_BITS))
    return scale.scale == 1 << scale.shift or (scale.scale, scale.shift) == reciprocal


def _none(context: Context, operation: U85Pool) -> Pooled:
    start = starts(context, operation.accumulators, operation.ofm.shape)
    return lambda: np.array(np.broadcast_to(start(), operation.ofm.shape))


def _argmax(context: Context, operation: U85Pool) -> Pooled:
    """Return the first position of the maximum along the kernel's only axis."""
    if min(operation.kernel.size) != 1:
        raise NpuFault("parse", "the position of a maximum needs a kernel along one axis")
    read = _elements(context, operation, -FAR)

    def pooled() -> Ints:
        view = windows(operation, np.ascontiguousarray(read()))
        height, width, rows, columns, depth = view.shape
        flat = view.reshape(height, width, rows * columns, depth)
        places: Ints = flat.argmax(axis=2).astype(np.int64)
        return places

    return pooled


_MODES: dict[AnyPoolingMode, Callable[[Context, U85Pool], Pooled]] = {
    PoolingMode.MAX: _maximum,
    U85PoolingMode.MIN: _minimum,
    PoolingMode.AVERAGE: _average,
    U85PoolingMode.SUM: _sum,
    PoolingMode.REDUCE_SUM: channel_sums,
    U85PoolingMode.NONE: _none,
    U85PoolingMode.ARGMAX_X: _argmax,
    U85PoolingMode.ARGMAX_Y: _argmax,
}
