"""Estimates U85's cycles from a command stream, as Regor's ethos_u85_performance.cpp does.

A convolution or a pooling processes the OFM in blocks. For a block, the MAC unit needs some cycles
per microblock and kernel step, and the output unit some cycles per element. Both work in parallel
on different blocks, but no block is faster than a quarter of both and of its transfers together,
because four blocks are in flight. The first block's way in and the last one's way out are added.
Elementwise operations need only the output unit. Operations in a chain add their cycles per element
of the output unit to those of the chain's first.

If copies of weights divide a convolution by its channels, its parts cost no more than the whole.

Copies run in parallel with operations, see simulator/cycles.py; Regor's limits of outstanding
operations and copies hold them back. As in Regor, the copy of a table counts only before an
operation that does nothing but look up: for a table that another operation applies to its results,
Regor has no cost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import ActivationFormat, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    ActivationReverse,
    ActivationTranspose,
    U85AccFormat,
    U85ActivationFunction,
    U85ElementwiseMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.cycles import (
    Span,
    clipped,
    mac_cycles,
    overlapped,
    sub_kernels,
)
from ethosgen.backend.ethosu.simulator.operation import (
    FeatureMap,
    IssuedOperation,
    Operation,
    Ports,
    Shape,
)
from ethosgen.backend.ethosu.simulator.u85.blocks import (
    Kernel,
    bits_of,
    block_count,
    ifm_block,
    ifm_block_depth,
    microblock,
    output_of,
    source_of,
    units_of,
)
from ethosgen.backend.ethosu.simulator.u85.memories import READ_ONLY_REGION, RegionMemories
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Chained,
    Resize,
    U85Convolution,
    U85Dma,
    U85Elementwise,
    U85Layout,
    U85Output,
    U85Pool,
)
from ethosgen.backend.ethosu.simulator.weights import RECORD_BYTES
from ethosgen.values.multiples import pieces, rounded_up

_Pass = U85Elementwise | Resize

_IN_FLIGHT = 4
"""Blocks that the NPU processes at a time."""
_MOST_KERNELS = 2
_MOST_COPIES = 4
"""Outstanding operations and copies: Regor's MaxOutstandingKernelOps and MaxOutstandingDMAOps."""
_SUB_KERNEL = 8
_BRICK = 16
_LONGEST_WRITE = 64
_DIVISION_CYCLES = 33.0
_COPIES = (PoolingMode.AVERAGE, U85PoolingMode.SUM, U85PoolingMode.NONE)
"""Poolings that change no element if the kernel is 1x1."""
_HALF_RATE = (ActivationTranspose.WHC, ActivationTranspose.WCH, ActivationTranspose.CWH)
"""Transposes that exchange height and width."""
_LOOKED_UP: dict[int, int] = {
    U85ActivationFunction.LUT_S8_S16: 8,
    U85ActivationFunction.LUT_S8_S32: 8,
    U85ActivationFunction.LUT_S16_S32: 16,
}
"""Bits of results before a table widens them."""


@dataclass(frozen=True)
class _U85OutputRates:
    """Cycles per element of the output unit, by the size of results."""

    bits8: float
    bits16: float
    bits32: float
    bits64: float
    wide: float
    """A 32-bit operand or result that passes a chaining buffer, or two 32-bit operands."""
    wide32: float
    """Two 32-bit operands and a 32-bit result."""
    turned: float
    resize: tuple[float, float]
    """Enlarging little or not at all, for 8 and 16 bits."""
    enlarge: tuple[float, float]


_RATES: dict[int, _U85OutputRates] = {
    128: _U85OutputRates(0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, (0.5, 1.0), (0.5, 1.0)),
    256: _U85OutputRates(0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, (0.25, 0.5), (0.25, 0.5)),
    512: _U85OutputRates(0.125, 0.125, 0.25, 0.5, 0.25, 0.25, 0.25, (0.125, 0.25), (0.125, 0.25)),
    1024: _U85OutputRates(
        0.0625, 0.125, 0.25, 0.5, 0.125, 0.25, 0.125, (0.125, 0.125), (0.0625, 0.125)
    ),
    2048: _U85OutputRates(
        0.03125, 0.0625, 0.125, 0.25, 0.0625, 0.125, 0.0625, (0.0625, 0.0625), (0.03125, 0.0625)
    ),
}
"""Regor's s_EthosU85PerfInfo."""


def spans(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None = None
) -> Iterator[Span]:
    """Yield the cycles in which U85 runs each step."""
    memories = RegionMemories.of(accelerator, steps, ports)
    return overlapped(_timed(accelerator, memories, steps), _MOST_KERNELS, _MOST_COPIES)


def memory_rates(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None, regions: int
) -> list[float]:
    """Return the bytes per cycle of each region's memory."""
    memories = RegionMemories.of(accelerator, steps, ports)
    return [memories[region].bandwidth for region in range(regions)]


def _timed(
    accelerator: EthosU, memories: RegionMemories, steps: Sequence[IssuedOperation]
) -> Iterator[tuple[IssuedOperation, float | None]]:
    """Yield each step with its cycles; a chain's belong to its first operation."""
    last: Operation | None = None
    for index, step in enumerate(steps):
        operation = step.operation
        if isinstance(operation, U85Dma):
            free = operation.destination.region is None and not _looks_up(steps[index + 1 :])
            yield step, 0.0 if free else memories.copy_cycles(operation)
        elif _follows(operation):
            yield step, None
        else:
            chain = _BufferChain(accelerator, memories, _members(steps, index))
            yield step, chain.cycles(is_more=_is_more_depth(operation, last))
            last = operation


def _is_more_depth(operation: Operation, last: Operation | None) -> bool:
    """Return whether an operation computes more channels of the last one's OFM.

    Regor divides a convolution if it copies the weights of a part while the NPU computes another.
    All parts but the last have whole bricks.
    """
    if not isinstance(operation, U85Convolution) or not isinstance(last, U85Convolution):
        return False
    is_copied = any(stream.region != READ_ONLY_REGION for stream in operation.weights)
    if not is_copied or operation.weights == last.weights or operation.ifm == last.ofm.fm:
        return False
    before, after, depth = last.ofm.fm, operation.ofm.fm, last.ofm.shape[2]
    bricks = depth // _BRICK
    is_brick = before.layout is ActivationFormat.NHCWB16
    ahead = bricks * before.strides[2] if is_brick else depth * bits_of(before.dtype) // 8
    if bricks * _BRICK != depth or after.bases[0] != before.bases[0] + ahead:
        return False
    return _apart_from_depth(operation) == _apart_from_depth(last)


def _apart_from_depth(operation: U85Convolution) -> tuple[object, ...]:
    """Return the properties that all parts of a convolution divided in depth share."""
    ifm, ofm = operation.ifm, operation.ofm
    source = _without_place(ifm) if operation.depthwise else ifm
    sides = ofm.shape[:2]
    return source, _without_place(ofm.fm), sides, operation.kernel, operation.padding


def _without_place(fm: FeatureMap) -> FeatureMap:
    """Return the layout that parts of a feature map share."""
    return replace(fm, bases=(0, 0, 0, 0))


def _looks_up(steps: Sequence[IssuedOperation]) -> bool:
    """Return whether the first operation does nothing but copy its IFM through a table."""
    operations = (step.operation for step in steps)
    first = next((operation for operation in operations if not isinstance(operation, U85Dma)), None)
    if first is None or not _copies(first) or _is_turned(output_of(first)):
        return False
    return output_of(first).activation.function != U85ActivationFunction.LUT_NONE


def _copies(operation: Operation) -> bool:
    if not isinstance(operation, U85Pool) or operation.mode not in _COPIES:
        return False
    return operation.kernel.size == (1, 1)


def _is_turned(ofm: U85Output) -> bool:
    is_transposed = ofm.transpose is not ActivationTranspose.HWC
    return is_transposed or ofm.reverse is not ActivationReverse.NONE


def _members(steps: Sequence[IssuedOperation], first: int) -> list[Operation]:
    members = [steps[first].operation]
    for step in steps[first + 1 :]:
        if not isinstance(step.operation, U85Dma):
            if not _follows(step.operation):
                break
            members.append(step.operation)
    return members


def _follows(operation: Operation) -> bool:
    """Return whether an operation reads what another of its chain has left in a buffer."""
    return isinstance(operation, U85Elementwise) and any(
        isinstance(operand.operand, Chained) for operand in operation.operands.values()
    )


class _BufferChain:
    """An operation, with those that continue it through the chaining buffers."""

    def __init__(
        self, accelerator: EthosU, memories: RegionMemories, members: Sequence[Operation]
    ) -> None:
        self._accelerator = accelerator
        self._memories = memories
        self._first, self._members = members[0], members
        self._ofm = output_of(self._first)
        self._shape = self._ofm.stored_shape
        """As Regor has it: it divides a transposed OFM into blocks of the original."""
        is_chained = self._ofm.chain is not None
        self._layout = ActivationFormat.NHCWB16 if is_chained else self._ofm.fm.layout

    def cycles(self, is_more: bool = False) -> float:
        """Return the cycles of the whole chain on its own.

        With `is_more`, its blocks follow those of the same operation.
        """
        rate = sum(_rate(self._accelerator, member) for member in self._members)
        if isinstance(self._first, U85Convolution | U85Pool):
            return self._windowed(self._first, rate, is_more)
        assert isinstance(self._first, U85Elementwise | Resize)
        return self._elementwise(self._first, rate)

    def _windowed(self, operation: Kernel, rate: float, is_more: bool) -> float:
        block = clipped(self._ofm.block, self._shape)
        count = block_count(operation, self._accelerator, self._shape)
        mac = _block_cycles(operation, self._accelerator, self._shape)
        output: float = math.ceil(rate * math.prod(block))
        if isinstance(operation, U85Convolution) and operation.scales:
            latency = self._memories[operation.scales[0].region].read_latency
            output = max(output, RECORD_BYTES * block[2] * latency / 256)
        part = ifm_block(operation, self._accelerator)
        before = self._read(source_of(operation), operation.ifm_shape, part)
        after = self._written()
        transfers = abs(after - before) if count > 1 else 0
        least = (transfers + mac + output) / _IN_FLIGHT
        slower, faster = sorted((max(mac, least), max(output, least)), reverse=True)
        ends = 0.0 if is_more else faster + before + after
        return slower * count + ends

    def _elementwise(self, operation: _Pass, rate: float) -> float:
        height, width, depth = self._shape
        if self._layout is ActivationFormat.NHCWB16:
            depth = rounded_up(depth, _BRICK)
        elements = height * width * depth
        # No operand is in memory if all are scalars or chained.
        block = max([self._written(), *self._operands(operation)])
        least = (block / math.prod(self._ofm.block) + rate) / _IN_FLIGHT
        return math.ceil(max(least, rate) * elements)

    def _operands(self, operation: _Pass) -> Iterator[float]:
        """Yield the cycles until a block of each operand is in the NPU."""
        block = self._ofm.block
        if isinstance(operation, Resize):
            yield self._read(operation.ifm, operation.ifm_shape, block)
            return
        for operand in operation.operands.values():
            if isinstance(operand.operand, FeatureMap):
                yield self._read(operand.operand, operand.shape(self._ofm.shape), block)

    def _read(self, fm: FeatureMap, shape: Shape, block: Shape) -> float:
        """Return the cycles until a block of an IFM is in the NPU."""
        memory, element = self._memories[fm.region], bits_of(fm.dtype) // 8
        size = math.prod(clipped(block, shape)) * element
        burst = _read_burst(fm.layout, element, shape, block)
        return memory.read_latency + memory.transfer_cycles(size, burst)

    def _written(self) -> float:
        """Return the cycles until a block of the first OFM is in memory.

        Regor counts a chaining buffer as memory of the arena.
        """
        fm, shape, block = self._ofm.fm, self._shape, self._ofm.block
        is_chained = self._ofm.chain is not None
        memory = self._memories.arena if is_chained else self._memories[fm.region]
        element = bits_of(fm.dtype) // 8
        size = math.prod(clipped(block, shape)) * element
        burst = _write_burst(self._layout, element, shape, block)
        return memory.write_latency + memory.transfer_cycles(size, burst)


def _read_burst(layout: ActivationFormat, element: int, shape: Shape, block: Shape) -> int:
    """Return the contiguous bytes of an IFM's block in memory."""
    if layout is ActivationFormat.NHCWB16:
        return _brick_burst(element, shape, block)
    whole = shape[2] * element == block[2]
    return element * block[2] * (block[1] if whole else 1)


def _write_burst(layout: ActivationFormat, element: int, shape: Shape, block: Shape) -> int:
    """Return the contiguous bytes of an OFM's block in memory."""
    if layout is ActivationFormat.NHCWB16:
        return _brick_burst(element, shape, block)
    if block[2] <= _BRICK and shape[2] * element == block[2]:
        return element * block[1] * block[2]
    return min(_LONGEST_WRITE, _BRICK * element, block[2] * element)


def _brick_burst(element: int, shape: Shape, block: Shape) -> int:
    whole = shape[1] * element * _BRICK == block[2]
    return element * block[1] * (block[2] if whole else _BRICK)


def _rate(accelerator: EthosU, operation: Operation) -> float:
    """Return the output unit's cycles per element."""
    rates = _RATES[accelerator.macs]
    ofm = output_of(operation)
    turned = ofm.transpose in _HALF_RATE or ofm.reverse is ActivationReverse.W
    is_alone = _copies(operation) and _is_turned(ofm)
    plain = rates.bits8 if is_alone else _plain_rate(accelerator, operation)
    return max(rates.turned if turned else 0.0, plain)


def _plain_rate(accelerator: EthosU, operation: Operation) -> float:
    rates = _RATES[accelerator.macs]
    ofm = output_of(operation)
    result = _LOOKED_UP.get(ofm.activation.function, bits_of(ofm.fm.dtype))
    if isinstance(operation, Resize):
        ratios = [
            (size + first // 2) // first
            for size, first in zip(ofm.shape[:2], operation.ifm_shape[:2], strict=True)
        ]
        enlarges = min(ratios) >= accelerator.macs // 512
        rate = rates.enlarge if enlarges else rates.resize
        return rate[bits_of(operation.ifm.dtype) > 8]
    is_binary = isinstance(operation, U85Elementwise) and operation.second is not None
    if isinstance(operation, U85Elementwise):
        if operation.mode is U85ElementwiseMode.DIV:
            return _DIVISION_CYCLES
        operand = bits_of(operation.first.operand.dtype)
    else:
        assert isinstance(operation, U85Convolution | U85Pool)
        operand = bits_of(source_of(operation).dtype)
    if ofm.chain is not None and 32 in (operand, result):
        return rates.wide
    if result == 64:
        return rates.bits64
    if is_binary and operand == 32:
        return rates.wide32 if result == 32 else rates.wide
    return {8: rates.bits8, 16: rates.bits16}.get(result, rates.bits32)


@mac_cycles.register
def _(operation: U85Convolution | U85Pool, accelerator: EthosU) -> float:
    shape = output_of(operation).shape
    blocks = block_count(operation, accelerator, shape)
    return blocks * _block_cycles(operation, accelerator, shape)


def _block_cycles(operation: Kernel, accelerator: EthosU, shape: Shape) -> float:
    """Return the MAC unit's cycles for a block of an OFM of this shape."""
    units = units_of(operation, accelerator, shape)
    block = 0.0
    for elements, count in sub_kernels(operation):
        block += count * _sub_kernel_cycles(accelerator, operation, units, elements)
    if _sums_channels(operation):
        deep = min(ifm_block_depth(operation, accelerator), operation.ifm_depth)
        block *= pieces(operation.ifm_depth, deep)
    return block


def _sums_channels(operation: Kernel) -> bool:
    if isinstance(operation, U85Convolution):
        return not operation.depthwise
    return operation.mode is PoolingMode.REDUCE_SUM


def _sub_kernel_cycles(
    accelerator: EthosU, operation: Kernel, units: Shape, elements: int
) -> float:
    """Return the MAC unit's cycles for a part of the kernel and a block of microblocks."""
    assert accelerator.u85 is not None
    element = bits_of(source_of(operation).dtype) // 8
    area, deep = units[0] * units[1], units[2]
    weights = 4 * microblock(accelerator, output_of(operation).microblock)[2]
    weights >>= accelerator.u85.decoders_log2
    if isinstance(operation, U85Pool) and operation.mode is not PoolingMode.REDUCE_SUM:
        work = max(4, elements) * area * deep * 4 * element
        return work + _delay(accelerator, operation, units, 1)
    if isinstance(operation, U85Convolution) and operation.depthwise:
        steps = pieces(elements, 4)
        work = max(weights, 4 * area * element) * steps * deep
        return work + _delay(accelerator, operation, units, steps)
    layout = operation.layout if isinstance(operation, U85Convolution) else None
    assert layout is None or isinstance(layout, U85Layout)
    depth = min(ifm_block_depth(operation, accelerator), operation.ifm_depth)
    passes = 1
    if layout is not None and layout.part_kernel_first:
        steps, passes = pieces(elements, 2 if element == 2 else 4), pieces(depth, 8)
        work = max(weights, 4 * area) * steps * deep * passes
    else:
        steps = elements
        work = max(weights, depth // 8 * area) * steps * deep * element
    if layout is not None and layout.sparse:
        work //= 2
    return work + _delay(accelerator, operation, units, steps) * passes


def _delay(accelerator: EthosU, operation: Kernel, units: Shape, steps: int) -> int:
    """Return the cycles for which the MAC unit waits for its own results in a small block."""
    wide = operation.ofm.acc_format is U85AccFormat.I48
    delay = 3 if wide and accelerator.macs <= 128 else 2
    if units[0] * units[1] > 1:
        return 0
    return delay * steps if units[2] == 1 else delay * (steps - 1) * units[2]
