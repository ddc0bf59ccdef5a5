"""A line that damages a share of the frames: it loses, doubles or flips bytes."""

import random
from collections.abc import Iterator

from ethosgen.targets.console import Console


class NoisyFrames:
    """Damages a share of the frames that pass, in both directions; `frames` and `damaged` count.

    A frame is the bytes between two zero bytes; one byte of a damaged one is lost, doubled or
    flipped.
    """

    def __init__(self, console: Console, share: float, seed: int) -> None:
        self._console = console
        self._share = share
        self._random = random.Random(seed)
        self._pending = bytearray()
        self.frames = self.damaged = 0

    def write(self, data: bytes) -> None:
        """Send frames, some of them damaged."""
        self._console.write(b"".join(self._damage(part) for part in self._frames(data, b"")))

    def read(self, timeout_s: float) -> bytes:
        """Return the received whole frames, some of them damaged."""
        parts = list(self._frames(self._console.read(timeout_s), bytes(self._pending)))
        self._pending = bytearray()
        if parts and not parts[-1].endswith(b"\0"):
            self._pending += parts.pop()
        return b"".join(self._damage(part) for part in parts)

    def close(self) -> None:
        """Close the line."""
        self._console.close()

    def _frames(self, data: bytes, before: bytes) -> Iterator[bytes]:
        parts = (before + data).split(b"\0")
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            if part or not last:
                yield part if last else part + b"\0"

    def _damage(self, frame: bytes) -> bytes:
        if len(frame) < 2:  # an empty frame between two others
            return frame
        self.frames += 1
        if self._random.random() >= self._share:
            return frame
        self.damaged += 1
        at = self._random.randrange(len(frame))
        kind = self._random.choice(("lost", "doubled", "flipped"))
        if kind == "lost":
            return frame[:at] + frame[at + 1 :]
        if kind == "doubled":
            return frame[:at] + frame[at : at + 1] + frame[at:]
        return frame[:at] + bytes((frame[at] ^ 1 << self._random.randrange(8),)) + frame[at + 1 :]
