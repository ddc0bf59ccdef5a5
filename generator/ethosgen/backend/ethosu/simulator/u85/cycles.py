"""Estimates U85's cycles from a command stream, as Regor's ethos_u85_performance.cpp does.

A convolution or a pooling processes the OFM in blocks. For a block, the MAC unit needs some cycles
per microblock and kernel step, and the output unit some cycles per element. Both work in parallel
on different blocks, but no block is faster than a quarter of both and of its transfers together,
because four blocks are in flight. The first block's way in and the last one's way out are added.
Elementwise operations need the output unit alone. Operations in a chain add their cycles per
element of the output unit to those of the chain's first.

Copies run in parallel with operations, see simulator/cycles.py. As in Regor, the copy of a table
counts only before an operation that does nothing but look up: for a table that another operation
applies to its results, Regor has no cost.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import ActivationFormat, IfmUpscaleMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    AccFormat,
    ActivationFunction,
    ActivationReverse,
    ActivationTranspose,
    Microblock,
    U85ElementwiseMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.cycles import (
    ceil_div,
    clipped,
    mac_cycles,
    overlapped,
    sub_kernels,
)
from ethosgen.backend.ethosu.simulator.operation import (
    FeatureMap,
    IssuedOperation,
    Operation,
    Shape,
)
from ethosgen.backend.ethosu.simulator.u85.memories import Memories
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
from ethosgen.backend.ethosu.simulator.u85.state import UBLOCK_DEPTHS
from ethosgen.backend.ethosu.simulator.weights import RECORD_BYTES

_Kernel = U85Convolution | U85Pool
_Pass = U85Elementwise | Resize

_IN_FLIGHT = 4
"""Blocks that the NPU processes at a time."""
_SUB_KERNEL = 8
_BRICK = 16
_DIVISION_CYCLES = 33.0
_COPIES = (PoolingMode.AVERAGE, U85PoolingMode.SUM, U85PoolingMode.NONE)
"""Poolings that change no element if the kernel is 1x1."""
_HALF_RATE = (ActivationTranspose.WHC, ActivationTranspose.WCH, ActivationTranspose.CWH)
"""Transposes that exchange height and width."""


@dataclass(frozen=True)
class _Rates:
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


_RATES: dict[int, _Rates] = {
    128: _Rates(0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, (0.5, 1.0), (0.5, 1.0)),
    256: _Rates(0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, (0.25, 0.5), (0.25, 0.5)),
    512: _Rates(0.125, 0.125, 0.25, 0.5, 0.25, 0.25, 0.25, (0.125, 0.25), (0.125, 0.25)),
    1024: _Rates(0.0625, 0.125, 0.25, 0.5, 0.125, 0.25, 0.125, (0.125, 0.125), (0.0625, 0.125)),
    2048: _Rates(
        0.03125, 0.0625, 0.125, 0.25, 0.0625, 0.125, 0.0625, (0.0625, 0.0625), (0.03125, 0.0625)
    ),
}
"""Regor's s_EthosU85PerfInfo."""


def estimate(accelerator: EthosU, steps: Sequence[IssuedOperation]) -> int:
    """Return the cycles of a whole stream."""
    memories = Memories.of(accelerator, steps)
    return overlapped(_timed(accelerator, memories, steps))


def _timed(
    accelerator: EthosU, memories: Memories, steps: Sequence[IssuedOperation]
) -> Iterator[tuple[IssuedOperation, float]]:
    """Yield each step with its cycles; those of a chain belong to its first operation."""
    for index, step in enumerate(steps):
        operation = step.operation
        if isinstance(operation, U85Dma):
            free = operation.destination.region is None and not _looks_up(steps[index + 1 :])
            yield step, 0.0 if free else memories.copy_cycles(operation)
        elif _follows(operation):
            yield step, 0.0
        else:
            chain = _Chain(accelerator, memories, _members(steps, index))
            yield step, chain.cycles()


def _looks_up(steps: Sequence[IssuedOperation]) -> bool:
    """Return whether the first operation copies its IFM through a table."""
    operations = (step.operation for step in steps)
    first = next((one for one in operations if not isinstance(one, U85Dma)), None)
    if not isinstance(first, U85Pool) or first.mode not in _COPIES:
        return False
    is_copy = first.kernel.size == (1, 1)
    return is_copy and _output(first).activation.function != ActivationFunction.LUT_NONE


def _members(steps: Sequence[IssuedOperation], first: int) -> list[Operation]:
    found = [steps[first].operation]
    for step in steps[first + 1 :]:
        if not isinstance(step.operation, U85Dma):
            if not _follows(step.operation):
                break
            found.append(step.operation)
    return found


def _follows(operation: Operation) -> bool:
    """Return whether an operation reads what another of its chain has left in a buffer."""
    return isinstance(operation, U85Elementwise) and any(
        isinstance(one.operand, Chained) for one in operation.operands.values()
    )


def _source(operation: _Kernel) -> FeatureMap:
    """Return the feature map that an operation reads; without a kernel, that is IFM2."""
    accumulated = operation.accumulators.ifm2
    is_copy = isinstance(operation, U85Pool) and operation.mode is U85PoolingMode.NONE
    return accumulated if is_copy and accumulated is not None else operation.ifm


def _bits(dtype: str) -> int:
    return 8 * int(dtype[-1])


class _Chain:
    """An operation, with those that continue it through the chaining buffers."""

    def __init__(
        self, accelerator: EthosU, memories: Memories, members: Sequence[Operation]
    ) -> None:
        self._accelerator = accelerator
        self._memories = memories
        self._first, self._members = members[0], members
        last = members[-1].ofm
        assert isinstance(last, U85Output)
        self._fm = last.fm
        self._ofm = _output(self._first)

    def cycles(self) -> float:
        """Return the cycles of the whole chain on its own."""
        rate = sum(_rate(self._accelerator, one) for one in self._members)
        if isinstance(self._first, U85Convolution | U85Pool):
            return self._windowed(self._first, rate)
        assert isinstance(self._first, U85Elementwise | Resize)
        return self._elementwise(self._first, rate)

    def _windowed(self, operation: _Kernel, rate: float) -> float:
        block = clipped(self._ofm.block, self._ofm.shape)
        count = _block_count(operation, self._accelerator)
        mac = mac_cycles(operation, self._accelerator) / count
        output: float = math.ceil(rate * math.prod(block))
        if isinstance(operation, U85Convolution) and operation.scales:
            latency = self._memories[operation.scales[0].region].read_latency
            output = max(output, RECORD_BYTES * block[2] * latency / 256)
        before = self._transfer(_source(operation), operation.ifm_shape, _ifm_block(operation))
        after = self._written()
        transfers = abs(after - before) if count > 1 else 0
        least = (transfers + mac + output) / _IN_FLIGHT
        slower, faster = sorted((max(mac, least), max(output, least)), reverse=True)
        return slower * count + faster + before + after

    def _elementwise(self, operation: _Pass, rate: float) -> float:
        height, width, depth = self._ofm.shape
        if self._fm.layout is ActivationFormat.NHCWB16:
            depth = -(-depth // _BRICK) * _BRICK
        elements = height * width * depth
        block = max(self._written(), *self._read(operation))
        least = (block / math.prod(self._ofm.block) + rate) / _IN_FLIGHT
        return math.ceil(max(least, rate) * elements)

    def _read(self, operation: _Pass) -> list[float]:
        block, shape = self._ofm.block, self._ofm.shape
        if isinstance(operation, Resize):
            return [self._transfer(operation.ifm, operation.ifm_shape, block), 0.0]
        maps = [(one.operand, one.shape(shape)) for one in operation.operands.values()]
        found = [self._transfer(fm, of, block) for fm, of in maps if isinstance(fm, FeatureMap)]
        return [*found, 0.0, 0.0]

    def _written(self) -> float:
        """Return the cycles until a block of the OFM is in memory."""
        shape, block = self._ofm.shape, self._ofm.block
        return self._transfer(self._fm, shape, block, write=True)

    def _transfer(self, fm: FeatureMap, shape: Shape, block: Shape, write: bool = False) -> float:
        memory = self._memories[fm.region]
        size = math.prod(clipped(block, shape)) * _bits(fm.dtype) // 8
        burst = min(memory.burst, _burst(fm, shape, block, write))
        latency = memory.write_latency if write else memory.read_latency
        return latency + size * memory.burst / burst / memory.bandwidth


def _burst(fm: FeatureMap, shape: Shape, block: Shape, write: bool) -> int:
    """Return the bytes that a block has in sequence in memory."""
    element = _bits(fm.dtype) // 8
    rows = element * block[1] * block[2]
    if fm.layout is ActivationFormat.NHCWB16:
        return rows if shape[1] * element * _BRICK == block[2] else _BRICK * element * block[1]
    if shape[2] * element == block[2] and (not write or block[2] <= _BRICK):
        return rows
    return min(64, _BRICK * element, block[2] * element) if write else element * block[2]


def _output(operation: Operation) -> U85Output:
    assert isinstance(operation.ofm, U85Output)
    return operation.ofm


def _rate(accelerator: EthosU, operation: Operation) -> float:
    """Return the output unit's cycles per element."""
    rates = _RATES[accelerator.macs]
    ofm = _output(operation)
    turned = ofm.transpose in _HALF_RATE or ofm.reverse is ActivationReverse.W
    return max(rates.turned if turned else 0.0, _plain_rate(accelerator, operation))


def _plain_rate(accelerator: EthosU, operation: Operation) -> float:
    rates = _RATES[accelerator.macs]
    ofm = _output(operation)
    result = _bits(ofm.fm.dtype)
    if isinstance(operation, Resize):
        ratios = [
            (size + first // 2) // first
            for size, first in zip(ofm.shape[:2], operation.ifm_shape[:2], strict=True)
        ]
        enlarges = min(ratios) >= accelerator.macs // 512
        found = rates.enlarge if enlarges else rates.resize
        return found[_bits(operation.ifm.dtype) > 8]
    is_binary = isinstance(operation, U85Elementwise) and operation.second is not None
    if isinstance(operation, U85Elementwise):
        if operation.mode is U85ElementwiseMode.DIV:
            return _DIVISION_CYCLES
        operand = _bits(operation.first.operand.dtype)
    else:
        assert isinstance(operation, U85Convolution | U85Pool)
        operand = _bits(_source(operation).dtype)
    if ofm.chain is not None and 32 in (operand, result):
        return rates.wide
    if result == 64:
        return rates.bits64
    if is_binary and operand == 32:
        return rates.wide32 if result == 32 else rates.wide
    return {8: rates.bits8, 16: rates.bits16}.get(result, rates.bits32)


def _microblock(accelerator: EthosU, block: Microblock) -> Shape:
    height, width = block.name[1:].split("X")
    return int(height), int(width), UBLOCK_DEPTHS[accelerator.macs][block]


def _block_count(operation: _Kernel, accelerator: EthosU) -> float:
    """Return the number of blocks; those at the edges count by their microblocks."""
    ofm = _output(operation)
    unit = _microblock(accelerator, ofm.microblock)
    units = ceil_div(clipped(ofm.block, ofm.shape), unit)
    return math.prod(ceil_div(ofm.shape, unit)) / math.prod(units)


def _ifm_block(operation: _Kernel) -> Shape:
    """Return the part of the IFM that a block of the OFM needs, without the hardware's rounding."""
    ofm, kernel = _output(operation), operation.kernel
    factor = 1 if operation.upscale is IfmUpscaleMode.NONE else 2
    rounding = operation.upscale is IfmUpscaleMode.NEAREST
    height, width = (
        -(-((size - 1) * stride + min(extent, _SUB_KERNEL) + rounding) // factor)
        for size, stride, extent in zip(ofm.block[:2], kernel.stride, kernel.dilated, strict=True)
    )
    return height, width, _ifm_block_depth(operation)


def _ifm_block_depth(operation: _Kernel) -> int:
    if isinstance(operation, U85Convolution) and not operation.depthwise:
        assert isinstance(operation.layout, U85Layout)
        return operation.layout.ifm_block_depth
    return _output(operation).block[2]


@mac_cycles.register
def _(operation: U85Convolution | U85Pool, accelerator: EthosU) -> float:
    unit = _microblock(accelerator, _output(operation).microblock)
    units = ceil_div(clipped(_output(operation).block, _output(operation).shape), unit)
    block = 0.0
    for elements, count in sub_kernels(operation):
        block += count * _sub_kernel_cycles(accelerator, operation, units, elements)
    if _sums_channels(operation):
        deep = min(_ifm_block_depth(operation), operation.ifm_depth)
        block *= -(-operation.ifm_depth // deep)
    return block * _block_count(operation, accelerator)


def _sums_channels(operation: _Kernel) -> bool:
    if isinstance(operation, U85Convolution):
        return not operation.depthwise
    return operation.mode is PoolingMode.REDUCE_SUM


def _sub_kernel_cycles(
    accelerator: EthosU, operation: _Kernel, units: Shape, elements: int
) -> float:
    """Return the MAC unit's cycles for a part of the kernel and a block of so many microblocks."""
    assert accelerator.u85 is not None
    element = _bits(_source(operation).dtype) // 8
    area, deep = units[0] * units[1], units[2]
    weights = 4 * _microblock(accelerator, _output(operation).microblock)[2]
    weights >>= accelerator.u85.decoders_log2
    if isinstance(operation, U85Pool) and operation.mode is not PoolingMode.REDUCE_SUM:
        work = max(4, elements) * area * deep * 4 * element
        return work + _delay(accelerator, operation, units, 1)
    if isinstance(operation, U85Convolution) and operation.depthwise:
        steps = -(-elements // 4)
        work = max(weights, 4 * area * element) * steps * deep
        return work + _delay(accelerator, operation, units, steps)
    layout = operation.layout if isinstance(operation, U85Convolution) else None
    assert layout is None or isinstance(layout, U85Layout)
    depth = min(_ifm_block_depth(operation), operation.ifm_depth)
    passes = 1
    if layout is not None and layout.part_kernel_first:
        steps, passes = -(-elements // (2 if element == 2 else 4)), -(-depth // 8)
        work = max(weights, 4 * area) * steps * deep * passes
    else:
        steps = elements
        work = max(weights, depth // 8 * area) * steps * deep * element
    if layout is not None and layout.sparse:
        work //= 2
    return work + _delay(accelerator, operation, units, steps) * passes


def _delay(accelerator: EthosU, operation: _Kernel, units: Shape, steps: int) -> int:
    """Return the cycles for which the MAC unit waits for its own results in a small block."""
    wide = operation.ofm.acc_format is AccFormat.I48
    delay = 3 if wide and accelerator.macs <= 128 else 2
    if units[0] * units[1] > 1:
        return 0
    return delay * steps if units[2] == 1 else delay * (steps - 1) * units[2]
