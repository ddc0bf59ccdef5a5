"""NPU_OP_DMA_START: copy between regions, and into SHRAM."""

import numpy as np

from ethosgen.backend.ethosu.simulator.memory import Bytes
from ethosgen.backend.ethosu.simulator.operation import Dma
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_MAX_BYTES = 1 << 28


def prepare(context: Context, operation: Dma) -> Action:
    """Return a function that copies.

    A transfer is `length` bytes, repeated for SIZE0 rows and SIZE1 planes. On a side with strides,
    rows are length + SKIP0 and planes length * SIZE0 + SKIP1 apart (Regor's
    ethos_u65_register_cs_generator.cpp); the other side is contiguous.
    """
    total = total_bytes(operation)
    if total == 0:
        return _nothing
    if total > _MAX_BYTES:
        raise NpuFault(
            "timeout", f"a transfer of {counted(total, 'byte')} is too large for the model"
        )
    source = _window(context, operation, operation.source, operation.source_dims, False)
    target = _window(context, operation, operation.destination, operation.destination_dims, True)
    if np.may_share_memory(source, target):
        return lambda: np.copyto(target, source.copy())
    return lambda: np.copyto(target, source)


def _nothing() -> None:
    pass


def total_bytes(operation: Dma) -> int:
    """Return the number of bytes that a transfer copies."""
    planes, rows, length = _shape(operation)
    return planes * rows * length


def layout(operation: Dma, dims: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return (planes, rows, length) of a transfer, and one side's strides in bytes."""
    shape = _shape(operation)
    row = operation.length + (operation.skips[0] if dims > 1 else 0)
    plane = operation.length * shape[1] + (operation.skips[1] if dims > 2 else 0)
    return shape, (plane, row, 1)


def written(context: Context, operation: Dma) -> Bytes:
    """Return the bytes that a transfer has written, as (planes, rows, length)."""
    if not total_bytes(operation):
        return np.zeros(0, np.uint8)
    return _window(context, operation, operation.destination, operation.destination_dims, False)


def _shape(operation: Dma) -> tuple[int, int, int]:
    dims = max(operation.source_dims, operation.destination_dims)
    rows = operation.sizes[0] if dims > 1 else 1
    planes = operation.sizes[1] if dims > 2 else 1
    return planes, rows, operation.length


def _window(
    context: Context,
    operation: Dma,
    end: tuple[int | None, int],
    dims: int,
    write: bool,
) -> Bytes:
    shape, strides = layout(operation, dims)
    region, address = end
    if region is not None:
        address += context.base(region)
        return context.bus.window(address, shape, strides, np.dtype(np.uint8), write)
    size = shape[0] * shape[1] * shape[2]
    if dims > 1 or address + size > context.shram.size:
        raise NpuFault(
            "bus", f"a transfer of {counted(size, 'byte')} at 0x{address:x} is outside SHRAM"
        )
    return context.shram.memory[address : address + size].reshape(shape)
