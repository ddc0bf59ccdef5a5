"""Estimate a command stream's PMU figures from its operations.

Each operand counts once, with its size in memory. The hardware can read parts of it again, which
depends on its block schedule, so beats are a lower bound.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import cycles
from ethosgen.backend.ethosu.simulator.operation import (
    Convolution,
    IssuedOperation,
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
    """Return the activity of a whole stream; U85's cycles are not estimated and 0."""
    busy = {"1": 0.0, "2": 0.0}
    read: Counter[int] = Counter()
    written: Counter[int] = Counter()
    for step in steps:
        operation = step.operation
        if isinstance(operation, Convolution | Pool) and accelerator.u85 is None:
            width = "1" if operation.ifm.dtype[-1] == "1" else "2"
            busy[width] += cycles.mac_cycles(accelerator, operation)
        for access in operation.accesses():
            if access.region is not None:
                (written if access.channel.writes else read)[access.region] += access.bytes
    return Activity(
        cycles=cycles.estimate(accelerator, steps) if accelerator.u85 is None else 0,
        mac_8bit=round(busy["1"]),
        mac_16bit=round(busy["2"]),
        read=dict(read),
        written=dict(written),
    )
