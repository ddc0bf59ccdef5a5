"""Runs a function in a fork of this process, which can die, print and hang as a child can.

Its file imports only the standard library, since an environment's Python runs it too.
"""

import contextlib
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Ended:
    """The status of a fork, None if it was late; what it returned, and what it printed."""

    status: int | None
    returned: bytes
    output: bytes
    errors: bytes


def run_fork(work: Callable[[], bytes], limit_s: float, source: bytes = b"") -> Ended:
    """Run a function in a fork, with `source` as its input; its status is 1 if it raises."""
    reading, writing = os.pipe()  # the fork holds one end for as long as it lives
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_file()) for _ in range(3)]
        files[0].write(source)
        files[0].seek(0)
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run(work, writing, files)
        os.close(writing)
        returned, is_late = _collect(reading, limit_s)
        os.close(reading)
        if is_late:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        for file in files[1:]:
            file.seek(0)
        code = None if is_late else os.waitstatus_to_exitcode(status)
        return Ended(code, returned, files[1].read(), files[2].read())


def _file() -> IO[bytes]:
    """Return a file in memory, on disk where the system has no such."""
    is_linux = hasattr(os, "memfd_create")
    return os.fdopen(os.memfd_create("fork"), "w+b") if is_linux else tempfile.TemporaryFile()


def _run(work: Callable[[], bytes], writing: int, files: Sequence[IO[bytes]]) -> None:
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    sys.stdin = os.fdopen(0, closefd=False)
    status = 1
    with contextlib.suppress(BaseException):
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(work())
        status = 0
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _collect(reading: int, limit_s: float) -> tuple[bytes, bool]:
    """Read what a fork returns; return it, and whether its time ran out."""
    data, end = b"", time.monotonic() + limit_s
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            return data, True
        more = os.read(reading, 1 << 20)
        if not more:
            return data, False
        data += more
