"""The connection to a target: bytes in both directions, through pyserial."""

import select
import threading
import time
from typing import Protocol

import serial

from ethosgen.values.errors import TargetError

_CHUNK = 4096
_OPEN_TIMEOUT_S = 5.0


class Console(Protocol):
    """A connection to a target."""

    def write(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the connection is lost."""

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received within `timeout_s`; TargetError if the connection is lost."""

    def close(self) -> None:
        """Close the connection."""


class SerialConsole:
    """Any connection that pyserial opens: a device, or a URL like socket://127.0.0.1:5000."""

    def __init__(self, url: str, baud: int = 115_200, what: str = "console") -> None:
        try:
            self._port = serial.serial_for_url(
                url, baudrate=baud, timeout=0, write_timeout=_OPEN_TIMEOUT_S, exclusive=True
            )
        except (serial.SerialException, ValueError, OSError) as error:
            raise TargetError(f"cannot open the {what} '{url}': {error}{_ports_here()}") from None
        self._has_file = _has_file(self._port)

    def write(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the connection is lost."""
        try:
            self._port.write(data)
        except (serial.SerialException, OSError) as error:
            raise TargetError(f"lost the connection to the target's console: {error}") from None

    def read(self, timeout_s: float) -> bytes:
        """Return the bytes received within `timeout_s`; TargetError if the connection is lost."""
        try:
            if not self._has_file:
                self._port.timeout = timeout_s
                return bytes(self._port.read(max(1, self._port.in_waiting)))
            # A read of pyserial waits for all requested bytes; return received bytes at once.
            ready, _, _ = select.select([self._port.fileno()], [], [], timeout_s)
            return bytes(self._port.read(_CHUNK)) if ready else b""
        except (serial.SerialException, OSError, ValueError) as error:
            raise TargetError(f"lost the connection to the target's console: {error}") from None

    def fileno(self) -> int:
        """Return the file descriptor; TargetError for a port that has none."""
        if not self._has_file:
            raise TargetError(f"'{self._port.port}' is neither a serial device nor a socket")
        return int(self._port.fileno())

    def pulse(self, line: str, duration_s: float) -> None:
        """Assert a control line ("dtr" or "rts") for a while, to reset a board."""
        try:
            setattr(self._port, line, True)
            time.sleep(duration_s)
            setattr(self._port, line, False)
            self._port.reset_input_buffer()
        except (serial.SerialException, OSError) as error:
            raise TargetError(f"cannot reset with {line.upper()}: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        # When it closes a socket, pyserial sleeps 0.3 s for callers that reopen it at once.
        threading.Thread(target=self._port.close, name="console-close", daemon=True).start()


def _has_file(port: serial.SerialBase) -> bool:
    """Return whether the system can wait for the port; not all pyserial ports are files."""
    try:
        return isinstance(port.fileno(), int)
    except (AttributeError, OSError, ValueError):
        return False


def _ports_here() -> str:
    from serial.tools import list_ports

    names = ", ".join(sorted(port.device for port in list_ports.comports()))
    return f"; serial ports here: {names}" if names else "; no serial port found"
