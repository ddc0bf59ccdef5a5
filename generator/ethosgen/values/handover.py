"""The layout of the frames that one element of a pipeline hands over to the next."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

HEADER_BYTES = 32
"""magic, sequence, status, origin, detail, bytes, identity: 32 bits each, little endian."""
IDENTITY_BYTES = 8
END_BYTES = 4
"""A CRC-32 on a serial line, the sequence number again in shared memory."""
ROOM = 2
"""The frames for which a receiver has room."""
MAGIC = 0x324F4845


@dataclass(frozen=True)
class Given:
    """An input of the stage's network: bytes at an offset among a received frame's tensors."""

    port: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class Piece:
    """A tensor `at` an offset of a sent frame.

    It is the output `port` of the stage's network, or bytes at `offset` of the received frame.
    """

    is_output: bool
    port: int
    offset: int
    at: int
    bytes: int


@dataclass(frozen=True)
class SharedWindow:
    """Memory that an element shares with a neighbour: room for frames of `stride` bytes each."""

    start_addr: int
    stride: int


@dataclass(frozen=True)
class Handover:
    """An element's place in its pipeline, and its frames; the windows are None on a serial line."""

    name: str
    number: int
    elements: int
    inputs: tuple[Given, ...]
    pieces: tuple[Piece, ...]
    received_bytes: int
    sent_bytes: int
    identity: bytes
    received: SharedWindow | None = None
    sent: SharedWindow | None = None

    @property
    def identity_words(self) -> list[int]:
        """The identity for the C."""
        halves = self.identity[:4], self.identity[4:]
        return [int.from_bytes(half, "little") for half in halves]

    @property
    def is_serial(self) -> bool:
        """Whether frames go over a serial line, and not through shared memory."""
        return self.received is None


def identity_of(network: bytes, boundaries: Sequence[int]) -> bytes:
    """Return an identity of a pipeline's elements, from the network's file and its cuts."""
    cuts = " ".join(map(str, boundaries))
    return hashlib.sha256(network + cuts.encode()).digest()[:IDENTITY_BYTES]
