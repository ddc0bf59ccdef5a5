"""How the NPU's compiler orders operators: for time or for memory, within a limit."""

from dataclasses import dataclass
from enum import Enum


class Strategy(Enum):
    """What the NPU's compiler optimizes."""

    PERFORMANCE = "performance"
    """The time, within the memory that it may use."""
    SIZE = "size"
    """The memory for tensors."""


@dataclass(frozen=True)
class Schedule:
    """How the NPU's compiler orders and divides operators.

    `arena_bytes` is the most SRAM that it may plan, besides the board's own limit; None for no
    other limit. It exceeds the limit where it finds no way to meet it.
    """

    strategy: Strategy = Strategy.PERFORMANCE
    arena_bytes: int | None = None


USUAL_SCHEDULE = Schedule()
"""The default."""
