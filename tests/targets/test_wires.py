"""The host's ends of a pipeline."""

import socket

import pytest

from ethosgen.targets.wires import Feeder, drain
from ethosgen.values.errors import TargetError


def test_a_line_that_takes_nothing_more_is_no_progress() -> None:
    near, far = socket.socketpair()
    with near, far:
        feeder = Feeder(near, None, bytes(8), "first")
        feeder.add(bytes(8_000_000))
        assert feeder.work()
        assert not feeder.work(), "a hung element would never be noticed"
        drain(far)
        assert feeder.work()


def test_a_line_that_is_lost_while_it_is_drained_is_told_by_the_next_use() -> None:
    near, far = socket.socketpair()
    with near:
        with far:
            near.send(b"never read, so closing resets the line")
        drain(near)
        feeder = Feeder(near, None, bytes(8), "first")
        feeder.add(b"data")
        with pytest.raises(TargetError, match="lost the line to element 'first'"):
            feeder.work()
