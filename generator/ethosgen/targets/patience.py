"""The time for which a run waits for elements that say nothing."""

import time

IDLE_S = 1.0
"""The time without an output after which the elements are asked."""


class Patience:
    """The time since the last event, and the elements' reports then."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._said: object = None
        self.begin()

    def begin(self) -> None:
        """Something happened."""
        self._since = self._asked = time.monotonic()
        self._said = None

    @property
    def is_idle(self) -> bool:
        """Return whether it is time for another query."""
        return time.monotonic() - self._asked > IDLE_S

    @property
    def is_over(self) -> bool:
        """Return whether the time limit has passed."""
        return time.monotonic() - self._since > self._limit_s

    def is_same(self, said: object) -> bool:
        """Return whether the elements report the same as the last time; remember it."""
        is_same, self._said = said == self._said, said
        self._asked = time.monotonic()
        if not is_same:
            self._since = self._asked
        return is_same
