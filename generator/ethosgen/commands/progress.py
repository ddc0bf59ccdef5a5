"""Shows progress while a command works."""

import contextlib
import logging
import sys
import threading
import time
from typing import Any

import click

EVERY_S = 15.0
"""The interval, in seconds, at which a running command reports its phase."""


class Progress:
    """A spinner with the current phase on a terminal; otherwise an occasional line on stderr."""

    def __init__(self) -> None:
        self._status: Any = None
        self._text = "starting"
        self._ended = threading.Event()
        self._talker = threading.Thread(target=self._talk, daemon=True)

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status(self._text)
            self._status.start()
        self._talker.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._talker.join()
        if self._status is not None:
            self._status.stop()

    def watch(self) -> Any:
        from ethosgen.values.watch import Watch

        return Watch(self._announce)

    def show(self, line: str) -> None:
        """Print a line of the command's output while it works."""
        if self._status is not None:
            self._status.stop()  # else both would share a line of the terminal
        click.echo(line)
        if self._status is not None:
            self._status.start()

    def _announce(self, text: str) -> None:
        logging.getLogger("ethosgen").info(text)
        self._text = text
        if self._status is not None:
            self._status.update(text)

    def _talk(self) -> None:
        """Show that the command is still working; show the time of a long phase."""
        started = time.monotonic()
        while not self._ended.wait(EVERY_S):
            line = f"{self._text} ({time.monotonic() - started:.0f} s so far)"
            if self._status is not None:
                self._status.update(line)
                continue
            with contextlib.suppress(OSError):  # no reader is left
                click.echo(f"ethosgen: {line}", err=True)
