"""U85's output stage: clipping, tables, and destinations."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa_u85 import (
    TABLES,
    ActivationReverse,
    U85ActivationClipRange,
    U85ActivationFunction,
)
from ethosgen.backend.ethosu.simulator.feature_map import Placed, check_size
from ethosgen.backend.ethosu.simulator.operation import Operation
from ethosgen.backend.ethosu.simulator.ops import curves
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.ops.output import (
    LUT16_FRACTION_BITS,
    OutputTarget,
    clip_limits,
    curve_of,
    effective_zero_point,
    interpolate,
    is_plain,
    line_of,
    table,
    table_view,
)
from ethosgen.backend.ethosu.simulator.scaling import Ints, scalar
from ethosgen.backend.ethosu.simulator.u85.operation import U85Activation, U85Output
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_UNLIMITED = 1 << 62
_WIDEST = 1 << 47

_CURVES: dict[U85ActivationFunction, Callable[[Ints], Ints]] = {
    U85ActivationFunction.LUT_TANH: curves.tanh,
    U85ActivationFunction.LUT_SIGMOID: curves.sigmoid,
}
_INDEXED = TABLES.keys() - _CURVES.keys()
"""Functions that look results up in whatever table is loaded."""


def _function(ofm: U85Output) -> U85ActivationFunction:
    return U85ActivationFunction(ofm.activation.function)


@effective_zero_point.register
def _(ofm: U85Output) -> int:
    return ofm.fm.zero_point


@is_plain.register
def _(ofm: U85Output) -> bool:
    is_clipped = ofm.activation.clip_range == U85ActivationClipRange.B16
    return is_clipped and _function(ofm) is U85ActivationFunction.LUT_NONE


@curve_of.register
def _(ofm: U85Output) -> Callable[[Ints], Ints] | None:
    """Return the curve that replaces TFLite's table of it, which `table` requires."""
    if ofm.double_round:
        raise NpuFault("parse", "OFM_SCALE with double rounding is not modelled")
    function = _function(ofm)
    if function in _CURVES and np.dtype(ofm.fm.dtype) != np.int16:
        raise NpuFault("parse", f"{function.name} is modelled only for 16-bit signed OFMs")
    if np.dtype(ofm.fm.dtype) == np.int64:
        return _within_accumulator
    return _CURVES.get(function)


def _within_accumulator(values: Ints) -> Ints:
    """Return results of 64 bits, which come from accumulators of 48 bits.

    Regor uses these even to copy int64 (GenerateAccFormat); no source defines any wider result.
    """
    if values.size and not -_WIDEST <= values.min() <= values.max() < _WIDEST:
        raise NpuFault("parse", "a result of more than 48 bits is not modelled")
    return values


@clip_limits.register
def _(ofm: U85Output) -> tuple[int, int]:
    """Return the range of results, or of a table's indices.

    Without a clip range, results lose their upper bits: Regor relies on it in CAST.
    """
    function = _function(ofm)
    info = np.iinfo(TABLES[function].index_type if function in _INDEXED else ofm.fm.dtype)
    low, high = int(info.min), int(info.max)
    if ofm.activation.clip_range == U85ActivationClipRange.NONE:
        return (low, high) if function in _INDEXED else (-_UNLIMITED, _UNLIMITED)
    return (
        min(max(low, ofm.activation.minimum), high),
        max(min(high, ofm.activation.maximum), low),
    )


@table.register
def _(ofm: U85Output, context: Context) -> Callable[[Ints], NDArray[Any]] | None:
    function = _function(ofm)
    entries = table_view(ofm, context)
    if entries is None:
        return None
    if function in _CURVES:
        return _checked(function, entries)
    if TABLES[function].index_type != "<i2":
        first = scalar(int(np.iinfo(TABLES[function].index_type).min))
        return lambda values: entries[values - first]
    if function is U85ActivationFunction.LUT_S16_S16:
        return lambda values: interpolate(entries.astype(np.int64), values)
    return lambda values: _interpolate_wide(entries.astype(np.int64), values)


@table_view.register
def _(ofm: U85Output, context: Context) -> NDArray[Any] | None:
    function = _function(ofm)
    if function is U85ActivationFunction.LUT_NONE:
        return None
    size = TABLES[function].bytes
    assert isinstance(ofm.activation, U85Activation)
    start = ofm.activation.index * size
    if start + size > context.shram.size:
        reason = f"table {ofm.activation.index} of {counted(size, 'byte')} is beyond memory"
        raise NpuFault("parse", reason)
    return context.shram.memory[start : start + size].view(TABLES[function].entry_type)


def _checked(
    function: U85ActivationFunction, entries: NDArray[Any]
) -> Callable[[Ints], NDArray[Any]]:
    """Return a function that changes nothing, but faults on another table than TFLite's.

    The sources do not say how LUT_TANH and LUT_SIGMOID interpolate; this table, which Regor always
    gives them, stands for TFLite's curves.
    """
    wanted = _curve_table(function)

    def check(values: Ints) -> NDArray[Any]:
        if not np.array_equal(entries, wanted):
            raise NpuFault("parse", f"{function.name} with another table is not modelled")
        return values

    return check


@cache
def _curve_table(function: U85ActivationFunction) -> NDArray[np.uint32]:
    """Return Regor's table of a curve (ConvertTanhSigmoidToLUT16): bases, and slopes above them."""
    half = curves.sigmoid_table() - 0x8000
    ends = half[-1:] if function is U85ActivationFunction.LUT_TANH else half[-2:-1]
    below = -half[:0:-1]
    firsts = np.concatenate([-half[-1:], below, half])
    seconds = np.concatenate([-ends, -half[-2::-1], half[1:], half[-1:]])
    slopes = np.maximum(seconds - firsts, 0)
    curve: NDArray[np.uint32] = (slopes << 16 | firsts & 0xFFFF).astype(np.uint32)
    return curve


def _interpolate_wide(entries: Ints, values: Ints) -> Ints:
    """Look up 16-bit values with a result of 23 bits, as TOSA's TABLE does."""
    base, slope, fraction = line_of(entries, values)
    result: Ints = (base << LUT16_FRACTION_BITS) + slope * fraction
    return result


class Turned:
    """A feature map in memory that is written transposed or reversed."""

    whole = None

    def __init__(self, placed: Placed, ofm: U85Output) -> None:
        """Store the feature map in the order of memory."""
        self._placed = placed
        self._axes = ofm.axes
        self._flip = None
        if ofm.reverse is not ActivationReverse.NONE:
            self._flip = int(ofm.reverse) - 1
        self._rows = np.empty(ofm.shape, placed.dtype)
        self.dtype = placed.dtype

    def views(self) -> list[NDArray[Any]]:
        """Return its parts as views of the memory."""
        return self._placed.views()

    def write(self, data: NDArray[Any]) -> None:
        """Store all elements."""
        turned = data.transpose(self._axes)
        self._placed.write(turned if self._flip is None else np.flip(turned, self._flip))

    def write_rows(self, data: NDArray[Any], top: int) -> None:
        """Collect rows, and store all with the last."""
        bottom = top + data.shape[0]
        self._rows[top:bottom] = data
        if bottom == self._rows.shape[0]:
            self.write(self._rows)


class ChainingBuffer:
    """A chaining buffer as the destination of results."""

    whole = None

    def __init__(self, context: Context, ofm: U85Output) -> None:
        """Store the buffer's number."""
        assert ofm.chain is not None
        check_size(ofm.shape)
        self._buffers, self._number = context.inner.buffers, ofm.chain
        self._shape = ofm.shape
        self.dtype = np.dtype(ofm.fm.dtype)

    def views(self) -> list[NDArray[Any]]:
        """Return nothing: it is not in memory."""
        return []

    def write(self, data: NDArray[Any]) -> None:
        """Store all elements."""
        self._buffers[self._number] = data.astype(self.dtype).astype(np.int64)

    def write_rows(self, data: NDArray[Any], top: int) -> None:
        """Store some rows."""
        if top == 0:
            self._buffers[self._number] = np.empty(self._shape, np.int64)
        self._buffers[self._number][top : top + data.shape[0]] = data.astype(self.dtype)


class Nowhere:
    """The destination of an operation whose result stays in the accumulators."""

    whole = None
    dtype = np.dtype(np.int64)

    def views(self) -> list[NDArray[Any]]:
        """Return nothing: it is not in memory."""
        return []

    def write(self, data: NDArray[Any]) -> None:
        """Store nothing."""

    def write_rows(self, data: NDArray[Any], top: int) -> None:
        """Store nothing."""


def destination(context: Context, ofm: U85Output) -> OutputTarget:
    """Return an operation's target; NpuFault if it is outside the memories."""
    if not ofm.enabled:
        return Nowhere()
    if ofm.chain is not None:
        if ofm.axes != (0, 1, 2) or ofm.reverse is not ActivationReverse.NONE:
            raise NpuFault("parse", "an OFM in a chaining buffer cannot be turned")
        return ChainingBuffer(context, ofm)
    base = context.base(ofm.fm.region)
    placed = Placed(context.bus, ofm.fm, base, ofm.stored_shape, write=True)
    if ofm.axes == (0, 1, 2) and ofm.reverse is ActivationReverse.NONE:
        return placed
    return Turned(placed, ofm)


def written(context: Context, ofm: U85Output) -> NDArray[Any]:
    """Return an operation's result, wherever it is."""
    if not ofm.enabled:
        accumulators = context.inner.accumulators
        return np.zeros(0, np.int64) if accumulators is None else accumulators
    if ofm.chain is not None:
        return context.inner.buffers[ofm.chain]
    return Placed(context.bus, ofm.fm, context.base(ofm.fm.region), ofm.stored_shape).read()


def flag_after(context: Context, operation: Operation, before: bool | None) -> bool | None:
    """Return COND_STATUS.result_flag after an operation: whether its only result is not 0.

    Copies leave it as it was before. None after several results: Regor writes no branch there.
    """
    if not isinstance(operation.ofm, U85Output):
        return before
    results = written(context, operation.ofm)
    return bool(results.any()) if results.size == 1 else None
