"""Deadlines: every wait has one."""

import time

from ethosgen.values.errors import TargetError


class Deadline:
    """A time limit; `what` names the awaited event, for the error."""

    def __init__(self, seconds: float, what: str) -> None:
        self.seconds = seconds
        self.what = what
        self._ends = time.monotonic() + seconds

    @property
    def remaining_s(self) -> float:
        """Seconds left, never less than 0."""
        return max(0.0, self._ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Return whether no time is left."""
        return self.remaining_s == 0.0

    def check(self) -> None:
        """Raise TargetError if no time is left."""
        if self.is_over:
            raise TargetError(f"the target did not {self.what} within {self.seconds:g} s")
