"""What a command shows while it works."""

import logging
import sys
from typing import Any


class Progress:
    """A spinner with the present stage on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._status: Any = None

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")
            self._status.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._status is not None:
            self._status.stop()

    def watch(self) -> Any:
        from ethosgen.values.watch import Watch

        return Watch(self._announce)

    def _announce(self, text: str) -> None:
        logging.getLogger("ethosgen").info(text)
        if self._status is not None:
            self._status.update(text)
