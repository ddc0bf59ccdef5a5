"""A Python twin of the firmware that adds one: the console, with selectable faults."""

import os
import struct
import threading
from collections.abc import Callable

from ethosgen.targets.frames import Decoder, Frame
from tests.support.programs import ELEMENTS

HELLO, INPUT, RUN, OUTPUT, END, BYE = range(1, 7)
PROFILE = 9
RESTARTED = 0xFD
REFUSED = 0xFE


class Twin:
    """Answers frames as app/server.c does; it dies in the runs (from 1) in `restarts`.

    In a run in `vanishes` it closes the line instead of answering. `profile` are the counts of its
    places, ticks, cycles of the NPU and entries each, if it was built for profiles.
    """

    def __init__(
        self,
        digest: str,
        *,
        restarts: tuple[int, ...] = (),
        vanishes: tuple[int, ...] = (),
        profile: tuple[tuple[int, int, int], ...] = (),
    ) -> None:
        self.profile = profile
        self.digest, self.restarts, self.vanishes = digest, list(restarts), list(vanishes)
        self.protocol = 3
        self.tried = 0
        self.decoder = Decoder()
        self.left = False
        self._start()

    def _start(self) -> None:
        self.is_greeted, self.runs, self.number = False, 0, 0
        self.input, self.output = bytearray(ELEMENTS), bytes(ELEMENTS)

    def feed(self, data: bytes) -> bytes:
        """Return the firmware's answer to these bytes."""
        return b"".join(self._serve(frame) for frame in self.decoder.feed(data))

    def _serve(self, frame: Frame) -> bytes:
        def say(body: bytes) -> bytes:
            return Frame(frame.type | 0x80, frame.sequence, body).encode()

        if frame.type == HELLO:
            self._start()
            self.is_greeted = True
            facts = (self.protocol, 1024, 1_000_000, 0, 5, self.digest.encode(), 1, 1, 1)
            return say(struct.pack("<IIIII16sBBBx", *facts) + b"plus_one")
        if not self.is_greeted:
            return Frame(RESTARTED, frame.sequence).encode()
        if frame.type == INPUT:
            offset = struct.unpack_from("<II", frame.body)[1]
            self.input[offset : offset + len(frame.body) - 8] = frame.body[8:]
            return say(b"")
        if frame.type == RUN:
            return self._run(frame, say)
        if frame.type == OUTPUT:
            _, offset, count = struct.unpack("<III", frame.body)
            return say(self.output[offset : offset + count])
        if frame.type == PROFILE:
            return self._tell_profile(frame, say)
        if frame.type == END:
            return say(struct.pack("<II", self.runs, 0))
        self.left = True
        return b""

    def _tell_profile(self, frame: Frame, say: Callable[[bytes], bytes]) -> bytes:
        if not self.profile:
            return Frame(REFUSED, frame.sequence).encode()
        (first,) = struct.unpack("<I", frame.body)
        counts = b"".join(struct.pack("<III", *count) for count in self.profile[first:])
        return say(struct.pack("<III", len(self.profile), 16, 320) + counts)

    def _run(self, frame: Frame, say: Callable[[bytes], bytes]) -> bytes:
        number, _network = struct.unpack("<II", frame.body)
        if number != self.number:
            self.tried += 1
            if self.tried in self.vanishes:
                raise EOFError
            if self.tried in self.restarts:
                self._start()
                return b""
            self.output = bytes((byte + 1) % 256 for byte in self.input)
            self.number, self.runs = number, self.runs + 1
        return say(struct.pack("<7I", number, 0, 0, 0, 100, 200, 0))


def serve(twin: Twin, descriptor: int) -> threading.Thread:
    """Run the twin in a thread on a file descriptor, which it closes at the end."""

    def talk() -> None:
        try:
            while not twin.left and (data := os.read(descriptor, 4096)):
                os.write(descriptor, twin.feed(data))
        except (OSError, EOFError):
            pass
        finally:
            os.close(descriptor)

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    return thread
