"""The conversation of a user's GDB with QEMU's stub."""

import socket

import pytest

from ethosgen.targets.attach.debugger import Conversation
from ethosgen.targets.attach.stub import Stub


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


def test_an_answer_to_gdb_does_not_wait_for_an_acknowledgement() -> None:
    """Nagle's algorithm delays it by some 40 ms, and GDB asks some 50 times for each step."""
    near, far = socket.socketpair()
    with near, far, socket.create_server(("127.0.0.1", 0)) as listener:
        conversation = Conversation(Stub(near), None, listener)
        gdb = socket.create_connection(listener.getsockname())
        checks = 0

        def check() -> None:
            nonlocal checks
            checks += 1
            if conversation._debugger is not None:
                line = conversation._debugger._line
                assert line.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                raise _TimeIsUpError
            assert checks < 100

        with gdb, pytest.raises(_TimeIsUpError):
            conversation.run(check)
