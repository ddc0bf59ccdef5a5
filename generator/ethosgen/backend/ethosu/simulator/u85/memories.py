"""The memories at U85's AXI ports as the estimate of cycles assumes them, from Vela's vela.ini."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation
from ethosgen.backend.ethosu.simulator.u85.operation import U85Dma

_READ_ONLY_REGION = 0
_FAST_REGION = 2
_USABLE = 0.8
"""The part of a memory's transactions, and of its bytes in flight, that Regor counts on."""
_COPY_READS: dict[int, int] = {128: 64, 256: 104, 512: 128, 1024: 256, 2048: 256}
"""Reads of 16 bytes that a copy has in flight, by MACs (Regor's channelRBs)."""


@dataclass(frozen=True)
class Memory:
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

    def _rate(self, transactions: float, latency: int) -> float:
        if not transactions or not latency:
            return self.bandwidth
        return min(self.bandwidth, self.burst * transactions / latency * _USABLE)


_SRAM = Memory(32.0, 32, 32, 64, 2, 8, 8)
_FLASH = Memory(1.0, 64, 0, 128, 1, 2, 0)
_DRAM = Memory(12.0, 500, 250, 128, 1, 64, 32)
_TABLES = Memory(1.0, 0, 0, 1, 1, 1000, 1000)


class Memories:
    """A stream's memory by region.

    Region 0 is flash and the others SRAM, as in Vela's Ethos_U85_SYS_Flash_High. A stream that uses
    region 2 was compiled for a dedicated SRAM: this is region 2, and the others are DRAM, as in
    Ethos_U85_SYS_DRAM_Mid.
    """

    def __init__(self, accelerator: EthosU, dedicated: bool) -> None:
        """Store the NPU, and whether region 2 alone is SRAM."""
        self._macs = accelerator.macs
        self._dedicated = dedicated

    @classmethod
    def of(cls, accelerator: EthosU, steps: Sequence[IssuedOperation]) -> "Memories":
        """Return the memories of a stream."""
        accesses = (access for step in steps for access in step.operation.accesses())
        return cls(accelerator, any(access.region == _FAST_REGION for access in accesses))

    def __getitem__(self, region: int | None) -> Memory:
        """Return the memory of a region, that of tables for None."""
        if region is None:
            return _TABLES
        if self._dedicated:
            return _SRAM if region == _FAST_REGION else _DRAM
        return _FLASH if region == _READ_ONLY_REGION else _SRAM

    def copy_cycles(self, operation: U85Dma) -> float:
        """Return the cycles of a copy, determined by the slower memory."""
        size = math.prod(operation.shape)
        reading, writing = self[operation.source.region], self[operation.destination.region]
        return max(
            size / reading.read_rate(self._macs) + reading.read_latency,
            size / writing.write_rate + writing.write_latency,
        )
