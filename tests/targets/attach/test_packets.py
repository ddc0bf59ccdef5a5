"""Packets of GDB's protocol."""

import socket
from collections.abc import Iterator

import pytest

from ethosgen.targets.attach.packets import INTERRUPT, Closed, Packets


@pytest.fixture
def ends() -> Iterator[tuple[Packets, socket.socket]]:
    near, far = socket.socketpair()
    far.settimeout(60)
    with near, far:
        yield Packets(near), far


def test_a_packet_has_its_sum(ends: tuple[Packets, socket.socket]) -> None:
    packets, far = ends
    packets.send(b"OK")
    assert far.recv(64) == b"$OK#9a"  # the example of GDB's manual


def test_packets_arrive_in_parts(ends: tuple[Packets, socket.socket]) -> None:
    packets, far = ends
    far.sendall(b"+$O")
    assert packets.receive(0.01) is None
    far.sendall(b"K#9a\x03$#00")
    assert [packets.receive(1) for _ in range(3)] == [b"OK", INTERRUPT, b""]
    assert far.recv(64) == b"++"


def test_a_damaged_packet_is_asked_for_again(ends: tuple[Packets, socket.socket]) -> None:
    packets, far = ends
    far.sendall(b"$OL#9a")
    assert packets.receive(0.05) is None
    assert far.recv(64) == b"-"


def test_a_packet_is_sent_again(ends: tuple[Packets, socket.socket]) -> None:
    packets, far = ends
    packets.send(b"OK")
    far.sendall(b"-")
    assert packets.receive(0.05) is None
    assert far.recv(64) == b"$OK#9a" * 2


def test_the_other_end_may_close(ends: tuple[Packets, socket.socket]) -> None:
    packets, far = ends
    far.close()
    with pytest.raises(Closed):
        packets.receive(1)
