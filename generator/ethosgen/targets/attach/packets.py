"""Packets of GDB's remote serial protocol: $body#checksum, acknowledged by + or -.

Source: Debugging with GDB, appendix E.1.
"""

import select
import socket
from collections import deque

INTERRUPT = b"\x03"
"""Ctrl-C, which GDB sends outside of a packet."""
_CHUNK = 1 << 16


class Closed(Exception):  # noqa: N818 - not an error: the other side has ended
    """The other side has closed the connection."""


class Packets:
    """A connection that carries packets. Bodies keep their escapes."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._received = b""
        self._ready: deque[bytes] = deque()
        self._last = b""

    def fileno(self) -> int:
        """Return the file descriptor, for `select`."""
        return self._line.fileno()

    @property
    def is_ready(self) -> bool:
        """Whether `receive` returns at once."""
        return bool(self._ready)

    def send(self, body: bytes) -> None:
        """Send a packet; Closed if the other side has ended."""
        self._last = b"$" + body + b"#%02x" % (sum(body) % 256)
        self._write(self._last)

    def interrupt(self) -> None:
        """Send Ctrl-C."""
        self._write(INTERRUPT)

    def receive(self, timeout_s: float | None = None) -> bytes | None:
        """Return the next packet's body, or INTERRUPT; None if none arrives in time.

        Closed if the other side has ended.
        """
        while not self._ready:
            if not select.select([self._line], [], [], timeout_s)[0]:
                return None
            try:
                data = self._line.recv(_CHUNK)
            except OSError:
                data = b""
            if not data:
                raise Closed
            self._received += data
            self._split()
        return self._ready.popleft()

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def _split(self) -> None:
        """Take whole packets out of the received bytes."""
        while self._received:
            first = self._received[:1]
            if first == b"$":
                end = self._received.find(b"#")
                if end < 0 or len(self._received) < end + 3:
                    return
                body, sent = self._received[1:end], self._received[end + 1 : end + 3]
                self._received = self._received[end + 3 :]
                self._accept(body, sent)
                continue
            self._received = self._received[1:]
            if first == INTERRUPT:
                self._ready.append(INTERRUPT)
            elif first == b"-":
                self._write(self._last)

    def _accept(self, body: bytes, sent: bytes) -> None:
        """Acknowledge a packet, or request it again if it was damaged."""
        if b"%02x" % (sum(body) % 256) != sent.lower():
            self._write(b"-")
            return
        self._write(b"+")
        self._ready.append(body)

    def _write(self, data: bytes) -> None:
        try:
            self._line.sendall(data)
        except OSError:
            raise Closed from None
