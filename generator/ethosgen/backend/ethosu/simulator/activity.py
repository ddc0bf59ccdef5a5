"""Estimate a command stream's PMU figures from its operations.

Each operand counts once, with its size in memory. The hardware can read parts of it again, which
depends on its block schedule, so beats are a lower bound.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import cycles
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    Dma,
    Elementwise,
    FeatureMap,
    IssuedOperation,
    Operation,
    Pool,
)


@dataclass(frozen=True)
class Activity:
    """A stream's cycles, those with a busy MAC unit, and bytes by region."""

    cycles: int = 0
    mac_8bit: int = 0
    mac_16bit: int = 0
    read: Mapping[int, int] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)


def measure(accelerator: EthosU, steps: Sequence[IssuedOperation]) -> Activity:
    """Return the activity of a whole stream."""
    busy = {"1": 0.0, "2": 0.0}
    read: Counter[int] = Counter()
    written: Counter[int] = Counter()
    for step in steps:
        operation = step.operation
        if isinstance(operation, Convolution | Pool):
            width = "1" if operation.ifm.dtype[-1] == "1" else "2"
            busy[width] += cycles.mac_cycles(accelerator, operation)
        _count(operation, read, written)
    return Activity(
        cycles=cycles.estimate(accelerator, steps),
        mac_8bit=round(busy["1"]),
        mac_16bit=round(busy["2"]),
        read=dict(read),
        written=dict(written),
    )


def _count(operation: Operation, read: Counter[int], written: Counter[int]) -> None:
    if isinstance(operation, Dma):
        if operation.source[0] is not None:
            read[operation.source[0]] += operation.length
        if operation.destination[0] is not None:
            written[operation.destination[0]] += operation.length
        return
    written[operation.ofm.fm.region] += _bytes(operation.ofm.fm, operation.ofm.shape)
    if isinstance(operation, Elementwise):
        read[operation.ifm.region] += _bytes(operation.ifm, operation.ofm.shape)
        if operation.ifm2 is not None:
            pairs = zip(operation.broadcast, operation.ofm.shape, strict=True)
            shape = tuple(1 if repeated else extent for repeated, extent in pairs)
            read[operation.ifm2.region] += _bytes(operation.ifm2, shape)
        return
    read[operation.ifm.region] += _bytes(operation.ifm, operation.ifm_shape)
    if isinstance(operation, Convolution):
        for stream in (*operation.weights, *operation.scales):
            read[stream.region] += stream.length


def _bytes(fm: FeatureMap, shape: tuple[int, ...]) -> int:
    elements = 1
    for extent in shape:
        elements *= extent
    return elements * np.dtype(fm.dtype).itemsize
