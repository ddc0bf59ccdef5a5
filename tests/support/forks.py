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
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO


@dataclass(frozen=True)
class Ended:
    """The status of a fork, None if it was late; what it returned, and what it printed."""

    status: int | None
    returned: bytes
    prints: bytes


def run_fork(work: Callable[[], bytes], limit_s: float) -> Ended:
    """Run a function in a fork; its status is 1 if the function raises."""
    reading, writing = os.pipe()  # the fork holds one end for as long as it lives
    with tempfile.TemporaryFile() as prints:
        child = os.fork()
        if child == 0:
            os.close(reading)
            _run(work, writing, prints)
        os.close(writing)
        returned, is_late = _collect(reading, limit_s)
        os.close(reading)
        if is_late:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        prints.seek(0)
        return Ended(
            None if is_late else os.waitstatus_to_exitcode(status), returned, prints.read()
        )


def _run(work: Callable[[], bytes], writing: int, prints: IO[bytes]) -> None:
    os.dup2(prints.fileno(), 1)
    os.dup2(prints.fileno(), 2)
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
