"""The conversation of a user's GDB with QEMU's stub."""

import socket

import pytest

from ethosgen.target.attach.debugger import Conversation
from ethosgen.target.attach.stub import Stub


class _TimeIsUpError(Exception):
    pass


def test_an_acknowledgement_without_a_packet_does_not_stop_the_clock() -> None:
    near, far = socket.socketpair()
    checks = 0

    def check() -> None:
        nonlocal checks
        checks += 1
        if checks == 1:
            far.sendall(b"+")
        if checks > 2:
            raise _TimeIsUpError

    with near, far, pytest.raises(_TimeIsUpError):
        Conversation(Stub(near)).run(check)
