"""What a part has to make do with, and the times that it takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from ethosgen.splitting.parts import OperatorPart
from ethosgen.values.multiples import pieces

BUFFERS = 2
"""The buffers of what a part reads, and of what it makes."""


@dataclass(frozen=True)
class PartTimes:
    """The seconds that parts take for each sample.

    `busy` is the time for which they occupy their elements: each the longest of its work, its
    incoming bytes and its results. `links` is that of incoming bytes on one link. `lone` is the
    time from the first input to the last result, if nothing else is in the mesh.
    """

    busy: float
    links: float
    lone: float

    def __add__(self, other: Self) -> Self:
        """Return the times of both, one after the other."""
        return replace(
            self,
            busy=self.busy + other.busy,
            links=self.links + other.links,
            lone=self.lone + other.lone,
        )

    def of(self, parts: int) -> Self:
        """Return the times of several such parts, which work at the same time."""
        return replace(self, busy=parts * self.busy, links=parts * self.links)


@dataclass(frozen=True)
class CostWeights:
    """What counts how much when cuts are chosen: the times, and seconds for each part."""

    busy: float = 1.0
    links: float = 0.0
    lone: float = 0.0
    part: float = 0.0

    def cost(self, times: PartTimes, parts: int) -> float:
        """Return the cost of parts that together take some times."""
        seconds = self.busy * times.busy + self.links * times.links + self.lone * times.lone
        return seconds + self.part * parts


@dataclass(frozen=True)
class Means:
    """The memory of an element, its clock, the bandwidth of a link, and the number of elements.

    `sums` tells whether layers may be cut along their input channels, `finer` whether into more
    parts than the memory demands.
    """

    memory_bytes: int
    clock_hz: float
    bytes_per_s: float
    elements: int
    sums: bool = True
    finer: bool = False


def need(part: OperatorPart) -> int:
    """Return the memory of a part with its buffers."""
    return part.memory_bytes + BUFFERS * (part.read_bytes + part.made_bytes)


def fits(part: OperatorPart, means: Means) -> bool:
    """Return whether an element has enough memory for a part and its buffers."""
    return need(part) <= means.memory_bytes


def cycles_of(part: OperatorPart, cycles: Sequence[int]) -> int:
    """Return the cycles of a part: its shares of the operators' cycles."""
    return sum(pieces(cycles[op] * some, whole) for op, some, whole in part.shares())


def times_of(part: OperatorPart, cycles: Sequence[int], means: Means) -> PartTimes:
    """Return the times of a part."""
    work = cycles_of(part, cycles) / means.clock_hz
    read, written = (size / means.bytes_per_s for size in (part.read_bytes, part.made_bytes))
    return PartTimes(max(work, read, written), read, read + work + written)
