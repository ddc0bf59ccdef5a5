"""Estimate a command stream's PMU figures from its operations.

Each operand counts once, with its size in memory. The hardware can read parts of it again, which
depends on its block schedule, so beats are a lower bound.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.cycles import mac_cycles
from ethosgen.backend.ethosu.simulator.generation import estimate
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation, Ports, Windowed


@dataclass(frozen=True)
class Activity:
    """A stream's cycles, those with a busy MAC unit, and bytes by region."""

    cycles: int = 0
    mac_8bit: int = 0
    mac_16bit: int = 0
    read: Mapping[int, int] = field(default_factory=dict)
    written: Mapping[int, int] = field(default_factory=dict)


def measure(
    accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None = None
) -> Activity:
    """Return the activity of a whole stream, given the AXI port of each region if it is known."""
    busy = {"1": 0.0, "2": 0.0}
    read: Counter[int] = Counter()
    written: Counter[int] = Counter()
    for step in steps:
        operation = step.operation
        if isinstance(operation, Windowed):
            width = "1" if operation.ifm.dtype[-1] == "1" else "2"
            busy[width] += mac_cycles(operation, accelerator)
        for access in operation.accesses():
            if access.region is not None:
                (written if access.channel.writes else read)[access.region] += access.bytes
    return Activity(
        cycles=estimate(accelerator, steps, ports),
        mac_8bit=round(busy["1"]),
        mac_16bit=round(busy["2"]),
        read=dict(read),
        written=dict(written),
    )
