"""The order and division of operators: for time or for memory, within a limit."""

from dataclasses import dataclass
from enum import Enum


class Strategy(Enum):
    """The goal of the NPU's compiler."""

    PERFORMANCE = "performance"
    """The time, within the memory that it may use."""
    SIZE = "size"
    """The memory for tensors."""


class Streaming(Enum):
    """Whether chains of the CPU's operators compute bands of rows, not whole tensors."""

    AUTO = "auto"
    """Where the arena exceeds the limit otherwise."""
    OFF = "off"
    ALWAYS = "always"
    """As the smallest arena needs it."""


@dataclass(frozen=True)
class Schedule:
    """The way in which the NPU's compiler, and ethosgen on the CPU, order and divide operators.

    `arena_bytes` is the most SRAM that they may plan, besides the board's own limit; None for no
    other limit. They exceed the limit if they cannot meet it.
    """

    strategy: Strategy = Strategy.PERFORMANCE
    """What the NPU's compiler optimizes."""
    arena_bytes: int | None = None
    stream: Streaming = Streaming.AUTO
    """Whether chains of the CPU's operators compute bands of rows."""
    feed: bool = False
    """Whether the caller gives the input by rows, so that it is never whole in memory."""
    steps: bool = False
    """Whether an inference can be run in slices."""
    fetch_bytes: int | None = None
    """The SRAM for copies of the CPU's next weights; 0 for none, None as the board's file says."""
    bands_above: int | None = None
    """With an NPU, the CPU computes the network's head, in bands of rows: up to the last operator
    that needs more bytes than this for whole tensors. None for no head."""

    @property
    def is_sliced(self) -> bool:
        """Whether an inference can pause after a band of rows, or an operator."""
        return self.feed or self.steps


@dataclass(frozen=True)
class FetchRule:
    """The rule for weights that are copied into SRAM while the step before computes.

    The copies may add `bytes` to the arena. A copy has at least `least_bytes`, and its layer would
    read the original at least `least_reads` times.
    """

    bytes: int = 0
    least_bytes: int = 256
    least_reads: int = 1


USUAL_SCHEDULE = Schedule()
"""The default."""
NO_COPIES = FetchRule()
