"""Find the access that caused a bus fault, for STATUS: its channel and its interface.

The faulting operation is checked again, operand by operand, so normal operations cost nothing
extra.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.memory import Bus
from ethosgen.backend.ethosu.simulator.operation import (
    Access,
    Channel,
    CopyAccess,
    MapAccess,
    Operation,
    StreamAccess,
)
from ethosgen.values.errors import NpuFault


def refusal(
    bus: Bus, bases: Sequence[int], operation: Operation
) -> tuple[Channel, int, NpuFault] | None:
    """Return channel, region and fault of the first access that the bus refuses.

    The fault names the operand, for readers who know the network but not the addresses.
    """
    for access in operation.accesses():
        if access.region is None:
            continue  # SHRAM is not on the bus
        try:
            _attempt(bus, bases[access.region], access)
        except NpuFault as fault:
            if fault.kind == "bus":
                operand = f"{access.channel.title} in region {access.region}"
                named = NpuFault("bus", f"{operand}: {fault.reason}")
                return access.channel, access.region, named
    return None


def _attempt(bus: Bus, base: int, access: Access) -> None:
    """Do an access without its effect; NpuFault if the bus refuses it."""
    match access:
        case CopyAccess():
            start, bytes_ = base + access.address, np.dtype(np.uint8)
            bus.window(start, access.shape, access.strides, bytes_, access.channel.writes)
        case StreamAccess():
            bus.view(base + access.stream.base, access.bytes)
        case MapAccess() if access.channel.writes:
            feature_map.check_write(bus, access.fm, base, access.shape)
        case MapAccess():
            feature_map.read(bus, access.fm, base, access.shape)
