"""Carries a pipeline's frames between lines of this machine and serial ports of boards."""

import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ethosgen.targets.console import SerialConsole
from ethosgen.targets.serial_port import SerialLine
from ethosgen.values.errors import TargetError

_CHUNK = 4096


@dataclass(frozen=True)
class ElementPorts:
    """The serial ports of an element that is a board.

    `lines` are those of its lines, by their names, without those that lead to another board.
    """

    console: SerialLine
    lines: Mapping[str, str] = field(default_factory=dict)


class End(Protocol):
    """An end of a line, with a socket's methods."""

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""

    def recv(self, size: int, /) -> bytes:
        """Return the bytes that have arrived, none if the other end was closed."""

    def sendall(self, data: bytes, /) -> None:
        """Send all of `data`."""

    def close(self) -> None:
        """Close the end."""


class SerialEnd:
    """A serial port as an end of a line."""

    def __init__(self, url: str, baud: int) -> None:
        self._url = url
        self._port = SerialConsole(url, baud, "line")

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._port.fileno()

    def recv(self, _size: int) -> bytes:
        """Return the bytes that have arrived; TargetError if the port is lost."""
        with self._named():
            data = self._port.read(0)
        if not data:
            raise TargetError(f"'{self._url}' was closed")
        return data

    def sendall(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the port is lost."""
        with self._named():
            self._port.write(data)

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except TargetError as error:
            raise TargetError(f"'{self._url}': {error}") from None


Change = Callable[[bytes], bytes]
"""Changes, or only looks at, data on their way."""


def unchanged(data: bytes) -> bytes:
    """Return the data."""
    return data


class Relay(threading.Thread):
    """Carries bytes between two ends.

    Data from the first to the second pass through `forward`, the others through `back`.
    """

    def __init__(
        self, first: End, second: End, forward: Change = unchanged, back: Change = unchanged
    ) -> None:
        super().__init__(daemon=True)
        self._ends = {first: (second, forward), second: (first, back)}
        self.error: TargetError | None = None

    def run(self) -> None:
        """Carry bytes until an end is closed; keep the error if a serial port is lost."""
        try:
            while True:
                for end in select.select(list(self._ends), [], [])[0]:
                    to, change = self._ends[end]
                    data = end.recv(_CHUNK)
                    if not data:
                        return
                    to.sendall(change(data))
        except TargetError as error:
            self.error = error
        except (OSError, ValueError, TypeError):  # the pipeline was closed: a port has no number
            return
        finally:
            for end in self._ends:
                end.close()


def wire() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a line on this machine."""
    return socket.socketpair()
