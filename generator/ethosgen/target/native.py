"""A Zephyr application for native_sim: a program of this machine, with its console on its pipes.

The application starts the NPU's model by itself, so that its own unit tests need nothing else.
"""

import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ethosgen.errors import TargetError
from ethosgen.target.console import Console

_CHUNK = 4096
_EXIT_S = 2.0
_COMMAND = "ETHOSGEN"
"""The variable that names the command with the NPU's model to the application."""


class NativeTarget:
    """An application, from entering the context to leaving it; it is its own console."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._stderr = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                [str(self._program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env={_COMMAND: _own_command(), **os.environ},
            )
        except OSError as error:
            raise TargetError(f"cannot start '{self._program}': {error.strerror}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._stderr is not None:
            self._stderr.close()

    @property
    def console(self) -> Console:
        """The line to the application."""
        return self

    @property
    def last_fault(self) -> Exception | None:
        """Nothing: the model is the application's, and says on stderr what it found."""
        return None

    def check(self) -> None:
        """Raise TargetError with the application's words if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            status = self._process.returncode
            raise TargetError(f"the application ended early with status {status}{self._words()}")

    def write(self, data: bytes) -> None:
        """Send to the application; TargetError with its words if it has ended."""
        line = self._process.stdin if self._process else None
        if line is None:
            raise TargetError("the application was not started")
        try:
            line.write(data)
            line.flush()
        except OSError as error:
            self.wait_for_exit()
            self.check()
            raise TargetError(f"the application's console broke: {error}") from None

    def read(self, timeout_s: float) -> bytes:
        """Return what the application sent; TargetError with its words if it has ended."""
        line = self._process.stdout if self._process else None
        if line is None:
            raise TargetError("the application was not started")
        ready, _, _ = select.select([line], [], [], timeout_s)
        if not ready:
            return b""
        data = os.read(line.fileno(), _CHUNK)
        if not data:
            self.wait_for_exit()
            self.check()
        return data

    def settle(self) -> None:
        """Do nothing: there is nothing that the application does not need any more."""

    def wait_for_exit(self, timeout_s: float = _EXIT_S) -> int | None:
        """Return the status that the application left with, None if it has not left in time."""
        if self._process is None:
            return None
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Do nothing: leaving the context ends the application."""

    def _words(self) -> str:
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        said = self._stderr.read().decode(errors="replace").strip().splitlines()
        return ": " + "\n".join(said[-10:]) if said else ""


def _own_command() -> str:
    """Return the command ethosgen beside this Python, or by its name."""
    beside = Path(sys.executable).parent / "ethosgen"
    return str(beside) if beside.is_file() else "ethosgen"
