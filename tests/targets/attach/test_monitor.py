"""QEMU's test protocol, with a QEMU that answers, refuses or has ended."""

import socket

import pytest

from ethosgen.targets.attach.monitor import InterruptLine
from ethosgen.targets.attach.packets import Closed
from ethosgen.values.errors import TargetError


def test_an_interrupt_line_of_a_qemu_that_ends() -> None:
    near, far = socket.socketpair()
    line = InterruptLine(near, "/core", 56)
    far.sendall(b"OK\nFAIL no such line\n")
    line.set(True)
    assert far.recv(100) == b"set_irq_in /core unnamed-gpio-in 56 1\n"
    with pytest.raises(TargetError, match="it answers FAIL no such line"):
        line.set(False)
    far.close()
    for _ in range(2):
        with pytest.raises(Closed):
            line.set(True)
    line.close()
