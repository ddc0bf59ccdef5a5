"""Estimates cycles from a command stream.

Each operation's time follows Arm's published performance model (Regor's ethos_u55_performance.cpp),
simplified. An operation processes the OFM in blocks. For a block, the MAC unit needs four cycles
per micro-block and kernel step, at least the weight decoder's time, and the output unit some cycles
per element. Both work in parallel on different blocks, so the slower one counts for all blocks and
the faster one for one block. The last block's transfer to memory is added.

Copies run in parallel with operations, synchronized by NPU_OP_DMA_WAIT and NPU_OP_KERNEL_WAIT in
the stream. Memories are those of Vela's default system configurations: region 0 is flash at one
byte per cycle, everything else SRAM at full width. The estimate ignores cache misses, bank
conflicts and other bus masters.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import AccFormat, ElementwiseMode, PoolingMode
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    IssuedOperation,
    Operation,
    Pool,
    Ports,
    Shape,
    Windowed,
)
from ethosgen.backend.ethosu.simulator.weights import RECORD_BYTES
from ethosgen.values.multiples import pieces, rounded_up

_SRAM_LATENCY = 32
_FLASH_LATENCY = 64
_FLASH_BYTES_PER_CYCLE = 1.0
_SRAM_BYTES_PER_CYCLE = {"u55": 8.0, "u65": 16.0}
_SUB_KERNEL = 8
_STEP_CYCLES = 4
_READ_ONLY_REGION = 0

Span = tuple[float, float]
"""Start and end of a step, in cycles from the stream's start."""

_MICRO_BLOCKS: dict[int, Shape] = {32: (1, 1, 4), 64: (1, 1, 8), 128: (1, 2, 8), 256: (2, 2, 8)}
"""OFM micro-block (height, width, depth) by the MACs of a core."""


@dataclass(frozen=True)
class _OutputRates:
    """Cycles per element of the output unit, by function."""

    unary32: float
    binary32: float
    mul_to_32: float
    mul: float
    add: float
    maximum: float
    other: float
    curve: float
    """Lookup tables, TANH and SIGMOID."""
    clip: float


_RATES: dict[str, _OutputRates] = {
    "ethos-u55-32": _OutputRates(2.0, 3.0, 3.0, 3.0, 6.0, 1.0, 2.0, 1.0, 1.0),
    "ethos-u55-64": _OutputRates(1.0, 1.5, 1.5, 1.5, 3.0, 0.5, 1.0, 1.0, 1.0),
    "ethos-u55-128": _OutputRates(0.75, 1.25, 0.75, 0.75, 1.5, 0.25, 0.5, 1.0, 0.5),
    "ethos-u55-256": _OutputRates(0.625, 1.125, 0.5, 0.375, 0.75, 0.125, 0.25, 1.0, 0.25),
    "ethos-u65-256": _OutputRates(0.625, 1.125, 0.5, 0.375, 0.75, 0.125, 0.25, 1.0, 0.25),
    "ethos-u65-512": _OutputRates(0.3125, 0.5625, 0.25, 0.1875, 0.375, 0.0625, 0.125, 0.5, 0.125),
}


def spans(
    accelerator: EthosU, steps: Sequence[IssuedOperation], _ports: Ports | None = None
) -> Iterator[Span]:
    """Yield the cycles in which U55 or U65 runs each step, which do not depend on ports."""
    return overlapped((step, _alone(accelerator, step.operation)) for step in steps)


def _alone(accelerator: EthosU, operation: Operation) -> float:
    if isinstance(operation, Dma):
        return dma_cycles(accelerator, operation)
    return operation_cycles(operation, accelerator)


def overlapped(
    steps: Iterable[tuple[IssuedOperation, float | None]],
    most_kernels: int | None = None,
    most_copies: int | None = None,
) -> Iterator[Span]:
    """Yield the start and the end of each step, given its own cycles; copies run beside operations.

    A step with None belongs to the one before it. With limits, a command waits until fewer
    operations or copies are outstanding.
    """
    now = 0.0
    kernels, copies = [0.0], [0.0]
    for step, cycles in steps:
        if step.dma_wait is not None:
            now = max(now, _end(copies, step.dma_wait))
        if step.kernel_wait is not None:
            now = max(now, _end(kernels, step.kernel_wait))
        if cycles is None:
            kernels[-1] = max(now, kernels[-1])
            yield kernels[-1], kernels[-1]
            continue
        is_copy = step.operation.ofm is None
        queue, most = (copies, most_copies) if is_copy else (kernels, most_kernels)
        if most is not None:
            now = max(now, _end(queue, most - 1))
        start = max(now, queue[-1])
        queue.append(start + cycles)
        yield start, queue[-1]


def _end(queue: Sequence[float], behind: int) -> float:
    """Return the end of the last operation but `behind`."""
    return queue[-1 - behind] if len(queue) > behind else 0.0


def memory_rates(
    accelerator: EthosU, _steps: Sequence[IssuedOperation], _ports: Ports | None, regions: int
) -> list[float]:
    """Return the assumed bytes per cycle of each region's memory on U55 and U65."""
    sram = _SRAM_BYTES_PER_CYCLE[accelerator.product]
    return [_FLASH_BYTES_PER_CYCLE if i == _READ_ONLY_REGION else sram for i in range(regions)]


def dma_cycles(accelerator: EthosU, operation: Dma) -> float:
    """Return the cycles of a copy, determined by the slower memory."""
    size = operation.length * max(1, operation.sizes[0] if operation.destination_dims > 1 else 1)
    sram = size / _SRAM_BYTES_PER_CYCLE[accelerator.product] + _SRAM_LATENCY
    if operation.source[0] == _READ_ONLY_REGION:
        return max(sram, size / _FLASH_BYTES_PER_CYCLE + _FLASH_LATENCY)
    return sram


@singledispatch
def operation_cycles(operation: Operation, accelerator: EthosU) -> float:
    """Return the cycles of one operation on its own."""
    raise NotImplementedError(type(operation).__name__)


@operation_cycles.register
def _(operation: Elementwise, accelerator: EthosU) -> float:
    return math.ceil(_output_rate(accelerator, operation) * math.prod(operation.ofm.shape))


@operation_cycles.register
def _(operation: Convolution | Pool, accelerator: EthosU) -> float:
    rate = _output_rate(accelerator, operation)
    block = clipped(operation.ofm.block, operation.ofm.shape)
    unit = _micro_block(accelerator, operation)
    units = ceil_div(block, unit)
    blocks = math.prod(ceil_div(operation.ofm.shape, unit)) / math.prod(units)
    mac = mac_cycles(operation, accelerator) / blocks
    output = max(math.ceil(rate * math.prod(block)), _record_cycles(operation, block))
    total = mac * blocks + output if mac > output else output * blocks + mac
    size = math.prod(block) / _SRAM_BYTES_PER_CYCLE[accelerator.product]
    return total + 2 * (_SRAM_LATENCY + size)


@singledispatch
def mac_cycles(operation: Operation, accelerator: EthosU) -> float:
    """Return the cycles in which the MAC unit works on an operation."""
    return 0.0


@mac_cycles.register
def _(operation: Convolution | Pool, accelerator: EthosU) -> float:
    unit = _micro_block(accelerator, operation)
    units = ceil_div(clipped(operation.ofm.block, operation.ofm.shape), unit)
    blocks = math.prod(ceil_div(operation.ofm.shape, unit)) / math.prod(units)
    return _block_cycles(accelerator, operation, units) * blocks


def _record_cycles(operation: Convolution | Pool, block: Shape) -> float:
    """Return the cycles for which the output unit waits for the scale records of one block."""
    if not isinstance(operation, Convolution):
        return 0.0
    in_flash = operation.scales[0].region == _READ_ONLY_REGION
    latency = _FLASH_LATENCY if in_flash else _SRAM_LATENCY
    return RECORD_BYTES * block[2] * latency / 256


def _block_cycles(accelerator: EthosU, operation: Convolution | Pool, units: Shape) -> float:
    """Return the MAC unit's cycles for one block, whose micro-blocks `units` counts."""
    total = 0.0
    for elements, count in sub_kernels(operation):
        total += count * _sub_kernel_cycles(accelerator, operation, units, elements)
    if _sums_channels(operation):
        deep = _ifm_block_depth(operation)
        total *= pieces(operation.ifm_depth, deep)
    return total / accelerator.cores


def sub_kernels(operation: Windowed) -> list[tuple[int, int]]:
    """Return the sizes of a kernel's parts, each with the number of parts of that size.

    Equal parts are counted, not listed, because a damaged stream can have millions.
    """
    (rows, last_row), (columns, last_column) = (
        divmod(extent, _SUB_KERNEL) for extent in operation.kernel.size
    )
    return [
        (_SUB_KERNEL * _SUB_KERNEL, rows * columns),
        (last_row * _SUB_KERNEL, columns if last_row else 0),
        (_SUB_KERNEL * last_column, rows if last_column else 0),
        (last_row * last_column, 1 if last_row and last_column else 0),
    ]


def _sub_kernel_cycles(
    accelerator: EthosU, operation: Convolution | Pool, units: Shape, elements: int
) -> float:
    unit_depth = _micro_block(accelerator, operation)[2]
    in_bytes = int(operation.ifm.dtype[-1])
    area, deep = units[0] * units[1], units[2]
    weights = 32 * unit_depth / 8
    passes = 1
    work: float
    if isinstance(operation, Pool) and operation.mode is not PoolingMode.REDUCE_SUM:
        steps = 1
        work = max(_STEP_CYCLES, elements) * area * deep
        work *= 1 if accelerator.macs == 32 else in_bytes * 4
    elif isinstance(operation, Convolution) and operation.depthwise:
        steps = pieces(elements, 4)
        work = max(weights, _STEP_CYCLES * area * in_bytes) * steps * deep
    elif isinstance(operation, Convolution) and operation.layout.part_kernel_first:
        steps = pieces(elements, 2 if in_bytes == 2 else 4)
        passes = pieces(min(operation.ifm_depth, _ifm_block_depth(operation)), 8)
        work = max(weights, _STEP_CYCLES * area) * steps * deep * passes
    else:
        steps = elements
        work = max(weights, _STEP_CYCLES * area) * steps * deep
    return work + _delay(accelerator, operation, units, steps) * passes


def _delay(accelerator: EthosU, operation: Windowed, units: Shape, steps: int) -> int:
    """Return the cycles for which the MAC unit waits for its own results in a small block."""
    wide = operation.ofm.acc_format is AccFormat.I40
    area, deep = units[0] * units[1], units[2]
    if accelerator.macs == 32:
        delay = 7 if wide else 3
    else:
        delay = 3 if wide and accelerator.macs <= 128 else 2
    cycles = 0
    if area == 1:
        cycles = delay * steps if deep == 1 else delay * (steps - 1) * deep
    if accelerator.macs == 32 and wide and deep > 1 and 1 in units[:2]:
        cycles += delay * deep
    return cycles


def _micro_block(accelerator: EthosU, operation: Windowed) -> Shape:
    """Return the OFM micro-block; larger MAC arrays process OFMs of height 1 four pixels wide."""
    unit = _MICRO_BLOCKS[accelerator.macs // accelerator.cores]
    height, width, _ = operation.ofm.shape
    flat = height == 1 and width % 2 == 0 and operation.kernel.size[0] == 1
    plain = isinstance(operation, Convolution) and not operation.depthwise
    return (1, 4, unit[2]) if unit[0] == 2 and flat and plain else unit


def _sums_channels(operation: Convolution | Pool) -> bool:
    if isinstance(operation, Convolution):
        return not operation.depthwise
    return operation.mode is PoolingMode.REDUCE_SUM


def _ifm_block_depth(operation: Convolution | Pool) -> int:
    part_kernel = isinstance(operation, Convolution) and operation.layout.part_kernel_first
    limit = 16 if part_kernel else 32
    return min(limit, rounded_up(operation.ifm_depth, 8))


def _output_rate(accelerator: EthosU, operation: Convolution | Pool | Elementwise) -> float:
    """Return the output unit's cycles per element."""
    rates = _RATES[accelerator.name]
    activation = operation.ofm.activation.function
    curve = rates.curve if activation else 0.0
    return max(curve, _plain_rate(rates, operation))


def _plain_rate(rates: _OutputRates, operation: Convolution | Pool | Elementwise) -> float:
    if isinstance(operation, Elementwise):
        is_mul = operation.mode is ElementwiseMode.MUL
        if operation.ifm.dtype[-1] == "4":
            unary = operation.ifm2 is None and operation.scalar is None
            return rates.unary32 if unary else rates.binary32
        if is_mul:
            return rates.mul_to_32 if operation.ofm.fm.dtype[-1] == "4" else rates.mul
        adds = operation.mode in (ElementwiseMode.ADD, ElementwiseMode.SUB)
        return rates.add if adds else rates.other
    if operation.ofm.acc_format is AccFormat.I40:
        return rates.mul
    is_max = isinstance(operation, Pool) and operation.mode is PoolingMode.MAX
    return rates.maximum if is_max else rates.other


def clipped(block: Shape, shape: Shape) -> Shape:
    return min(block[0], shape[0]), min(block[1], shape[1]), min(block[2], shape[2])


def ceil_div(shape: Shape, unit: Shape) -> Shape:
    return pieces(shape[0], unit[0]), pieces(shape[1], unit[1]), pieces(shape[2], unit[2])
