"""Targets that are programs on this machine: start, monitor and end them."""

import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from typing import IO, Any, Self

import numpy as np

from ethosgen.host.termination import hold_signals
from ethosgen.targets.buffers import PortIndex
from ethosgen.targets.console import Console
from ethosgen.values.errors import TargetError

_LOG = logging.getLogger(__name__)

_EXIT_S = 2.0
"""Time limit in seconds for a firmware to exit after its end marker."""
_DEATH_S = 10.0
"""Time in seconds to wait for the last output of a program whose console was lost."""
_SAID_LINES = 10


class ProcessTarget:
    """A program that runs a firmware, from entering the context to leaving it; also its console.

    `title` names it in errors. A subclass starts it in `_open` with `_spawn`, and sets `_console`.
    """

    noise: Sequence[str] = ()
    """Parts of output lines that every firmware causes."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._console: Console | None = None

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def console(self) -> Console:
        """The connection to the firmware."""
        return self

    @property
    def last_fault(self) -> Exception | None:
        """None: only a target with our NPU model reports faults."""
        return None

    def check(self) -> None:
        """Raise TargetError with the program's output if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise TargetError(f"{self._death(self._process.returncode)}{self._words()}")

    def settle(self) -> None:
        """Do nothing: the program needs nothing from us."""

    def buffer(self, _place: PortIndex) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """Return None: all data goes through the console."""
        return None

    def write(self, data: bytes) -> None:
        """Send to the firmware; TargetError with the program's output if it has ended."""
        try:
            self._line().write(data)
        except TargetError:
            self._explain_loss()
            raise

    def read(self, timeout_s: float) -> bytes:
        """Return the firmware's bytes; TargetError with the program's output if it has ended."""
        try:
            return self._line().read(timeout_s)
        except TargetError:
            self._explain_loss()
            raise

    def device_notes(self, is_late: bool) -> str:
        """Return notes on devices for a failed call: hung models if it is late, registers."""
        return ""

    def wait_for_exit(self) -> int | None:
        """Return the firmware's exit status, None if it has not exited in time."""
        return self._wait(_EXIT_S)

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        for line in (self._console, self._log):
            if line is not None:
                line.close()

    def _open(self) -> None:
        raise NotImplementedError

    def _death(self, status: int) -> str:
        """Return the message that the program has ended too early."""
        return f"{self._title} ended early with status {status}"

    def _spawn(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start the program and keep its output for errors. TargetError if it cannot start."""
        _LOG.info("%s", " ".join(command))
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the target
        streams = {"stdin": subprocess.DEVNULL, "stdout": self._log, "stderr": self._log}
        try:
            with hold_signals():
                self._process = subprocess.Popen(command, **{**streams, **options})
        except OSError as error:
            raise TargetError(f"cannot start '{command[0]}': {error.strerror}") from None
        return self._process

    def _line(self) -> Console:
        if self._console is None:
            raise TargetError(f"{self._title} was not started")
        return self._console

    def _wait(self, timeout_s: float) -> int | None:
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def _explain_loss(self) -> None:
        """Raise the reason of the lost connection once the program has ended, a moment later."""
        self._wait(_DEATH_S)
        self.check()

    def _read_log(self) -> str:
        if self._log is None:
            return ""
        # The program shares the file's position with us and writes there: do not move it.
        handle = self._log.fileno()
        return os.pread(handle, os.fstat(handle).st_size, 0).decode(errors="replace")

    def _words(self) -> str:
        """Return the end of the program's output, without the lines that it always prints."""
        lines = [line for line in self._read_log().splitlines() if line.strip()]
        printed = [line for line in lines if not any(noise in line for noise in self.noise)]
        return ": " + "\n".join(printed[-_SAID_LINES:]) if printed else ""
