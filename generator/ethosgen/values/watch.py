"""Reports the current phase of a command, and measures how long each one took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Announce = Callable[[str], None]
"""Receives one line for people, such as "compiling for the CPU (TVM)"."""


def _silent(text: str) -> None:
    """Report nothing: the default watch."""


class Watch:
    """Times named phases and announces them.

    `wall_s` maps a phase's name to its seconds, in order; the times of one name add up.
    """

    def __init__(self, announce: Announce = _silent) -> None:
        self._announce = announce
        self.wall_s: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str, text: str) -> Iterator[None]:
        """Announce `text`, run the block, and add its seconds to `wall_s[name]`."""
        self._announce(text)
        started = time.perf_counter()
        try:
            yield
        finally:
            self.wall_s[name] = self.wall_s.get(name, 0.0) + time.perf_counter() - started

    def say(self, text: str) -> None:
        """Announce progress within a phase."""
        self._announce(text)
