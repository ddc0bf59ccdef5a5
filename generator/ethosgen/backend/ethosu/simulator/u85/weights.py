"""Convert U85's weight streams and scale records to arrays in TFLite's order.

The encoder (Regor's ethos_u85_weight_encoder.cpp) iterates over blocks of output channels, blocks
of input channels (back and forth), sub-kernels, strides and microblocks. It deals groups of four
output channels of a microblock to the streams in turn. The same iteration here yields, for each
weight of a stream, its index in an array (O, H, W, I).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import mlw
from ethosgen.backend.ethosu.simulator.operation import Convolution
from ethosgen.backend.ethosu.simulator.u85 import fast
from ethosgen.backend.ethosu.simulator.u85.operation import U85Layout, U85Output
from ethosgen.backend.ethosu.simulator.weights import SLAB, Records, place_pieces
from ethosgen.backend.ethosu.simulator.weights import decode_records as decode_streams
from ethosgen.values.errors import NpuFault
from ethosgen.values.multiples import rounded_up

_GROUP = 4
"""Output channels that a stream has in turn."""
_MAX_PARTS = 1 << 16
_PADDED = -1


@dataclass(frozen=True)
class U85Traversal:
    """The order of weights; `shape` is (O, H, W, I), `stride` height before width.

    A microblock's elements are padded to a multiple of `round_to`. In a depthwise convolution,
    `surplus` more follow each such group.
    """

    shape: tuple[int, int, int, int]
    depthwise: bool
    streams: int
    stream: int
    ofm_block_depth: int
    ifm_block_depth: int
    ofm_ublock: int
    ifm_ublock: int
    step: int
    sub_kernel: tuple[int, int]
    stride: tuple[int, int]
    round_to: int
    surplus: int
    fast: bool


def traversals(operation: Convolution, accelerator: EthosU) -> tuple[U85Traversal, ...]:
    """Return the order of each decoder's weights; a fast stream has those of all."""
    layout = operation.layout
    assert isinstance(layout, U85Layout) and accelerator.u85 is not None
    wide = operation.ifm.dtype[-1] != "1"
    part_kernel = layout.part_kernel_first and not operation.depthwise
    ublock, round_to = layout.ifm_block_depth, 1
    if operation.depthwise:
        ublock, round_to = 1, 10
    elif part_kernel:
        round_to = 10 if wide or layout.sparse else 5
        ublock = 8 if wide and not layout.sparse else ublock
    surplus = 0
    if operation.depthwise and (wide or accelerator.macs > 256):
        surplus = 2 if accelerator.macs <= 512 else 6
    streams = 1 << accelerator.u85.decoders_log2
    return tuple(
        U85Traversal(
            shape=(
                operation.ofm.shape[2],
                *operation.kernel.size,
                1 if operation.depthwise else operation.ifm_depth,
            ),
            depthwise=operation.depthwise,
            streams=streams,
            stream=stream,
            ofm_block_depth=layout.ofm_block_depth,
            ifm_block_depth=layout.ifm_block_depth,
            ofm_ublock=layout.ofm_ublock_depth,
            ifm_ublock=ublock,
            step=1 if operation.depthwise else 16 if layout.sparse else 8,
            sub_kernel=(
                layout.sub_kernel // operation.kernel.dilation[0],
                layout.sub_kernel // operation.kernel.dilation[1],
            ),
            stride=operation.kernel.stride if part_kernel or operation.depthwise else (1, 1),
            round_to=round_to,
            surplus=surplus,
            fast=layout.fast,
        )
        for stream in range(streams)
    )


def _elements(order: U85Traversal, corner: tuple[int, int]) -> list[int]:
    """Return the kernel elements of a sub-kernel as y * width + x, _PADDED for padding."""
    _, height, width, _ = order.shape
    rows = min(height - corner[0], order.sub_kernel[0])
    columns = min(width - corner[1], order.sub_kernel[1])
    left = rounded_up(rows * columns, order.round_to)
    elements: list[int] = []
    for first_y in range(order.stride[0]):
        for first_x in range(order.stride[1]):
            ys = range(first_y, rows, order.stride[0])
            xs = range(first_x, columns, order.stride[1])
            for turn, y in enumerate(ys):  # rows run back and forth
                for x in xs if turn % 2 == 0 else reversed(xs):
                    elements.append((corner[0] + y) * width + corner[1] + x)
                    left -= 1
                    if order.surplus and left % order.round_to == 0:
                        elements += [_PADDED] * order.surplus
    if left:
        elements += [_PADDED] * (left + order.surplus)
    return elements


def _blocks(order: U85Traversal) -> Iterator[tuple[int, int]]:
    """Yield the first output and input channel of each pair of blocks."""
    starts = list(range(0, order.shape[3], order.ifm_block_depth))
    for ofm_block in range(0, order.shape[0], order.ofm_block_depth):
        for ifm_block in starts:
            yield ofm_block, ifm_block
        starts.reverse()


def _kernels(order: U85Traversal) -> list[NDArray[np.int32]]:
    """Return the kernel elements of each sub-kernel."""
    _, height, width, _ = order.shape
    corners = [
        (y, x)
        for x in range(0, width, order.sub_kernel[1])
        for y in range(0, height, order.sub_kernel[0])
    ]
    return [np.array(_elements(order, corner), np.int32) for corner in corners]


def _microblocks(order: U85Traversal, ofm_block: int, ifm_block: int) -> tuple[range, range]:
    """Return the first output and input channel of each microblock in a pair of blocks."""
    out_depth, _, _, in_depth = order.shape
    deep_in = 1 if order.depthwise else min(order.ifm_block_depth, in_depth - ifm_block)
    deep_out = min(order.ofm_block_depth, out_depth - ofm_block)
    return (
        range(ofm_block, ofm_block + deep_out, order.ofm_ublock),
        range(ifm_block, ifm_block + deep_in, order.ifm_ublock),
    )


def _channels(order: U85Traversal) -> tuple[range, range]:
    """Return the first channels of a stream's groups in a microblock, of outputs and of inputs."""
    groups = range(_GROUP * order.stream, order.ofm_ublock, _GROUP * order.streams)
    return groups, range(0, order.ifm_ublock, order.step)


def count(order: U85Traversal) -> int:
    """Return the number of weights in a stream, with padding."""
    groups, steps = _channels(order)
    inside = len(groups) * _GROUP * len(steps) * order.step
    elements = sum(kernel.size for kernel in _kernels(order))
    pairs = (_microblocks(order, *block) for block in _blocks(order))
    return inside * elements * sum(len(outs) * len(ins) for outs, ins in pairs)


def places(order: U85Traversal) -> Iterator[NDArray[np.int32]]:
    """Yield each weight's index in a flat (O, H, W, I) array, -1 for padding, in stream order.

    They are yielded in slabs of whole microblocks, since each index needs tens of bytes.
    """
    kernels = _kernels(order)
    groups, steps = _channels(order)
    inside = len(groups) * _GROUP * len(steps) * order.step
    for block in _blocks(order):
        outs, ins = _microblocks(order, *block)
        for kernel in kernels:
            most = max(1, SLAB // (inside * kernel.size))
            for first_in in ins:
                for first in range(0, len(outs), most):
                    yield _slab(order, outs[first : first + most], first_in, kernel)


def _slab(
    order: U85Traversal, outs: range, first_in: int, kernel: NDArray[np.int32]
) -> NDArray[np.int32]:
    out_depth, height, width, in_depth = order.shape
    groups, steps = _channels(order)
    first_out, element, inner, group, out_z, in_z = np.ix_(
        np.array(outs, np.int32),
        kernel,
        np.array(steps, np.int32),
        np.array(groups, np.int32),
        np.arange(_GROUP, dtype=np.int32),
        np.arange(order.step, dtype=np.int32),
    )
    in_channel = first_in + inner + in_z
    out_channel = first_out + group + out_z
    index = (out_channel * (height * width) + element) * in_depth + in_channel
    valid = (in_channel < in_depth) & (out_channel < out_depth) & (element >= 0)
    index[~valid] = -1
    result: NDArray[np.int32] = index.ravel()
    return result


def _interleaved(orders: Sequence[U85Traversal]) -> Iterator[NDArray[np.int32]]:
    """Yield the places of a fast stream: those of all decoders, a piece of each in turn."""
    first = orders[0]
    size = first.ofm_ublock * first.ifm_ublock * first.round_to // first.streams
    for slabs in zip(*(places(order) for order in orders), strict=True):
        yield np.stack([slab.reshape(-1, size) for slab in slabs], axis=1).ravel()


class U85Weights:
    """U85's streams; see context.WeightDecoder."""

    def __init__(self, accelerator: EthosU) -> None:
        """Store the NPU."""
        self._accelerator = accelerator

    def orders(self, operation: Convolution) -> tuple[U85Traversal, ...]:
        """Return the order of each decoder's weights."""
        return traversals(operation, self._accelerator)

    def decode(
        self, streams: Sequence[bytes | memoryview], orders: tuple[U85Traversal, ...]
    ) -> NDArray[np.int16]:
        """Decode the streams into one array of (O, H, W, I); NpuFault if they are malformed."""
        order = orders[0]
        parts = math.ceil(order.shape[0] / order.ofm_block_depth) * math.ceil(
            order.shape[3] / order.ifm_block_depth
        )
        if parts > _MAX_PARTS:
            raise NpuFault("timeout", "weights in such small blocks are too slow for the model")
        flat = np.zeros(math.prod(order.shape), np.int16)
        if order.fast:
            wanted = sum(count(order) for order in orders)
            place_pieces(fast.pieces(streams[0], wanted), _interleaved(orders), flat)
        else:
            for data, own in zip(streams, orders, strict=True):
                place_pieces(mlw.pieces(data, count(own)), places(own), flat)
        return flat.reshape(order.shape)

    def records(self, streams: tuple[bytes, ...], operation: Convolution) -> Records:
        """Decode the scale records of a convolution."""
        assert isinstance(operation.ofm, U85Output)
        return decode_records(streams[0], operation.ofm.shape[2], bool(operation.ofm.acc_format))


def decode_records(data: bytes, channels: int, wide: bool) -> Records:
    """Decode 10-byte records: bias, scale, shift.

    They have 32, 31 and 6 bits, or with accumulators of 48 bits (`wide`) 48, 15 and 6. NpuFault of
    kind "parse" if there are too few.
    """
    bias_bytes = 6 if wide else 4
    records = decode_streams((data,), channels, bias_bytes, 8 - bias_bytes)
    return replace(records, scale=records.scale & (1 << 63 - 8 * bias_bytes) - 1)
