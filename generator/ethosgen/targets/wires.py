"""The host's ends of a pipeline: it sends frames to elements, and receives those of others.

The frames are those of the firmware's model/ethosgen_handover.c.
"""

import select
import socket
import struct
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.errors import TargetError
from ethosgen.values.handover import END_BYTES, HEADER_BYTES, IDENTITY_BYTES, MAGIC, ROOM

Memory = np.ndarray[Any, np.dtype[np.uint8]]
Tap = Callable[[int, bytes], bytes]
"""Changes what goes over the link before an element, for tests: its number, and the bytes."""

_HEADER = struct.Struct(f"<6I{IDENTITY_BYTES}s")
_SIZE = 5
"""The header's field with the bytes of the tensors."""
_LINE_SHIFT = 16
"""In the header's origin: the element's number, and from this bit on the number of its line."""
_CHUNK = 1 << 16


@dataclass(frozen=True)
class ReceivedFrame:
    """A frame as received: the tensors are empty unless the status is 0.

    `origin` is the element that gave the status, and `line` that one of its lines.
    """

    sequence: int
    status: int
    origin: int
    line: int
    detail: int
    tensors: bytes


class Slots:
    """Room for frames in shared memory: `stride` bytes for each."""

    def __init__(self, memory: Memory, stride: int) -> None:
        self._memory = memory
        self._stride = stride
        self._room = len(memory) // stride

    def of(self, number: int) -> Memory:
        """Return the bytes of a frame's place."""
        start = number % self._room * self._stride
        return self._memory[start : start + self._stride]


class Recorder:
    """Keeps the tensors of each frame on one line, as its receiver gets it."""

    def __init__(self, slots: Slots | None) -> None:
        self._slots = slots
        self._pending = bytearray()
        self.frames: list[bytes] = []

    def take(self, data: bytes) -> None:
        """Take the line's data: frames, or doorbells of frames in shared memory."""
        if self._slots is not None:
            for _ in data:  # the receiver learns of the frame after this
                self._keep(self._slots.of(len(self.frames)).tobytes())
            return
        self._pending += data
        while (size := self._keep(self._pending)) is not None:
            del self._pending[:size]

    def _keep(self, data: bytes | bytearray) -> int | None:
        """Keep the frame at the start of `data`; return its size, None if it is incomplete."""
        if len(data) < HEADER_BYTES:
            return None
        stop = HEADER_BYTES + _HEADER.unpack_from(data)[_SIZE]
        if len(data) < stop + END_BYTES:
            return None
        self.frames.append(bytes(data[HEADER_BYTES:stop]))
        return int(stop + END_BYTES)


def drain(line: socket.socket) -> None:
    """Discard the data that has arrived on a line; its next user reports a loss."""
    with suppress(OSError):
        while select.select([line], [], [], 0)[0] and line.recv(_CHUNK):
            pass


class Feeder:
    """Sends frames to an element, as many as it has room for."""

    def __init__(
        self, line: socket.socket, slots: Slots | None, identity: bytes, receiver: str
    ) -> None:
        line.setblocking(False)
        self.line = line
        self._receiver = receiver
        self._slots = slots
        self._identity = identity
        self._waiting: deque[bytes] = deque()
        self._rest = b""
        self.sent = 0
        self._given_back = 0

    def add(self, tensors: bytes) -> None:
        """Queue a frame."""
        self._waiting.append(tensors)

    def work(self) -> bool:
        """Send as much as the line and the element accept now; return whether anything was sent.

        TargetError if the line is lost.
        """
        has_sent = False
        try:
            self._take_back()
            while self._rest or (self._waiting and self.sent - self._given_back < ROOM):
                if not self._rest:
                    self._rest = self._encode(self._waiting.popleft())
                    self.sent += 1
                self._rest = self._rest[self.line.send(self._rest) :]
                has_sent = True
        except BlockingIOError:
            return has_sent
        except OSError as error:
            raise TargetError(
                f"lost the line to element '{self._receiver}': {error.strerror}"
            ) from None
        return has_sent

    def _encode(self, tensors: bytes) -> bytes:
        header = _HEADER.pack(MAGIC, self.sent, 0, 0, 0, len(tensors), self._identity)
        if self._slots is None:
            return header + tensors + zlib.crc32(header + tensors).to_bytes(END_BYTES, "little")
        data = header + tensors + self.sent.to_bytes(END_BYTES, "little")
        self._slots.of(self.sent)[: len(data)] = np.frombuffer(data, np.uint8)
        return bytes([self.sent % 256])

    def _take_back(self) -> None:
        while select.select([self.line], [], [], 0)[0]:
            received = self.line.recv(_CHUNK)
            if not received:
                raise ConnectionResetError(0, "it was closed")
            for number in received:
                if number != self._given_back % 256:
                    raise TargetError(
                        f"element '{self._receiver}' released the buffer of another frame"
                    )
                self._given_back += 1


class Collector:
    """Receives the frames of the element `sender`, in order and undamaged."""

    def __init__(
        self,
        line: socket.socket,
        slots: Slots | None,
        size: int,
        identity: bytes,
        sender: str,
    ) -> None:
        line.setblocking(False)
        self.line = line
        self._name = sender
        self._slots = slots
        self._identity = identity
        self._size = size
        self._pending = bytearray()
        self.received = 0

    def work(self) -> list[ReceivedFrame]:
        """Return the frames that have arrived; TargetError for one that is damaged or missing."""
        frames = []
        try:
            while select.select([self.line], [], [], 0)[0]:
                data = self.line.recv(_CHUNK)
                if not data:
                    raise ConnectionResetError(0, "it was closed")
                self._pending += data
                while (frame := self._next()) is not None:
                    frames.append(frame)
        except BlockingIOError:
            pass
        except OSError as error:
            raise TargetError(
                f"lost the line to element '{self._name}': {error.strerror}"
            ) from None
        return frames

    def _next(self) -> ReceivedFrame | None:
        data = self._whole()
        if data is None:
            return None
        magic, sequence, status, origin, detail, bytes_, identity = _HEADER.unpack_from(data)
        end = int.from_bytes(data[-END_BYTES:], "little")
        wanted = zlib.crc32(data[:-END_BYTES]) if self._slots is None else sequence
        fits = bytes_ == (0 if status else self._size)
        if magic != MAGIC or end != wanted or not fits:
            raise DamagedFrameError(self.received)
        if sequence != self.received:
            raise LostFrameError(self.received, sequence)
        if not status and identity != self._identity:
            raise ForeignFrameError
        self.received += 1
        self.line.send(bytes([sequence % 256]))
        element, line_number = origin & (1 << _LINE_SHIFT) - 1, origin >> _LINE_SHIFT
        tensors = data[HEADER_BYTES:-END_BYTES]
        return ReceivedFrame(sequence, status, element, line_number, detail, tensors)

    def _whole(self) -> bytes | None:
        """Return the next frame's bytes once all have arrived."""
        if self._slots is not None:
            if not self._pending:
                return None
            number = self._pending.pop(0)
            if number != self.received % 256:
                raise LostFrameError(self.received, number)
            place = self._slots.of(self.received)
            bytes_ = min(_HEADER.unpack_from(place.tobytes())[_SIZE], self._size)
            return place[: HEADER_BYTES + bytes_ + END_BYTES].tobytes()
        if len(self._pending) < HEADER_BYTES:
            return None
        magic, *_, bytes_, identity = _HEADER.unpack_from(self._pending)
        if magic != MAGIC or bytes_ not in (0, self._size):
            if magic == MAGIC and identity != self._identity:
                raise ForeignFrameError
            raise DamagedFrameError(self.received)
        size = HEADER_BYTES + bytes_ + END_BYTES
        if len(self._pending) < size:
            return None
        data = bytes(self._pending[:size])
        del self._pending[:size]
        return data


class ForeignFrameError(TargetError):
    """An element's frame is that of another network, or of other cuts."""


class DamagedFrameError(TargetError):
    """An element's frame of that number arrived damaged."""

    def __init__(self, number: int) -> None:
        super().__init__(f"frame {number} arrived damaged")
        self.number = number


class LostFrameError(TargetError):
    """Another frame arrived than the expected one."""

    def __init__(self, number: int, got: int) -> None:
        super().__init__(f"frame {got} arrived instead of {number}")
        self.number = number
        self.got = got
