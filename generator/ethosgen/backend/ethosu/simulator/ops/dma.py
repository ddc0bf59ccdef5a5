"""NPU_OP_DMA_START: copy between regions, and into SHRAM."""

import numpy as np

from ethosgen.backend.ethosu.simulator.memory import Bytes
from ethosgen.backend.ethosu.simulator.operation import CopyAccess, Dma
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_MAX_BYTES = 1 << 28


def prepare(context: Context, operation: Dma, _ofm: None = None) -> Action:
    """Return a function that copies."""
    if is_nothing(operation.read.bytes):
        return _nothing
    source = window(context, operation.read, operation.source_dims > 1)
    target = window(context, operation.write, operation.destination_dims > 1, write=True)
    return copier(source, target)


def is_nothing(size: int) -> bool:
    """Return whether a transfer has no bytes; NpuFault if it has too many."""
    if size > _MAX_BYTES:
        raise NpuFault(
            "timeout", f"a transfer of {counted(size, 'byte')} is too large for the model"
        )
    return size == 0


def copier(source: Bytes, target: Bytes) -> Action:
    """Return a function that copies views of memories, which may overlap."""
    if np.may_share_memory(source, target):
        return lambda: np.copyto(target, source.copy())
    return lambda: np.copyto(target, source)


def _nothing() -> None:
    pass


def written(context: Context, operation: Dma) -> Bytes:
    """Return the bytes that a transfer has written, as (planes, rows, length)."""
    if not operation.write.bytes:
        return np.zeros(0, np.uint8)
    return window(context, operation.write, operation.destination_dims > 1)


def window(context: Context, end: CopyAccess, is_strided: bool, write: bool = False) -> Bytes:
    """Return a view of one end of a copy; only ends in regions can have strides."""
    if end.region is not None:
        address = end.address + context.base(end.region)
        return context.bus.window(address, end.shape, end.strides, np.dtype(np.uint8), write)
    if is_strided or end.address + end.bytes > context.shram.size:
        raise NpuFault(
            "bus",
            f"a transfer of {counted(end.bytes, 'byte')} at 0x{end.address:x} is outside the "
            "NPU's own memory",
        )
    return context.shram.memory[end.address : end.address + end.bytes].reshape(end.shape)
