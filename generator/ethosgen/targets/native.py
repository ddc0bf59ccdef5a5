"""A Zephyr application for native_sim: a program on this machine, with its console on its pipes.

The application itself starts the NPU model, so its unit tests need nothing else.
"""

import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from ethosgen.targets.process import ProcessTarget
from ethosgen.values.errors import TargetError

_CHUNK = 4096
_COMMAND = "ETHOSGEN"
"""The variable that passes the NPU model's command to the application."""

_CONSOLE = "ETHOSGEN_CONSOLE"
"""The variable that is set if ethosgen is at the application's console. Without it, the application
starts `ethosgen run`, which calls this code."""


class NativeTarget(ProcessTarget):
    """An application, from entering the context to leaving it; also its console."""

    def __init__(self, program: Path) -> None:
        super().__init__("the application")
        self._program = program

    def _open(self) -> None:
        process = self._spawn(
            [str(self._program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={_COMMAND: _own_command(), **os.environ, _CONSOLE: "stdio"},
        )
        if process.stdin is not None and process.stdout is not None:
            self._console = Pipes(process.stdin, process.stdout)


class Pipes:
    """A console on a program's stdin and stdout."""

    def __init__(self, to_program: IO[bytes], from_program: IO[bytes]) -> None:
        self._to = to_program
        self._from = from_program

    def write(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the program has gone."""
        try:
            self._to.write(data)
            self._to.flush()
        except OSError as error:
            raise TargetError(f"lost the application's console: {error}") from None

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received within `timeout_s`; TargetError if the program has gone."""
        ready, _, _ = select.select([self._from], [], [], timeout_s)
        data = os.read(self._from.fileno(), _CHUNK) if ready else b""
        if ready and not data:
            raise TargetError("lost the application's console: it was closed")
        return data

    def close(self) -> None:
        """Close both ends."""
        with suppress(OSError):  # unsent data no longer matters
            self._to.close()
        self._from.close()


def _own_command() -> str:
    """Return the ethosgen command next to this Python, or by its name."""
    beside = Path(sys.executable).parent / "ethosgen"
    return str(beside) if beside.is_file() else "ethosgen"
