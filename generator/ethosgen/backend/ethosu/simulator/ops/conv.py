"""NPU_OP_CONV and NPU_OP_DEPTHWISE: sums of products, exact on floating-point hardware.

All products are integers. As long as the largest possible sum of magnitudes is below 2**24 (2**53),
every partial sum is exact in float32 (float64), whatever the order of additions. The zero point is
not subtracted from the IFM but, times the sum of its weights, from each channel's bias.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import IfmUpscaleMode
from ethosgen.backend.ethosu.simulator.operation import Convolution
from ethosgen.backend.ethosu.simulator.ops.context import Action, Constants, Context
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget
from ethosgen.backend.ethosu.simulator.ops.quantize import Exact, Factors, Quantize, exact, integers
from ethosgen.backend.ethosu.simulator.ops.ufuncs import clip
from ethosgen.backend.ethosu.simulator.ops.window import Padded, padder, place_ifm, windows
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces

_EXACT_FLOAT32 = 1 << 24
_EXACT_FLOAT64 = 1 << 53
_MAX_TAPS = 64 * 64
_MAX_U85_TAPS = 256 * 256
_MAX_MACS = 1 << 34
_MAX_DEPTHWISE_MACS = 1 << 31
_CHUNK_BYTES = (96 << 10, 512 << 10)
"""Minimum and maximum size of a chunk of rows; in between, the tensors' size."""
_WIDE_BYTES = 1 << 19
"""Size up to which the weights of a depthwise convolution are repeated for all columns."""
_FOLDED_ROWS = 64
"""Most rows of a matrix with folded scales and bias, as a float64 product costs twice as much."""
_KEPT_BYTES = 1 << 12
"""Size up to which a matrix is also cached in floating point; integers always are."""

Floating = type[np.floating[Any]]


def prepare(context: Context, operation: Convolution, ofm: OutputTarget) -> Action:
    """Return a function that executes a convolution.

    The order of arithmetic: sum of (ifm - zero point) * weight, bias, scale, zero point, clip.
    """
    check_work(context, operation)
    constants = context.constants(operation)
    action = _build(context, operation, ofm, constants)
    if not constants.may_change():
        return action
    digest = constants.digest()

    def run() -> None:
        nonlocal action, digest
        now = constants.digest()
        if now != digest:
            action = _build(context, operation, ofm, constants)
            digest = now
        action()

    return run


def check_work(context: Context, operation: Convolution) -> None:
    """Raise NpuFault for a convolution that is too large for the NPU, or for the model."""
    macs = operation.macs
    taps = operation.kernel.size[0] * operation.kernel.size[1]
    if taps > (_MAX_TAPS if context.accelerator.u85 is None else _MAX_U85_TAPS):
        raise NpuFault("parse", f"a kernel of {counted(taps, 'element')} is too large for this NPU")
    if macs > (_MAX_DEPTHWISE_MACS if operation.depthwise else _MAX_MACS):
        raise NpuFault(
            "timeout", f"{counted(macs, 'multiplication')} in one operation are too many"
        )


@dataclass(frozen=True, slots=True)
class _Source:
    """A convolution's IFM.

    `pad` returns it padded, with magnitudes of at most `most`, before subtraction of `zero_point`.
    `place` is a view of the memory, None if padding changes it. `is_overwritten` is whether the OFM
    can overlap it.
    """

    pad: Padded
    most: int
    zero_point: int
    place: NDArray[Any] | None = None
    is_overwritten: bool = False


@dataclass(frozen=True, slots=True)
class _ConvolutionData:
    """The data of one convolution that its functions share."""

    operation: Convolution
    ofm: OutputTarget
    source: _Source
    matrix: NDArray[Any]
    dtype: Floating
    stage: Exact | None
    quantize: Quantize | None

    def elements(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Return the scaled sums."""
        if self.stage is not None:
            return self.stage.finish(self.stage.scale(sums))
        assert self.quantize is not None
        return self.quantize(sums)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of the IFM, the OFM and the weights."""
        ifm, ofm = self.operation.ifm_shape, self.operation.ofm.shape
        size = np.dtype(self.operation.ifm.dtype).itemsize * math.prod(ifm)
        return size + self.ofm.dtype.itemsize * math.prod(ofm) + self.matrix.nbytes

    def chunks(self, pixel_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield the first and the last row (exclusive) of chunks, given the bytes of a pixel."""
        height, width, _ = self.operation.ofm.shape
        low, high = _CHUNK_BYTES
        step = max(1, min(max(low, self.tensor_bytes), high) // (width * pixel_bytes))
        for top in range(0, height, step):
            yield top, min(top + step, height)


def _build(
    context: Context, operation: Convolution, ofm: OutputTarget, constants: Constants
) -> Action:
    weights, records = constants.decode()
    info = np.iinfo(operation.ifm.dtype)
    zero_point = operation.ifm.zero_point
    most = max(int(info.max) - zero_point, zero_point - int(info.min))
    if most * weights.reach > _EXACT_FLOAT64:
        raise NpuFault("parse", "the accumulators of this operation exceed 53 bits")
    source = _source(context, operation, ofm, weights.reach)
    correction = source.zero_point * weights.sums
    factors = Factors.of(operation.ofm, records, correction)
    stage = exact(operation.ofm, factors, weights.totals * source.most)
    reach = source.most * weights.reach
    quantize = None if stage else integers(context, operation.ofm, factors, reach)
    dtype: Floating = np.float32 if reach <= _EXACT_FLOAT32 else np.float64
    task = _ConvolutionData(operation, ofm, source, weights.matrix, dtype, stage, quantize)
    if operation.depthwise:
        return lambda: _depthwise(task)
    rows, depth = weights.matrix.shape
    folded_bytes = (rows + 1) * depth * 8
    fits = rows <= _FOLDED_ROWS and folded_bytes <= max(_KEPT_BYTES, task.tensor_bytes)
    return _folded(task, stage) if stage and fits else lambda: _dense(task)


def _source(context: Context, operation: Convolution, ofm: OutputTarget, reach: int) -> _Source:
    ifm = place_ifm(context, operation)
    zero_point = operation.ifm.zero_point
    info = np.iinfo(operation.ifm.dtype)
    most = max(int(info.max), -int(info.min))
    if info.min <= zero_point <= info.max and most * reach <= _EXACT_FLOAT64:
        pad = padder(operation, ifm, ifm.dtype, zero_point, zero_point)
        is_plain = not operation.padding.any and operation.upscale is IfmUpscaleMode.NONE
        place = ifm.whole if is_plain else None
        return _Source(pad, most, zero_point, place, ifm.touches(ofm.views()))
    wide = padder(operation, ifm, np.dtype(np.int64), zero_point, zero_point)
    most = max(int(info.max) - zero_point, zero_point - int(info.min))
    return _Source(lambda: wide() - zero_point, most, 0)


def _padded(task: _ConvolutionData) -> NDArray[Any]:
    values = task.source.pad()
    return values.copy() if task.source.is_overwritten else values


def _gather(view: NDArray[Any], rows: int, extra: int, dtype: Floating) -> NDArray[Any]:
    """Return windows (height, width, kernel height, kernel width, depth) as rows of a matrix.

    Each row ends with `extra` additional elements of 1.
    """
    height, width, *window = view.shape
    columns = np.empty((height, width, rows + extra), dtype)
    columns[:, :, rows:] = 1
    columns[:, :, :rows].reshape(height, width, *window)[...] = view
    return columns.reshape(height * width, rows + extra)


def _dense(task: _ConvolutionData) -> None:
    """Multiply windows and weights as matrices, then scale, some rows of the OFM at a time."""
    width, depth = task.operation.ofm.shape[1:]
    rows = task.matrix.shape[0]
    view = windows(task.operation, _padded(task))
    matrix = task.matrix.astype(task.dtype)
    size = np.dtype(task.dtype).itemsize
    for top, bottom in task.chunks(size * rows + (size + 8) * depth):
        sums = _gather(view[top:bottom], rows, 0, task.dtype) @ matrix
        task.ofm.write_rows(task.elements(sums).reshape(bottom - top, width, depth), top)


def _folded(task: _ConvolutionData, stage: Exact) -> Action:
    """Multiply windows by weights with folded scales and an additional row for the bias."""
    rows, depth = task.matrix.shape
    operation, ofm = task.operation, task.ofm
    width = operation.ofm.shape[1]

    def fold() -> NDArray[np.float64]:
        return np.vstack([task.matrix * stage.factor, stage.bias])

    kept = fold() if (rows + 1) * depth * 8 <= _KEPT_BYTES else None
    if kept is not None and _is_plain_pixel(task):
        return _element(task, stage, kept) if depth == 1 else _pixel(task, stage, kept)

    def run() -> None:
        view = windows(operation, _padded(task))
        matrix = fold() if kept is None else kept
        for top, bottom in task.chunks(8 * (rows + 1 + depth)):
            values = _gather(view[top:bottom], rows, 1, np.float64) @ matrix
            ofm.write_rows(stage.finish(values).reshape(bottom - top, width, depth), top)

    return run


def _is_plain_pixel(task: _ConvolutionData) -> bool:
    """Return whether one pixel of the IFM becomes one of the OFM, both contiguous."""
    operation = task.operation
    return (
        operation.ofm.shape[:2] == operation.kernel.size == (1, 1)
        and task.source.place is not None
        and task.ofm.whole is not None
    )


def _pixel(task: _ConvolutionData, stage: Exact, matrix: NDArray[np.float64]) -> Action:
    """Return the same for a single pixel, common in small networks, with few numpy calls.

    Steps alternate between two buffers, because numpy is slow in place on one element.
    """
    depth = matrix.shape[1]
    double, low, high = stage.double, stage.low, stage.high
    if stage.rest is not None:  # each channel twice: once for its sign, once with the rest added
        matrix = np.hstack([matrix, matrix])
        matrix[-1, depth:] += stage.rest
    row, sums, other = np.ones(matrix.shape[0]), np.empty(matrix.shape[1]), np.empty(depth)
    values, rested = sums[:depth], sums[depth:]
    assert task.source.place is not None and task.ofm.whole is not None
    channels, place, target = row[:-1], task.source.place[0, 0], task.ofm.whole[0, 0]
    multiply, copysign, add, floor = row.dot, np.copysign, np.add, np.floor

    def run() -> None:
        channels[...] = place
        multiply(matrix, sums)
        if double is not None:
            copysign(double, values, other)
            add(other, rested, values)
        floor(values, other)
        clip(other, low, high, values)
        target[...] = values

    return run


def _element(task: _ConvolutionData, stage: Exact, matrix: NDArray[np.float64]) -> Action:
    """Return the same for a single value, with Python arithmetic in a third of the time."""
    double, rest = (0.0 if part is None else part.item() for part in (stage.double, stage.rest))
    low, high = int(stage.low), int(stage.high)
    row, column = np.ones(matrix.shape[0]), np.ascontiguousarray(matrix[:, 0])
    assert task.source.place is not None and task.ofm.whole is not None
    channels, place, target = row[:-1], task.source.place[0, 0], task.ofm.whole[0, 0]
    multiply, copysign, floor = row.dot, math.copysign, math.floor

    def run() -> None:
        channels[...] = place
        value = float(multiply(column))
        value += copysign(double, value) + rest
        target[0] = min(max(floor(value), low), high)

    return run


def _depthwise(task: _ConvolutionData) -> None:
    """Sum the taps' products, then scale, some rows of the OFM at a time."""
    kernel = task.operation.kernel
    _, width, depth = task.operation.ofm.shape
    padded = _padded(task)
    weights = _as_wide(task, width, depth)
    size = np.dtype(task.dtype).itemsize
    for top, bottom in task.chunks((3 * size + 8) * depth):
        first = top * kernel.stride[0]
        last = (bottom - 1) * kernel.stride[0] + kernel.dilated[0]
        phases = _phases(padded[first:last], kernel.stride[1], task.dtype)
        sums = np.empty((bottom - top, width, depth), task.dtype)
        product = np.empty_like(sums)
        for tap, factors in enumerate(weights()):
            y, x = divmod(tap, kernel.size[1])
            y, x = y * kernel.dilation[0], x * kernel.dilation[1]
            start, phase = divmod(x, kernel.stride[1])
            rows = slice(y, y + (bottom - top - 1) * kernel.stride[0] + 1, kernel.stride[0])
            values = phases[phase, rows, start : start + width]
            if tap == 0:
                np.multiply(values, factors, out=sums)
            else:
                np.multiply(values, factors, out=product)
                sums += product
        del phases, product, values  # scaling needs as much memory again
        task.ofm.write_rows(task.elements(sums), top)


def _as_wide(
    task: _ConvolutionData, width: int, depth: int
) -> Callable[[], Iterable[NDArray[Any]]]:
    """Return a function that returns each tap's weights, as wide as a row, for long numpy loops.

    All taps together if they are small: a chunk can be a single row.
    """
    matrix = task.matrix.astype(task.dtype)
    taps = matrix.shape[0]
    if taps * width * matrix[0].nbytes <= _WIDE_BYTES:
        wide = np.empty((taps, width, depth), task.dtype)
        wide[...] = matrix[:, np.newaxis]
        return lambda: wide
    tap = np.empty((width, depth), task.dtype)

    def each() -> Iterator[NDArray[Any]]:
        for row in matrix:
            tap[...] = row
            yield tap

    return each


def _phases(rows: NDArray[Any], stride: int, dtype: Floating) -> NDArray[Any]:
    """Return every `stride`-th column, grouped: (phase, rows, columns, depth)."""
    height, width, depth = rows.shape
    phases = np.empty((stride, height, pieces(width, stride), depth), dtype)
    for phase in range(stride):
        columns = rows[:, phase::stride]
        phases[phase, :, : columns.shape[1]] = columns
    return phases
