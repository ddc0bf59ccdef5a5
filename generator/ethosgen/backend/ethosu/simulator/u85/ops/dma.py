"""NPU_OP_DMA_START on U85: copies of up to three dimensions, whose rows indices may choose."""

import numpy as np

from ethosgen.backend.ethosu.simulator.memory import Bytes
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.u85.operation import CopyEnd, Indices, U85Dma
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_MAX_BYTES = 1 << 28
_INDEX_BYTES = 4


def prepare(context: Context, operation: U85Dma, _ofm: None = None) -> Action:
    """Return a function that copies."""
    if operation.bytes == 0:
        return lambda: None
    if operation.bytes > _MAX_BYTES:
        raise NpuFault(
            "timeout",
            f"a transfer of {counted(operation.bytes, 'byte')} is too large for the model",
        )
    if operation.indices is not None:
        return _indexed(context, operation, operation.indices)
    source = _window(context, operation.source, operation.shape)
    target = _window(context, operation.destination, operation.shape, write=True)
    if np.may_share_memory(source, target):
        return lambda: np.copyto(target, source.copy())
    return lambda: np.copyto(target, source)


def _window(
    context: Context, end: CopyEnd, shape: tuple[int, int, int], write: bool = False
) -> Bytes:
    if end.region is not None:
        address = end.address + context.base(end.region)
        strides = (*end.strides, 1)
        return context.bus.window(address, shape, strides, np.dtype(np.uint8), write)
    total = shape[0] * shape[1] * shape[2]
    if shape[0] * shape[1] > 1 or end.address + total > context.shram.size:
        raise NpuFault(
            "bus",
            f"a transfer of {counted(total, 'byte')} at 0x{end.address:x} is outside the tables",
        )
    return context.shram.memory[end.address : end.address + total].reshape(shape)


def _indexed(context: Context, operation: U85Dma, indices: Indices) -> Action:
    """Copy rows to or from places that indices choose, one after the other."""
    planes, rows, length = operation.shape
    chosen = operation.source if operation.source.indexed else operation.destination
    if chosen.region is None or operation.destination.region is None:
        raise NpuFault("parse", "a copy by index needs both ends in memory")
    step = chosen.strides[1]
    places = context.bus.window(
        indices.address + context.base(indices.region),
        (planes, rows, _INDEX_BYTES),
        (_INDEX_BYTES * rows + indices.skip, _INDEX_BYTES, 1),
        np.dtype(np.uint8),
    )
    whole = (planes, indices.most + 1, length)
    strides = (chosen.strides[0], step, 1)
    base = chosen.address + context.base(chosen.region)
    is_source = chosen is operation.source
    table = context.bus.window(base, whole, strides, np.dtype(np.uint8), not is_source)
    plain = operation.destination if is_source else operation.source
    packed = _window(context, plain, operation.shape, write=is_source)

    def run() -> None:
        wanted = np.ascontiguousarray(places).view("<i4").reshape(planes, rows)
        if wanted.min() < 0 or wanted.max() > indices.most:
            raise NpuFault("parse", f"an index of a copy is outside 0..{indices.most}")
        for plane in range(planes):
            if is_source:
                packed[plane] = table[plane, wanted[plane]]
            else:
                table[plane, wanted[plane]] = packed[plane]

    return run


def copied(context: Context, operation: U85Dma) -> Bytes:
    """Return the bytes that a transfer has written; none if indices chose their places."""
    if not operation.bytes or operation.destination.indexed:
        return np.zeros(0, np.uint8)
    return _window(context, operation.destination, operation.shape)
