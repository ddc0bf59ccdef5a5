"""NPU_OP_DMA_START on U85: copies of up to three dimensions; indices may choose the rows."""

import math

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.simulator.memory import Bytes
from ethosgen.backend.ethosu.simulator.operation import CopyAccess
from ethosgen.backend.ethosu.simulator.ops import dma
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.u85.operation import CopyEnd, Indices, U85Dma
from ethosgen.values.errors import NpuFault

_INDEX_BYTES = 4


def prepare(context: Context, operation: U85Dma, _ofm: None = None) -> Action:
    """Return a function that copies."""
    if dma.is_nothing(operation.bytes):
        return lambda: None
    if operation.indices is not None:
        return _indexed(context, operation, operation.indices)
    source, target = _window(context, operation.read), _window(context, operation.write, True)
    return dma.copier(source, target)


def _window(context: Context, end: CopyAccess, write: bool = False) -> Bytes:
    return dma.window(context, end, math.prod(end.shape[:2]) > 1, write)


def _indexed(context: Context, operation: U85Dma, indices: Indices) -> Action:
    """Copy rows, one by one, to or from places that indices choose."""
    chosen, is_source = operation.source, operation.source.indexed
    if not is_source:
        chosen = operation.destination
    if chosen.region is None or operation.destination.region is None:
        raise NpuFault("parse", "a copy by index needs both ends in memory")
    table = _table(context, operation, chosen, indices, not is_source)
    places = _places(context, operation, indices)
    plain = operation.write if is_source else operation.read
    packed = _window(context, plain, is_source)

    def run() -> None:
        for plane, wanted in enumerate(_indices(places, indices)):
            if is_source:
                packed[plane] = table[plane, wanted]
            else:
                table[plane, wanted] = packed[plane]

    return run


def _table(
    context: Context, operation: U85Dma, end: CopyEnd, indices: Indices, write: bool = False
) -> Bytes:
    """Return a view of all rows that indices can choose."""
    assert end.region is not None
    planes, _, length = operation.shape
    shape = (planes, indices.most + 1, length)
    base = end.address + context.base(end.region)
    return context.bus.window(base, shape, (*end.strides, 1), np.dtype(np.uint8), write)


def _places(context: Context, operation: U85Dma, indices: Indices) -> Bytes:
    """Return a view of the index tensor's bytes."""
    planes, rows, _ = operation.shape
    return context.bus.window(
        indices.address + context.base(indices.region),
        (planes, rows, _INDEX_BYTES),
        (_INDEX_BYTES * rows + indices.skip, _INDEX_BYTES, 1),
        np.dtype(np.uint8),
    )


def _indices(places: Bytes, indices: Indices) -> NDArray[np.int32]:
    """Return the indices, planes x rows; NpuFault if one is out of range."""
    wanted: NDArray[np.int32] = np.ascontiguousarray(places).view("<i4")[..., 0]
    if wanted.min() < 0 or wanted.max() > indices.most:
        raise NpuFault("parse", f"an index of a copy is outside 0..{indices.most}")
    return wanted


def chosen_rows(context: Context, operation: U85Dma) -> NDArray[np.int32] | None:
    """Return the indices of a copy, planes x rows, None without any; NpuFault if out of range."""
    if operation.indices is None or not operation.bytes:
        return None
    return _indices(_places(context, operation, operation.indices), operation.indices)


def copied(context: Context, operation: U85Dma) -> Bytes:
    """Return the bytes that a transfer has written, in the order of its source."""
    if not operation.bytes:
        return np.zeros(0, np.uint8)
    wanted = chosen_rows(context, operation)
    if wanted is None or not operation.destination.indexed:
        return _window(context, operation.write)
    assert operation.indices is not None
    table = _table(context, operation, operation.destination, operation.indices)
    return np.stack([table[plane, rows] for plane, rows in enumerate(wanted)])
