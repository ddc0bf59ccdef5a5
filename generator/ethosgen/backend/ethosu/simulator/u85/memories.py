"""The memories at U85's AXI ports as the estimate of cycles assumes them, from Vela's vela.ini."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation, Ports
from ethosgen.backend.ethosu.simulator.u85.operation import U85Dma

READ_ONLY_REGION = 0
_ARENA_REGION = 1
_FAST_REGION = 2
_REGIONS = 8
_SHARED: Ports = tuple(int(region == READ_ONLY_REGION) for region in range(_REGIONS))
_DEDICATED: Ports = tuple(int(region != _FAST_REGION) for region in range(_REGIONS))
_USABLE = 0.8
"""The part of a memory's transactions, and of its bytes in flight, that Regor counts on."""
_COPY_READS: dict[int, int] = {128: 64, 256: 104, 512: 128, 1024: 256, 2048: 256}
"""Reads of 16 bytes that a copy has in flight, by MACs (Regor's channelRBs)."""


@dataclass(frozen=True)
class MemoryTiming:
    """Bytes per cycle, latencies in cycles, bytes of a burst, ports, and transfers in flight."""

    bandwidth: float
    read_latency: int
    write_latency: int
    burst: int
    ports: int
    max_reads: int
    max_writes: int

    def read_rate(self, macs: int) -> float:
        """Return the bytes per cycle that a copy reads."""
        limit = _COPY_READS[macs] / max(self.burst // 16, 1)
        return self._rate(min(limit, self.max_reads * self.ports * _USABLE), self.read_latency)

    @property
    def write_rate(self) -> float:
        """Bytes per cycle that a copy writes."""
        return self._rate(self.max_writes * self.ports * _USABLE, self.write_latency)

    def transfer_cycles(self, size: int, burst: int) -> float:
        """Return the cycles to transfer a block whose contiguous parts have this many bytes."""
        return size * self.burst / min(burst, self.burst) / self.bandwidth

    def _rate(self, transactions: float, latency: int) -> float:
        if not transactions or not latency:
            return self.bandwidth
        return min(self.bandwidth, self.burst * transactions / latency * _USABLE)


_SRAM = MemoryTiming(32.0, 32, 32, 64, 2, 8, 8)
_FLASH = MemoryTiming(1.0, 64, 0, 128, 1, 2, 0)
_DRAM = MemoryTiming(12.0, 500, 250, 128, 1, 64, 32)
_TABLES = MemoryTiming(1.0, 0, 0, 1, 1, 1000, 1000)


class RegionMemories:
    """A stream's memory by region.

    Port 0 is to SRAM, port 1 to external memory. That is DRAM if it has a region besides that of
    constants, as in Vela's Ethos_U85_SYS_DRAM_Mid, else flash, as in its Ethos_U85_SYS_Flash_High.
    """

    def __init__(self, accelerator: EthosU, ports: Ports) -> None:
        """Store the NPU, and the port of each region."""
        self._macs = accelerator.macs
        self._ports = ports
        others = ports[:READ_ONLY_REGION] + ports[READ_ONLY_REGION + 1 :]
        self._external = _DRAM if any(others) else _FLASH

    @classmethod
    def of(
        cls, accelerator: EthosU, steps: Sequence[IssuedOperation], ports: Ports | None
    ) -> "RegionMemories":
        """Return the memories of a stream.

        If the ports are unknown, a stream that uses region 2 was compiled for a dedicated SRAM, so
        the other regions are external. Else constants alone are external.
        """
        if ports is None:
            accesses = (access for step in steps for access in step.operation.accesses())
            dedicated = any(access.region == _FAST_REGION for access in accesses)
            ports = _DEDICATED if dedicated else _SHARED
        return cls(accelerator, ports)

    @property
    def arena(self) -> MemoryTiming:
        """The memory of feature maps."""
        return self[_ARENA_REGION]

    def __getitem__(self, region: int | None) -> MemoryTiming:
        """Return the memory of a region, that of tables for None."""
        if region is None:
            return _TABLES
        return self._external if self._ports[region] else _SRAM

    def copy_cycles(self, operation: U85Dma) -> float:
        """Return the cycles of a copy, determined by the slower memory."""
        size = math.prod(operation.shape)
        reading, writing = self[operation.source.region], self[operation.destination.region]
        return max(
            size / reading.read_rate(self._macs) + reading.read_latency,
            size / writing.write_rate + writing.write_latency,
        )
