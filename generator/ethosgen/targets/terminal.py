"""A target's console as a pseudo-terminal, which other programs open like a serial port."""

import contextlib
import os
import pty
import select
import threading
import tty
from typing import Self

from ethosgen.targets.kinds import Target
from ethosgen.values.errors import TargetError

_CHUNK = 4096
_SLICE_S = 0.05
_PATIENCE_S = 1.0
"""How long a full terminal waits for its reader, before it loses what the target sends."""


class Terminal:
    """A pseudo-terminal, from entering the context to leaving it; `path` is its device.

    It outlives the programs that open it: one may close it, and another open it again.
    """

    path: str

    def __enter__(self) -> Self:
        self._ours, self._theirs = pty.openpty()
        tty.setraw(self._theirs)  # no echo, no translation of line ends
        os.set_blocking(self._ours, False)
        self.path = os.ttyname(self._theirs)
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._ours)
        os.close(self._theirs)

    def serve(self, target: Target) -> int:
        """Carry bytes to and from a target until its firmware exits; return the exit status.

        TargetError if the target dies, with its output.
        """
        ends = threading.Event()
        sender = threading.Thread(target=self._send, args=(target, ends), daemon=True)
        sender.start()
        try:
            while True:
                self._show(target.console.read(_SLICE_S))
                target.check()
        except TargetError:
            if target.wait_for_exit() != 0:
                raise
            return 0
        finally:
            ends.set()
            sender.join()

    def _send(self, target: Target, ends: threading.Event) -> None:
        """Send a program's bytes to the target; if that is lost, `serve` reports it."""
        with contextlib.suppress(TargetError):
            while not ends.is_set():
                if select.select([self._ours], [], [], _SLICE_S)[0]:
                    target.console.write(os.read(self._ours, _CHUNK))

    def _show(self, data: bytes) -> None:
        while data and select.select([], [self._ours], [], _PATIENCE_S)[1]:
            data = data[os.write(self._ours, data) :]
