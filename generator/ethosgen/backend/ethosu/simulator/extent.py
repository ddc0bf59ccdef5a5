"""The part of a region that a stream's operations reach, found without running them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import culprit
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.simulator.memory import Bus, Bytes

_REGIONS = 8
_DISTANCE = 1 << 48
"""Between the regions' addresses on the bus: more than an address of the NPU."""


def reached_bytes(stream: bytes, accelerator: EthosU, region: int) -> int:
    """Return the end of the last byte of a region that any operation reads or writes, else 0.

    NpuFault if the stream cannot be decoded.
    """
    bus = _Recorder()
    program = load(stream, accelerator)
    for step in program.steps:
        culprit.refusal(bus, [_DISTANCE * i for i in range(_REGIONS)], step.operation)
    if program.fault is not None:
        raise program.fault
    return bus.ends.get(region, 0)


class _Recorder(Bus):
    """A bus on which all memory exists; it records the last byte of each region."""

    def __init__(self) -> None:
        super().__init__(())
        self.ends: dict[int, int] = {}

    def view(self, address: int, length: int) -> Bytes:
        """Record an access; return meaningless bytes."""
        if length:
            self._record(address + length)
        return np.broadcast_to(np.uint8(0), (length,))

    def window(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        write: bool = False,
    ) -> NDArray[Any]:
        """Record an access; return meaningless elements."""
        steps = ((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        self._record(address + sum(max(step, 0) for step in steps) + dtype.itemsize)
        return np.broadcast_to(np.zeros((), dtype), shape)

    def _record(self, end: int) -> None:
        region, offset = divmod(end, _DISTANCE)
        self.ends[region] = max(self.ends.get(region, 0), offset)
