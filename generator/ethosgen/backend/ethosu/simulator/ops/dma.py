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
    total = operation.read.bytes
    if total == 0:
        return _nothing
    if total > _MAX_BYTES:
        raise NpuFault(
            "timeout", f"a transfer of {counted(total, 'byte')} is too large for the model"
        )
    source = _window(context, operation.read, operation.source_dims)
    target = _window(context, operation.write, operation.destination_dims, write=True)
    if np.may_share_memory(source, target):
        return lambda: np.copyto(target, source.copy())
    return lambda: np.copyto(target, source)


def _nothing() -> None:
    pass


def written(context: Context, operation: Dma) -> Bytes:
    """Return the bytes that a transfer has written, as (planes, rows, length)."""
    if not operation.write.bytes:
        return np.zeros(0, np.uint8)
    return _window(context, operation.write, operation.destination_dims)


def _window(context: Context, end: CopyAccess, dims: int, write: bool = False) -> Bytes:
    if end.region is not None:
        address = end.address + context.base(end.region)
        return context.bus.window(address, end.shape, end.strides, np.dtype(np.uint8), write)
    if dims > 1 or end.address + end.bytes > context.shram.size:
        raise NpuFault(
            "bus",
            f"a transfer of {counted(end.bytes, 'byte')} at 0x{end.address:x} is outside SHRAM",
        )
    return context.shram.memory[end.address : end.address + end.bytes].reshape(end.shape)
