"""The host's place in a mesh of elements: it puts frames into packets, as their routers do.

The packets are those of the firmware's board/link.c.
"""

import select
import socket
import threading
from binascii import crc_hqx
from collections.abc import Mapping

from ethosgen.values.errors import TargetError
from ethosgen.values.handover import PACKET_BYTES
from ethosgen.values.wiring import HOST, Wiring

START, CREDIT = 0xA5, 0x5A
BACK = 0x80
"""In a packet's line: the payload gives room of frames back."""
_HEADER_BYTES, _CRC_BYTES = 4, 2
_CRC_START = 0xFFFF
_AT_COUNT = 3
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
        while self._pending:
            if self._pending[0] == CREDIT:
                self._credits += 1
                del self._pending[0]
                continue
            if len(self._pending) <= _AT_COUNT:
                return
            stop = _HEADER_BYTES + self._pending[_AT_COUNT]
            packet = bytes(self._pending[: stop + _CRC_BYTES])
            if len(packet) < stop + _CRC_BYTES:
                return
            del self._pending[: stop + _CRC_BYTES]
            _, node, line, *_ = packet
            if packet != packet_of((node, line), packet[_HEADER_BYTES:stop]) or node != self._node:
                raise TargetError("a packet for the host arrived damaged")
            self._own[line].sendall(packet[_HEADER_BYTES:stop])
            self._line.sendall(bytes([CREDIT]))


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
