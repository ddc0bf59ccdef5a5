"""The line to a target: bytes there and back, by pyserial."""

import select
import threading
from typing import Protocol

import serial

from ethosgen.errors import TargetError

_CHUNK = 4096
_OPEN_TIMEOUT_S = 5.0


class Console(Protocol):
    """A line to a target."""

    def write(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the line is gone."""

    def read(self, timeout_s: float) -> bytes:
        """Return what has come after at most `timeout_s`; TargetError if the line is gone."""

    def close(self) -> None:
        """Close the line."""


class SerialConsole:
    """Any line that pyserial opens: a device, or a URL such as socket://127.0.0.1:5000."""

    def __init__(self, url: str, baud: int = 115_200) -> None:
        try:
            self._port = serial.serial_for_url(
                url, baudrate=baud, timeout=0, write_timeout=_OPEN_TIMEOUT_S
            )
        except (serial.SerialException, ValueError, OSError) as error:
            raise TargetError(f"cannot open the console '{url}': {error}") from None

    def write(self, data: bytes) -> None:
        """Send all of `data`; TargetError if the line is gone."""
        try:
            self._port.write(data)
        except (serial.SerialException, OSError) as error:
            raise TargetError(f"the target's console broke: {error}") from None

    def read(self, timeout_s: float) -> bytes:
        """Return what has come after at most `timeout_s`; TargetError if the line is gone."""
        try:
            # pyserial waits until a read is full; we want what there is as soon as it is there.
            ready, _, _ = select.select([self._port.fileno()], [], [], timeout_s)
            return bytes(self._port.read(_CHUNK)) if ready else b""
        except (serial.SerialException, OSError, ValueError) as error:
            raise TargetError(f"the target's console broke: {error}") from None

    def close(self) -> None:
        """Close the line."""
        # pyserial sleeps 0.3 s when it closes a socket, for the sake of who opens it again at once.
        threading.Thread(target=self._port.close, name="console-close", daemon=True).start()
