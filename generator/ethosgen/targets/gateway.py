"""The host's place in a mesh of elements: it puts frames into packets, as their routers do.

The packets are those of the firmware's board/link.c.
"""

import select
import socket
import threading
from binascii import crc_hqx
from collections.abc import Iterator, Mapping, Sequence

from ethosgen.targets.relay import Change
from ethosgen.targets.wires import Recorder
from ethosgen.values.errors import TargetError
from ethosgen.values.handover import PACKET_BYTES
from ethosgen.values.wiring import HOST, Wiring

START, CREDIT = 0xA5, 0x5A
BACK = 0x80
"""In a packet's line: the payload gives room of frames back."""
_HEADER_BYTES, _CRC_BYTES = 4, 2
_CRC_START = 0xFFFF
_AT_NODE, _AT_LINE, _AT_COUNT = 1, 2, 3
_ROOM = 2
_CHUNK = 1 << 16
_SLICE_S = 0.1

Address = tuple[int, int]
"""A node of the mesh, and the number of a line there; with BACK for the room of its frames."""


class Gateway(threading.Thread):
    """Carries bytes between lines of this machine and packets on the line of a mesh.

    `lines` are the ends of lines, by where their bytes go; `own` are the same ends, by the number
    of the line here, for what comes from there. `node` is the host's.
    """

    def __init__(
        self,
        line: socket.socket,
        node: int,
        lines: Mapping[socket.socket, Address],
        own: Mapping[int, socket.socket],
    ) -> None:
        super().__init__(daemon=True)
        self._line = line
        self._node = node
        self._lines = lines
        self._own = own
        self._credits = _ROOM
        self._pending = bytearray()
        self.error: TargetError | None = None

    def run(self) -> None:
        """Carry bytes until an end is closed; keep the error if a packet is damaged."""
        try:
            while True:
                ends = [self._line, *(self._lines if self._credits else ())]
                for end in select.select(ends, [], [], _SLICE_S)[0]:
                    if end is self._line:
                        self._receive()
                    elif self._credits:
                        self._send(end)
        except TargetError as error:
            self.error = error
        except (OSError, ValueError):  # the pipeline was closed
            return

    def _send(self, end: socket.socket) -> None:
        data = end.recv(PACKET_BYTES)
        if not data:
            raise ConnectionResetError
        self._credits -= 1
        self._line.sendall(packet_of(self._lines[end], data))

    def _receive(self) -> None:
        data = self._line.recv(_CHUNK)
        if not data:
            raise ConnectionResetError
        self._pending += data
        for packet in _taken(self._pending):
            if packet[0] == CREDIT:
                self._credits += 1
                continue
            node, line = packet[_AT_NODE], packet[_AT_LINE]
            payload = packet[_HEADER_BYTES:-_CRC_BYTES]
            if packet != packet_of((node, line), payload) or node != self._node:
                raise TargetError("a packet for the host arrived damaged")
            self._own[line].sendall(payload)
            self._line.sendall(bytes([CREDIT]))


def packet_recorder(wiring: Wiring, node: int, recorders: Sequence[Recorder]) -> Change:
    """Return a function for a line to an element, which gives frames in packets to `recorders`.

    Those are numbered as all lines, none if nothing is recorded. Packets for other elements pass,
    and frames from the host, which are recorded here.
    """
    pending = bytearray()
    own = {
        place: recorders[number]
        for place, number in enumerate(wiring.before(node) if recorders else ())
        if wiring.lines[number].sender != HOST
    }

    def passed(data: bytes) -> bytes:
        pending.extend(data)
        for packet in _taken(pending):
            if packet[0] != CREDIT and packet[_AT_NODE] == node and packet[_AT_LINE] in own:
                own[packet[_AT_LINE]].take(packet[_HEADER_BYTES:-_CRC_BYTES])
        return data

    return passed


def _taken(pending: bytearray) -> Iterator[bytes]:
    """Yield the packets, and the bytes of room, that are complete, and remove them."""
    while pending:
        stop = 1
        if pending[0] != CREDIT:
            if len(pending) <= _AT_COUNT:
                return
            stop = _HEADER_BYTES + pending[_AT_COUNT] + _CRC_BYTES
        if len(pending) < stop:
            return
        packet = bytes(pending[:stop])
        del pending[:stop]
        yield packet


def packet_of(to: Address, data: bytes) -> bytes:
    """Return a packet with data for an address."""
    body = bytes([*to, len(data)]) + data
    return bytes([START]) + body + crc_hqx(body, _CRC_START).to_bytes(_CRC_BYTES, "little")


def host_lines(
    wiring: Wiring, ends: Mapping[int, socket.socket]
) -> tuple[dict[socket.socket, Address], dict[int, socket.socket]]:
    """Return the receivers of the host's lines, and the lines on which the host receives.

    `ends` are the ends at the gateway, by the lines' numbers.
    """
    lines: dict[socket.socket, Address] = {}
    own: dict[int, socket.socket] = {}
    for here, number in enumerate(wiring.behind(HOST)):
        receiver = wiring.lines[number].receiver
        lines[ends[number]] = receiver, wiring.before(receiver).index(number)
        own[here | BACK] = ends[number]
    for here, number in enumerate(wiring.before(HOST)):
        sender = wiring.lines[number].sender
        lines[ends[number]] = sender, wiring.behind(sender).index(number) | BACK
        own[here] = ends[number]
    return lines, own
