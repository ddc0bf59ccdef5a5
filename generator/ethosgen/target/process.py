"""A target that is a program of this machine: how it is started, watched, talked to and ended."""

import logging
import os
import subprocess
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from ethosgen.host.termination import hold_signals
from ethosgen.target.buffers import Place
from ethosgen.target.console import Console
from ethosgen.values.errors import TargetError

_LOG = logging.getLogger(__name__)

_EXIT_S = 2.0
"""A firmware that said goodbye leaves at once."""
_DEATH_S = 10.0
"""A program whose console broke is about to end: so long we wait for its last words."""
_SAID_LINES = 10


class ProcessTarget:
    """A program that runs a firmware, from entering the context to leaving it; its own console.

    `title` names it in errors. A subclass starts it in `_open`, by `_spawn`, and sets `_console`.
    """

    noise: Sequence[str] = ()
    """What lines have in them that it says of every firmware."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._console: Console | None = None

    def __enter__(self) -> Self:
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def console(self) -> Console:
        """The line to the firmware."""
        return self

    @property
    def last_fault(self) -> Exception | None:
        """None: only where the NPU's model is ours we know more than the firmware."""
        return None

    def check(self) -> None:
        """Raise TargetError with the program's words if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            raise TargetError(f"{self._death(self._process.returncode)}{self._words()}")

    def settle(self) -> None:
        """Do nothing: the program needs nothing of ours."""

    def buffer(self, _place: Place) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """Return None: all goes through the console."""
        return None

    def write(self, data: bytes) -> None:
        """Send to the firmware; TargetError with the program's words if it has ended."""
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

    def wait_for_exit(self) -> int | None:
        """Return the status that the firmware left with, None if it has not left in time."""
        return self._wait(_EXIT_S)

    def close(self) -> None:
        """End the program."""
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        for line in (self._console, self._said):
            if line is not None:
                line.close()

    def _open(self) -> None:
        raise NotImplementedError

    def _death(self, status: int) -> str:
        """Return the message that the program has ended too early."""
        return f"{self._title} ended early with status {status}"

    def _spawn(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start the program; what it says is kept for errors. TargetError if it cannot start."""
        _LOG.info("%s", " ".join(command))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the target
        streams = {"stdin": subprocess.DEVNULL, "stdout": self._said, "stderr": self._said}
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
        """Raise why the line is gone, once the program has ended, which takes a moment longer."""
        self._wait(_DEATH_S)
        self.check()

    def _log(self) -> str:
        if self._said is None:
            return ""
        # The program writes at the place in the file that it shares with us: we must not move it.
        handle = self._said.fileno()
        return os.pread(handle, os.fstat(handle).st_size, 0).decode(errors="replace")

    def _words(self) -> str:
        """Return the end of what the program said, without what it always says."""
        lines = [line for line in self._log().splitlines() if line.strip()]
        said = [line for line in lines if not any(noise in line for noise in self.noise)]
        return ": " + "\n".join(said[-_SAID_LINES:]) if said else ""
