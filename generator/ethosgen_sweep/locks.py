"""Locks of jobs: files next to a store's values, so that two sweeps do not do the same job."""

import os
import platform
import secrets
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Thread

BEAT_S = 10.0
"""A holder touches its file this often."""
SILENCE_S = 150.0
"""A file that nobody touched for so long has no holder. NFS may show a time one minute late."""


class HeldError(Exception):
    """Another process has the lock."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock inside the block; HeldError if another process that still runs has it.

    If no file can be created, such as in a read-only folder, there is no lock.
    """
    token = f"{_machine()} {os.getpid()} {secrets.token_hex(8)}"
    try:
        is_ours = _make(path, token)
    except OSError:
        yield
        return
    if not is_ours:
        raise HeldError
    done = Event()
    beat = Thread(target=_touch, args=(path, done), daemon=True)
    beat.start()
    try:
        yield
    finally:
        done.set()
        beat.join()
        if _token(path) == token:
            path.unlink(missing_ok=True)


@dataclass
class Silence:
    """Watches a lock that another process has: by this machine's clock only, as clocks differ."""

    path: Path
    _seen: tuple[str, int] | None = None
    _since: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        """Remove the lock if its holder has not touched it for too long."""
        try:
            seen = _token(self.path), self.path.stat().st_mtime_ns
        except OSError:
            return
        if seen != self._seen:
            self._seen, self._since = seen, time.monotonic()
        elif time.monotonic() - self._since > SILENCE_S:
            _remove(self.path, seen[0])


def _make(path: Path, token: str) -> bool:
    """Create the file, even in place of a dead holder's here; return whether it is ours."""
    path.parent.mkdir(exist_ok=True)
    for _ in range(2):
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            other = _token(path)
            if not _has_died(other):
                return False
            _remove(path, other)
        else:
            with os.fdopen(handle, "w") as file:
                file.write(token)
            return True
    return False


def _token(path: Path) -> str:
    """Return what the holder wrote, "" if the file is gone or not written yet."""
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text()
    return ""


def _has_died(token: str) -> bool:
    """Return whether a holder on this machine is gone; others show it only by their silence."""
    parts = token.split()
    if len(parts) != 3 or parts[0] != _machine() or not parts[1].isdigit():
        return False
    return not Path("/proc", parts[1]).exists()


def _remove(path: Path, token: str) -> None:
    """Remove a dead holder's file, but not one that another process has created since."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with suppress(OSError):
        path.rename(aside)
        if _token(aside) != token:
            os.link(aside, path)
    aside.unlink(missing_ok=True)


def _touch(path: Path, done: Event) -> None:
    while not done.wait(BEAT_S):
        with suppress(OSError):
            os.utime(path)


@cache
def _machine() -> str:
    """Return an identity of the machine, or the container, whose process numbers are its own."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # not Linux: one computer, without containers
        return f"{platform.node()}-{uuid.getnode():012x}"
