"""The layout of the frames that one element of a pipeline hands over to the next."""

from dataclasses import dataclass

HEADER_BYTES = 24
"""magic, sequence, status, origin, detail, bytes: 32 bits each, little endian."""
END_BYTES = 4
"""A CRC-32 on a serial line, the sequence number again in shared memory."""
ROOM = 2
"""The frames for which a receiver has room."""
MAGIC = 0x314F4845


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
class Window:
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
    received: Window | None = None
    sent: Window | None = None

    @property
    def is_serial(self) -> bool:
        """Whether frames go over a serial line, and not through shared memory."""
        return self.received is None
