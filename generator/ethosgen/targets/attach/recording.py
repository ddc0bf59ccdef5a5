"""A firmware's console, recorded instead of shown."""

import socket
import threading
from types import TracebackType

from ethosgen.targets.attach.connections import Connections, Semihosting

_CHUNK = 1 << 16
_END_S = 5.0


class RecordedConsole:
    """Records what a firmware writes to its UART and by semihosting, in the order of arrival.

    Within its context, `connections` are for one run.
    """

    def __init__(self, line: int) -> None:
        """Record QEMU's serial port number `line`, and semihosting."""
        self._pairs = [socket.socketpair() for _ in range(2)]
        (_, uart), (_, semihosting) = self._pairs
        self.connections = Connections({line: uart}, Semihosting(console=semihosting))
        self._parts: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._record, args=[near], name="console", daemon=True)
            for near, _ in self._pairs
        ]

    def __enter__(self) -> "RecordedConsole":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for _, far in self._pairs:
            far.close()  # QEMU has its own handle, and has ended
        for thread in self._threads:
            thread.join(_END_S)
        for near, _ in self._pairs:
            near.close()

    @property
    def text(self) -> str:
        """All that was written, whole after the context's end."""
        return b"".join(self._parts).decode(errors="replace")

    def _record(self, line: socket.socket) -> None:
        while data := line.recv(_CHUNK):
            self._parts.append(data)
