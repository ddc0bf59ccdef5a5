"""What a part has to make do with, and the time for which it occupies its element."""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.splitting.parts import OperatorPart
from ethosgen.values.multiples import pieces

BUFFERS = 2
"""The buffers of what a part reads, and of what it makes."""
_LINKS = 4.0
"""How often a byte's time on a link counts besides its element's time: on 7,296 elements a byte
passes about six links, of which each element has four, and some links have more to do than others.
"""


@dataclass(frozen=True)
class Means:
    """The memory of an element, its clock, the bandwidth of a link, and the number of elements.

    `sums` tells whether layers may be cut along their input channels.
    """

    memory_bytes: int
    clock_hz: float
    bytes_per_s: float
    elements: int
    sums: bool = True


def need(part: OperatorPart) -> int:
    """Return the memory of a part with its buffers."""
    return part.memory_bytes + BUFFERS * (part.read_bytes + part.made_bytes)


def fits(part: OperatorPart, means: Means) -> bool:
    """Return whether an element has enough memory for a part and its buffers."""
    return need(part) <= means.memory_bytes


def cycles_of(part: OperatorPart, cycles: Sequence[int]) -> int:
    """Return the cycles of a part: its shares of the operators' cycles."""
    return sum(pieces(cycles[op] * some, whole) for op, some, whole in part.shares())


def seconds(part: OperatorPart, cycles: Sequence[int], means: Means) -> float:
    """Return the cost of a part: the time for its work, or its bytes, whichever takes longest."""
    read, made = (size / means.bytes_per_s for size in (part.read_bytes, part.made_bytes))
    return max(cycles_of(part, cycles) / means.clock_hz, read, made) + _LINKS * read
