"""Find the access that caused a bus fault, for STATUS: its channel and its interface.

The faulting operation is checked again, operand by operand, so normal operations cost nothing
extra. Codes are those of status_r in Arm's ethosu55_interface.h.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from functools import partial

import numpy as np

from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.memory import Bus
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    FeatureMap,
    Operation,
    Shape,
    Stream,
    Windowed,
)
from ethosgen.backend.ethosu.simulator.ops import dma
from ethosgen.values.errors import NpuFault


class Channel(IntEnum):
    """STATUS.faulting_channel: reads are below 8, writes from 8 on."""

    COMMANDS = 0
    IFM = 1
    WEIGHTS = 2
    SCALES = 3
    DMA_READ = 4
    OFM = 8
    DMA_WRITE = 9


Access = tuple[Channel, int, Callable[[], object]]
"""A channel, a region, and a function that raises NpuFault if the bus refuses the access."""


def find(bus: Bus, bases: Sequence[int], operation: Operation) -> tuple[Channel, int] | None:
    """Return channel and region of the first access that the bus refuses, None if none."""
    refused = refusal(bus, bases, operation)
    return refused[:2] if refused else None


def refusal(
    bus: Bus, bases: Sequence[int], operation: Operation
) -> tuple[Channel, int, NpuFault] | None:
    """Return channel, region and fault of the first access that the bus refuses."""
    for channel, region, attempt in _accesses(bus, bases, operation):
        try:
            attempt()
        except NpuFault as fault:
            if fault.kind == "bus":
                return channel, region, fault
    return None


def _accesses(bus: Bus, bases: Sequence[int], operation: Operation) -> Iterator[Access]:
    if isinstance(operation, Dma):
        for (region, place), dims, channel in (
            (operation.source, operation.source_dims, Channel.DMA_READ),
            (operation.destination, operation.destination_dims, Channel.DMA_WRITE),
        ):
            if region is not None:
                reach = bases[region] + place, *dma.layout(operation, dims), np.dtype(np.uint8)
                write = channel is Channel.DMA_WRITE
                yield channel, region, partial(bus.window, *reach, write)
        return

    def read(fm: FeatureMap, shape: Shape) -> Access:
        return Channel.IFM, fm.region, lambda: feature_map.read(bus, fm, bases[fm.region], shape)

    def stream(channel: Channel, part: Stream) -> Access:
        start = bases[part.region] + part.base
        return channel, part.region, lambda: bus.view(start, part.length)

    ofm, full = operation.ofm.fm, operation.ofm.shape
    yield (
        Channel.OFM,
        ofm.region,
        lambda: feature_map.check_write(bus, ofm, bases[ofm.region], full),
    )
    yield read(operation.ifm, operation.ifm_shape if isinstance(operation, Windowed) else full)
    if isinstance(operation, Convolution):
        yield from (stream(Channel.WEIGHTS, part) for part in operation.weights)
        yield from (stream(Channel.SCALES, part) for part in operation.scales)
    elif not isinstance(operation, Windowed) and operation.ifm2 is not None:
        pairs = zip(operation.broadcast, full, strict=True)
        height, width, depth = (1 if repeated else extent for repeated, extent in pairs)
        yield read(operation.ifm2, (height, width, depth))
