"""A console as a pseudo-terminal, which programs open one after the other."""

import os
import threading
from typing import Any

import pytest
import serial

from ethosgen.targets.terminal import Terminal
from ethosgen.values.errors import TargetError


class Echo:
    """A target that answers each byte with its upper case, and ends at '!' with a status."""

    def __init__(self, status: int | None = 0) -> None:
        self._status = status
        self._waiting = bytearray()
        self._arrived = threading.Condition()
        self.console = self

    def write(self, data: bytes) -> None:
        with self._arrived:
            self._waiting += data.upper()
            self._arrived.notify()

    def read(self, timeout_s: float) -> bytes:
        with self._arrived:
            self._arrived.wait_for(lambda: self._waiting, timeout_s)
            data, self._waiting = bytes(self._waiting), bytearray()
        if b"!" in data:
            raise TargetError("the target ended")
        return data

    def check(self) -> None: ...

    def wait_for_exit(self) -> int | None:
        return self._status


def _serve(target: Any, terminal: Terminal) -> tuple[threading.Thread, list[Any]]:
    ends: list[Any] = []

    def serve() -> None:
        try:
            ends.append(terminal.serve(target))
        except TargetError as error:
            ends.append(str(error))

    thread = threading.Thread(target=serve)
    thread.start()
    return thread, ends


@pytest.mark.parametrize(("status", "end"), [(0, 0), (3, "the target ended"), (None, "the target")])
def test_programs_open_it_in_turn(status: int | None, end: int | str) -> None:
    with Terminal() as terminal:
        thread, ends = _serve(Echo(status), terminal)
        for _ in range(2):
            with serial.Serial(terminal.path, timeout=10) as port:
                every = bytes(range(256)).replace(b"!", b"")
                port.write(every)
                assert port.read(len(every)) == every.upper()
        with serial.Serial(terminal.path, timeout=10) as port:
            port.write(b"!")
            thread.join()
    assert str(end) in str(ends[0])


def test_what_nobody_reads_is_lost_and_the_rest_arrives() -> None:
    with Terminal() as terminal:
        target = Echo()
        thread, ends = _serve(target, terminal)
        target.write(b"old" * 10_000)
        handle = os.open(terminal.path, os.O_RDWR | os.O_NOCTTY)
        seen = b""
        while len(seen) < 3000:  # the terminal's own buffer
            seen += os.read(handle, 4096)
        target.write(b"new")
        while not seen.endswith(b"NEW"):
            seen += os.read(handle, 4096)
        target.write(b"!")
        thread.join()
        os.close(handle)
    assert ends == [0]
