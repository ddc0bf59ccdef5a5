"""The layout of the frames that one element of a pipeline hands over to another."""

import hashlib
from dataclasses import dataclass

from ethosgen.values.multiples import rounded_up

HEADER_BYTES = 32
"""magic, sequence, status, origin, detail, bytes, identity: 32 bits each, little endian."""
IDENTITY_BYTES = 8
END_BYTES = 4
"""A CRC-32 on a serial line, the sequence number again in shared memory."""
ROOM = 2
"""The frames for which a receiver has room at least."""
MAGIC = 0x324F4845
PACKET_BYTES = 64
"""The most bytes of frames in a packet of a mesh."""
PACKET_ENDS_BYTES = 6
"""Start, receiver, line and size before them, and a CRC-16 behind."""


@dataclass(frozen=True)
class Given:
    """An input of the stage's network: bytes at an offset among the tensors of a received frame.

    `edge` is the position of its hand-over among those that the element receives.
    """

    port: int
    edge: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class Piece:
    """A tensor `at` an offset of a sent frame.

    It is the output `port` of the stage's network, or bytes at `offset` of the frame that the
    element receives with the hand-over `edge`.
    """

    is_output: bool
    port: int
    edge: int
    offset: int
    at: int
    bytes: int


@dataclass(frozen=True)
class SharedWindow:
    """Memory that two neighbours share: room for frames of `stride` bytes each."""

    start_addr: int
    stride: int


MOST_RECEIVED = 32
"""The most frames that an element waits for: its report has a bit for each."""
MOST_LINES = 128
"""The most lines before or behind an element: a packet of a mesh has their number in seven bits."""

PROJECT_FILE = "model/ethosgen.json"
PIPELINE_FILE = "pipeline.json"
"""The manifest in the folder of a pipeline, beside the projects of its elements."""


@dataclass(frozen=True)
class ElementLine:
    """A line of an element: the other end, and its frames' bytes of tensors.

    `peer` is empty for the host; the window is None on a serial line.
    """

    peer: str
    bytes: int
    room: int = ROOM
    window: SharedWindow | None = None

    @property
    def stride(self) -> int:
        """The bytes from a frame to the next, in the receiver's memory on a serial line."""
        if self.window is not None:
            return self.window.stride
        return rounded_up(HEADER_BYTES + self.bytes + END_BYTES, END_BYTES)


@dataclass(frozen=True)
class MeshPlace:
    """An element's place in a mesh: its `sides` that have a neighbour, from north clockwise.

    `ports` are the ports to all elements and then the host. The other end of each line is a node
    and the line's number there.
    """

    sides: tuple[bool, ...]
    ports: tuple[int, ...]
    ends_before: tuple[tuple[int, int], ...]
    ends_behind: tuple[tuple[int, int], ...]

    @property
    def packet_bytes(self) -> int:
        """The most bytes of frames in a packet."""
        return PACKET_BYTES


@dataclass(frozen=True)
class Handover:
    """An element's place in its pipeline, and its frames.

    It receives on the lines `before` it and sends on those `behind` it. For each sample a row of
    `turns_before` names the line of each hand-over that it receives, one of `turns_behind` that of
    each that it sends; after the last row comes the first. `pieces` are a sent frame's, by
    hand-over; none of one whose frames are also another one's, which has written them before.
    """

    name: str
    number: int
    elements: int
    before: tuple[ElementLine, ...]
    behind: tuple[ElementLine, ...]
    turns_before: tuple[tuple[int, ...], ...]
    turns_behind: tuple[tuple[int, ...], ...]
    inputs: tuple[Given, ...]
    pieces: tuple[tuple[Piece, ...], ...]
    identity: bytes
    mesh: MeshPlace | None = None

    @property
    def identity_words(self) -> list[int]:
        """The identity for the C."""
        halves = self.identity[:4], self.identity[4:]
        return [int.from_bytes(half, "little") for half in halves]

    @property
    def lines(self) -> int:
        """The number of the board's lines that it needs."""
        return len(self.mesh.sides) if self.mesh else len(self.before) + len(self.behind)

    @property
    def is_serial(self) -> bool:
        """Whether frames go over serial lines, and not through shared memory."""
        return self.before[0].window is None


def identity_of(network: bytes, *parts: object) -> bytes:
    """Return an identity of a pipeline's elements, from the network's file, its cuts and lines."""
    return hashlib.sha256(network + repr(parts).encode()).digest()[:IDENTITY_BYTES]
