"""Convert weights and scale records from their streams to arrays in TFLite's order.

The encoder (Regor's ethos_u55_weight_encoder.cpp) iterates over blocks of output channels, blocks
of input channels, sub-kernels and micro-blocks, and pads partial blocks with zeros. Here the same
iteration yields, for each weight in the stream, its index in an array (O, H, W, I).
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import mlw
from ethosgen.backend.ethosu.simulator.operation import Convolution
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

RECORD_BYTES = 10
MAX_WEIGHTS = 1 << 24
_MAX_PARTS = 1 << 16
SLAB = 1 << 12
"""Approximate number of weights placed at once."""

_IFM_BLOCK_DEPTH = 32
_IFM_BLOCK_DEPTH_NARROW = 16


@dataclass(frozen=True)
class Traversal:
    """The order of one core's weights; `shape` is (O, H, W, I) of that core."""

    shape: tuple[int, int, int, int]
    depthwise: bool
    part_kernel_first: bool
    ofm_block_depth: int
    ifm_block_depth: int
    ofm_ublock: int
    ifm_ublock: int
    sub_kernel: tuple[int, int]
    """Height and width of a sub-kernel, in kernel elements."""
    round_to: int
    """A sub-kernel's number of elements is padded to a multiple of this."""


def traversal(operation: Convolution, accelerator: EthosU, core: int) -> Traversal:
    """Return the order in which `core` reads the weights of a convolution."""
    cores = len(operation.weights)
    height, width = operation.kernel.size
    wide_ifm = operation.ifm.dtype[-1] != "1"
    narrow = operation.layout.part_kernel_first or wide_ifm
    round_to = 1
    if operation.depthwise:
        round_to = 4
    elif operation.layout.part_kernel_first:
        round_to = 2 if wide_ifm else 4
    return Traversal(
        shape=(
            -(-(operation.ofm.shape[2] - core) // cores),
            height,
            width,
            1 if operation.depthwise else operation.ifm_depth,
        ),
        depthwise=operation.depthwise,
        part_kernel_first=operation.layout.part_kernel_first and not operation.depthwise,
        ofm_block_depth=-(-(operation.layout.ofm_block_depth - core) // cores),
        ifm_block_depth=_IFM_BLOCK_DEPTH_NARROW if narrow else _IFM_BLOCK_DEPTH,
        ofm_ublock=4 if accelerator.macs == 32 else 8,
        ifm_ublock=8,
        sub_kernel=(
            operation.layout.sub_kernel // operation.kernel.dilation[0],
            operation.layout.sub_kernel // operation.kernel.dilation[1],
        ),
        round_to=round_to,
    )


@dataclass(frozen=True, slots=True)
class _SubKernel:
    """A sub-kernel of a pair of blocks: one contiguous piece, including padding.

    `extents` are its axes in stream order: outer IFM micro-blocks, OFM micro-blocks, kernel
    elements, inner IFM micro-blocks, channels of an OFM micro-block, and of an IFM micro-block.
    """

    ofm_block: int
    ifm_block: int
    corner: tuple[int, int]
    rows: int
    columns: int
    extents: tuple[int, int, int, int, int, int]


def _sub_kernels(order: Traversal) -> Iterator[_SubKernel]:
    """Yield all sub-kernels in stream order."""
    out_depth, height, width, in_depth = order.shape
    for ofm_block in range(0, out_depth, order.ofm_block_depth):
        for ifm_block in range(0, in_depth, order.ifm_block_depth):
            for y in range(0, height, order.sub_kernel[0]):
                for x in range(0, width, order.sub_kernel[1]):
                    yield _sub_kernel(order, ofm_block, ifm_block, (y, x))


def _sub_kernel(
    order: Traversal, ofm_block: int, ifm_block: int, corner: tuple[int, int]
) -> _SubKernel:
    out_depth, height, width, in_depth = order.shape
    rows = min(height - corner[0], order.sub_kernel[0])
    columns = min(width - corner[1], order.sub_kernel[1])
    elements = -(-rows * columns // order.round_to) * order.round_to
    if order.depthwise:
        ifm_outer, ifm_inner, in_ublock = 1, 1, 1
    elif order.part_kernel_first:
        clipped = min(order.ifm_block_depth, in_depth - ifm_block)
        ifm_outer, ifm_inner, in_ublock = -(-clipped // order.ifm_ublock), 1, order.ifm_ublock
    else:
        ifm_outer, ifm_inner = 1, order.ifm_block_depth // order.ifm_ublock
        in_ublock = order.ifm_ublock
    block = min(order.ofm_block_depth, out_depth - ofm_block)
    ofm_ublocks = -(-block // order.ofm_ublock)
    extents = (ifm_outer, ofm_ublocks, elements, ifm_inner, order.ofm_ublock, in_ublock)
    return _SubKernel(ofm_block, ifm_block, corner, rows, columns, extents)


def _places(order: Traversal, part: _SubKernel) -> Iterator[NDArray[np.int32]]:
    """Yield each weight's index in a flat (O, H, W, I) array, -1 for padding, in stream order.

    They are yielded in slabs of whole micro-blocks, since each index needs tens of bytes.
    """
    outers, ofm_ublocks, *inside = part.extents
    ublocks = outers * ofm_ublocks
    step = max(1, SLAB // math.prod(inside))
    for first in range(0, ublocks, step):
        yield _slab_places(order, part, np.arange(first, min(first + step, ublocks)))


def _slab_places(
    order: Traversal, part: _SubKernel, ublocks: NDArray[np.int64]
) -> NDArray[np.int32]:
    out_depth, height, width, in_depth = order.shape
    y0, x0 = part.corner
    axes = (np.arange(extent, dtype=np.int32) for extent in part.extents[2:])
    ublock, element, inner, out_z, in_z = np.ix_(ublocks.astype(np.int32), *axes)
    outer, ofm_ublock = ublock // part.extents[1], ublock % part.extents[1]
    in_channel = part.ifm_block + (outer + inner) * order.ifm_ublock + in_z
    out_channel = part.ofm_block + ofm_ublock * order.ofm_ublock + out_z
    row, column = element // part.columns, element % part.columns
    kernel = (y0 + row) * width + x0 + column
    index = (out_channel * (height * width) + kernel) * in_depth + in_channel
    valid = (in_channel < in_depth) & (out_channel < out_depth) & (row < part.rows)
    index[~valid] = -1
    result: NDArray[np.int32] = index.ravel()
    return result


def decode_weights(
    streams: Sequence[bytes | memoryview], orders: tuple[Traversal, ...]
) -> NDArray[np.int16]:
    """Decode and merge the cores' streams into one array of (O, H, W, I), values in -255..255.

    Core i has output channels i, i + cores, … Raises NpuFault of kind "parse" for malformed or
    short streams.
    """
    cores = len(streams)
    out_depth = sum(order.shape[0] for order in orders)
    merged = np.zeros((out_depth, *orders[0].shape[1:]), np.int16)
    for core, (data, order) in enumerate(zip(streams, orders, strict=True)):
        if order.shape[0] == 0:
            continue
        if cores == 1:
            _decode_core(data, order, merged.reshape(-1))
            continue
        flat = np.zeros(math.prod(order.shape), np.int16)
        _decode_core(data, order, flat)
        merged[core::cores] = flat.reshape(order.shape)
    return merged


def _decode_core(data: bytes | memoryview, order: Traversal, flat: NDArray[np.int16]) -> None:
    """Decode one core's stream into a flat (O, H, W, I), a sub-kernel at a time."""
    out_depth, height, width, in_depth = order.shape
    if order.ofm_block_depth == 0:
        raise NpuFault("parse", "a block of one output channel leaves nothing for the second core")
    blocks = -(-out_depth // order.ofm_block_depth) * -(-in_depth // order.ifm_block_depth)
    sub_kernels = -(-height // order.sub_kernel[0]) * -(-width // order.sub_kernel[1])
    if blocks * sub_kernels > _MAX_PARTS:
        raise NpuFault("timeout", "weights in such small blocks are too slow for the model")
    wanted = sum(math.prod(part.extents) for part in _sub_kernels(order))
    pieces = mlw.pieces(data, wanted)
    places = (index for part in _sub_kernels(order) for index in _places(order, part))
    place_pieces(pieces, places, flat)


def place_pieces(
    pieces: Iterator[NDArray[np.int16]],
    places: Iterable[NDArray[np.int32]],
    flat: NDArray[np.int16],
) -> None:
    """Store decoded weights at their indices in `flat`; -1 is padding."""
    values = np.zeros(0, np.int16)
    for index in places:
        joined = [values]
        while sum(piece.size for piece in joined) < index.size:
            joined.append(next(pieces))
        values = np.concatenate(joined)
        taken, values = values[: index.size], values[index.size :]
        kept = index >= 0
        if kept.all():
            flat[index] = taken
        else:
            flat[index[kept]] = taken[kept]


@dataclass(frozen=True)
class Records:
    """Scale records of all output channels: int64 arrays."""

    bias: NDArray[np.int64]
    scale: NDArray[np.int64]
    shift: NDArray[np.int64]

    @property
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """The arrays by name."""
        return {"bias": self.bias, "scale": self.scale, "shift": self.shift}


def decode_records(
    streams: tuple[bytes, ...], channels: int, bias_bytes: int = 5, scale_bytes: int = 4
) -> Records:
    """Decode 10-byte records: signed bias, scale, 6-bit shift.

    Raises NpuFault of kind "parse" if a stream has too few.
    """
    cores = len(streams)
    merged = np.zeros((channels, RECORD_BYTES), np.uint8)
    for core, data in enumerate(streams):
        count = -(-(channels - core) // cores)
        if len(data) < count * RECORD_BYTES:
            raise NpuFault(
                "parse",
                f"a scale stream of {counted(len(data), 'byte')} is too short for "
                f"{counted(count, 'channel')}",
            )
        array = np.frombuffer(data, np.uint8, count * RECORD_BYTES)
        merged[core::cores] = array.reshape(count, RECORD_BYTES)
    wide = merged.astype(np.int64)
    end, sign = bias_bytes + scale_bytes, 8 * bias_bytes - 1
    bias = wide[:, :bias_bytes] @ (1 << 8 * np.arange(bias_bytes, dtype=np.int64))
    bias = np.where(bias >> sign & 1, bias - (1 << sign + 1), bias)
    scale = wide[:, bias_bytes:end] @ (1 << 8 * np.arange(scale_bytes, dtype=np.int64))
    return Records(bias, scale, wide[:, end] & 0x3F)


class BlockWeights:
    """The streams of U55 and U65; see context.WeightDecoder."""

    def __init__(self, accelerator: EthosU) -> None:
        """Store the NPU."""
        self._accelerator = accelerator

    def orders(self, operation: Convolution) -> tuple[Traversal, ...]:
        """Return the order of each core's weights."""
        cores = range(len(operation.weights))
        return tuple(traversal(operation, self._accelerator, core) for core in cores)

    def decode(
        self, streams: Sequence[bytes | memoryview], orders: tuple[Traversal, ...]
    ) -> NDArray[np.int16]:
        """Decode the cores' streams; see decode_weights."""
        return decode_weights(streams, orders)

    def records(self, streams: tuple[bytes, ...], operation: Convolution) -> Records:
        """Decode the scale records of a convolution; see decode_records."""
        return decode_records(streams, operation.ofm.shape[2])
