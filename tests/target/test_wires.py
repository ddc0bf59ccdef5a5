"""The host's ends of a pipeline."""

import socket

from ethosgen.target.wires import Feeder, drain


def test_a_line_that_takes_nothing_more_is_no_progress() -> None:
    near, far = socket.socketpair()
    with near, far:
        feeder = Feeder(near, None)
        feeder.add(bytes(8_000_000))
        assert feeder.work()
        assert not feeder.work(), "a hung element would never be noticed"
        drain(far)
        assert feeder.work()
