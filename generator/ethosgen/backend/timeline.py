"""The NPU's work in a partition, as its simulator estimates it: times, operators, bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

NPU_UNIT = "npu"
DMA_UNIT = "dma"
"""The units of an NPU that work at the same time: one computes, one copies."""

WEIGHTS = "weights"
ARENA = "arena"
FAST = "fast"
IO = "io"
INNER = "npu"
"""The memories: constants, the arena, the fast scratch, tensors with a base pointer of their own,
the NPU's own."""


@dataclass(frozen=True)
class NpuEvent:
    """An operation of the NPU in time; `start` and `end` are cycles from the partition's start.

    `operator` is the index of the network's operator that it serves, None if unknown. `cycles` is
    its delay of the partition's end, since work on both units overlaps. `read` and `written` are
    bytes by memory.
    """

    name: str
    unit: str
    operator: int | None
    start: int
    end: int
    cycles: int
    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]


@dataclass(frozen=True)
class BufferUse:
    """Bytes that hold data of the NPU from event `first` until event `last` of a partition.

    `is_copy` is whether it holds constants that were copied, `is_given` whether an input, which no
    event wrote. `operator` as in NpuEvent.
    """

    memory: str
    offset: int
    bytes: int
    first: int
    last: int
    operator: int | None
    is_copy: bool = False
    is_given: bool = False


@dataclass(frozen=True)
class NpuTimeline:
    """A partition's events in the stream's order, its buffers, and its limits.

    `encoded` has the bytes of weights and scales by operator, as the NPU reads them. `rates` are
    the bytes in a cycle of each memory, `peak_macs` the products in a cycle.
    """

    events: tuple[NpuEvent, ...]
    buffers: tuple[BufferUse, ...]
    encoded: Mapping[int, int]
    rates: Mapping[str, float]
    peak_macs: int

    @property
    def cycles(self) -> int:
        """The cycles of the whole partition."""
        return max((event.end for event in self.events), default=0)
