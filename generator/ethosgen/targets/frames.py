"""Frames on a serial line, like app/frames.c in the firmware.

    type (1) | sequence number (1) | body | CRC-32 of all before (4, little endian)

COBS-encoded, with a zero byte before and after.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from cobs import cobs

BODY_MAX = 1024
"""The largest request body that the firmware accepts, in bytes."""
_HEADER_BYTES = 2
_CRC_BYTES = 4
_LONGEST = 4 * BODY_MAX
"""The most bytes before a zero; more is noise, and is dropped to bound the memory."""


@dataclass(frozen=True)
class Frame:
    """One frame, as sent or as received in full."""

    type: int
    sequence: int
    body: bytes = b""

    def encode(self) -> bytes:
        """Return the bytes on the line."""
        content = bytes((self.type, self.sequence)) + self.body
        content += zlib.crc32(content).to_bytes(_CRC_BYTES, "little")
        return b"\0" + bytes(cobs.encode(content)) + b"\0"


class Decoder:
    """Finds frames in received data; drops damaged ones, for the sender to repeat.

    `between` gets everything else: damaged frames, or text that the firmware prints.
    """

    def __init__(self, between: Callable[[bytes], None] = lambda _data: None) -> None:
        self._pending = bytearray()
        self._between = between
        self.dropped = 0

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes, in any portions, and return the completed frames."""
        self._pending += data
        *whole, rest = self._pending.split(b"\0")
        frames = []
        for encoded in whole:
            if not encoded:
                continue
            frame = _decode(bytes(encoded))
            if frame is None:
                self.dropped += 1
                self._between(bytes(encoded))
            else:
                frames.append(frame)
        if len(rest) > _LONGEST:
            self._between(bytes(rest))
            rest = bytearray()
        self._pending = rest
        return frames


def _decode(encoded: bytes) -> Frame | None:
    try:
        content = bytes(cobs.decode(encoded))
    except cobs.DecodeError:
        return None
    if len(content) < _HEADER_BYTES + _CRC_BYTES:
        return None
    payload, crc = content[:-_CRC_BYTES], content[-_CRC_BYTES:]
    if zlib.crc32(payload) != int.from_bytes(crc, "little"):
        return None
    return Frame(payload[0], payload[1], payload[_HEADER_BYTES:])
