"""The conversation with a firmware: repetitions, deadlines, nonsense."""

import struct
import time
from collections.abc import Callable

import pytest

from ethosgen.targets.frames import Decoder, Frame
from ethosgen.targets.session import EndMarker, Session
from ethosgen.values.errors import ProtocolError, TargetError
from ethosgen.values.profile import Count

HELLO = struct.pack("<IIIII16sBBBx", 3, 64, 32_000_000, 0, 100, b"0123456789abcdef", 1, 1, 1)
HELLO += b"net"
Answer = Callable[[Frame, int], list[bytes]]


class ScriptedConsole:
    """Answers each frame by a function of it and of how many were asked before."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._decoder = Decoder()
        self._ready: list[bytes] = []
        self.asked: list[Frame] = []

    def write(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            self._ready += self._answer(frame, len(self.asked))
            self.asked.append(frame)

    def read(self, timeout_s: float) -> bytes:
        if not self._ready:
            time.sleep(min(timeout_s, 0.001))
            return b""
        return self._ready.pop(0)

    def close(self) -> None:
        pass


def say(frame: Frame, body: bytes) -> list[bytes]:
    return [Frame(frame.type | 0x80, frame.sequence, body).encode()]


def session(answer: Answer, retry_s: float = 0.01) -> tuple[Session, ScriptedConsole]:
    console = ScriptedConsole(answer)
    return Session(console, retry_s=retry_s), console


def greeted(answer: Answer) -> tuple[Session, ScriptedConsole]:
    """Return a session that has said hello and is too patient to repeat anything."""
    greeted_session, console = session(
        lambda f, n: say(f, HELLO) if f.type == 1 else answer(f, n), 5.0
    )
    greeted_session.hello(60)
    console.asked.clear()
    return greeted_session, console


def test_hello() -> None:
    hello = session(lambda frame, _: say(frame, HELLO))[0].hello(60)
    assert (hello.name, hello.digest, hello.body_max) == ("net", "0123456789abcdef", 64)
    assert (hello.inputs, hello.outputs, hello.init_ticks) == (1, 1, 100)


def test_silence_ends_at_the_deadline() -> None:
    started = time.monotonic()
    quiet, console = session(lambda *_: [])
    with pytest.raises(TargetError, match=r"did not answer on its console within 0\.5 s"):
        quiet.hello(0.5)
    assert 0.5 <= time.monotonic() - started < 60
    assert len(console.asked) > 2
    assert len({frame.sequence for frame in console.asked}) == 1


def test_a_lost_answer_is_asked_for_again() -> None:
    asker, console = session(lambda frame, n: say(frame, HELLO) if n == 2 else [])
    asker.hello(1)
    assert asker.retries == 2
    assert console.asked[0] == console.asked[2]


def test_answers_to_repetitions_are_not_mixed_up() -> None:
    """Each request is answered twice; the second answer arrives during the next one."""
    numbers = []

    def twice(frame: Frame, _: int) -> list[bytes]:
        number, network = struct.unpack("<II", frame.body)
        assert network == 2
        numbers.append(number)
        return say(frame, frame.body[:4] + struct.pack("<6I", 0, 32, 8, len(numbers), 300, 0)) * 2

    asker, _ = greeted(twice)
    assert [asker.run(1, network=2).cpu_ticks for _ in range(300)] == list(range(1, 301))
    assert numbers == list(range(1, 301))


def test_inputs_and_outputs_go_in_portions() -> None:
    stored = bytearray(150)

    def serve(frame: Frame, _: int) -> list[bytes]:
        port, network, offset = struct.unpack_from("<HHI", frame.body)
        assert (port, network) == (3, 1)
        if frame.type == 2:
            stored[offset : offset + len(frame.body) - 8] = frame.body[8:]
            return say(frame, b"")
        count = int.from_bytes(frame.body[8:], "little")
        return say(frame, bytes(stored[offset : offset + count]))

    asker, console = greeted(serve)
    data = bytes(range(150))
    asker.write_input(3, data, 1, network=1)
    assert bytes(stored) == data
    assert asker.read_output(3, 150, 1, network=1) == data
    assert [frame.type for frame in console.asked] == [2, 2, 2, 4, 4, 4]
    assert max(len(frame.body) for frame in console.asked) == 64


def test_the_end_marker() -> None:
    asker, _ = greeted(lambda frame, _: say(frame, struct.pack("<II", 7, 1)))
    assert asker.end(1) == EndMarker(7, 1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (HELLO[:10], "is invalid"),
        (HELLO[:20] + b"\xff" * 16 + HELLO[36:], "is invalid"),
        (HELLO[:4] + bytes([8, 0, 0, 0]) + HELLO[8:], "is invalid"),
        (b"\x01" + HELLO[1:], r"uses version 1 .* but this ethosgen uses version 3"),
    ],
)
def test_a_strange_hello(body: bytes, said: str) -> None:
    with pytest.raises(ProtocolError, match=said):
        session(lambda frame, _: say(frame, body))[0].hello(1)


def test_answers_of_the_wrong_size() -> None:
    asker, _ = greeted(lambda frame, _: say(frame, b"12345"))
    with pytest.raises(ProtocolError, match="answer to a run is invalid"):
        asker.run(1)
    with pytest.raises(ProtocolError, match="sent 5 bytes of an output instead of 8"):
        asker.read_output(0, 8, 1)
    with pytest.raises(ProtocolError, match="end marker is invalid"):
        asker.end(1)


def test_a_refusal() -> None:
    asker, _ = greeted(lambda frame, _: [Frame(0xFE, frame.sequence).encode()])
    with pytest.raises(ProtocolError, match=r"refused a request \(INPUT\)"):
        asker.write_input(9, b"x", 1)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (4, "Zephyr reports kernel panic at 0x1000abcd"),
        (31, r"a processor fault \(its reason 31\)"),
    ],
)
def test_a_crash_of_zephyrs_has_its_reason(reason: int, words: str) -> None:
    fault = Frame(0xFF, 0, struct.pack("<III", 0, 0x1000ABCD, reason)).encode()
    with pytest.raises(TargetError, match=words):
        greeted(lambda _f, _n: [fault])[0].end(1)


def test_a_crash_is_told_unasked() -> None:
    fault = Frame(0xFF, 0, struct.pack("<II", 0x8200, 0x10000ABC)).encode()
    asker, _ = greeted(lambda *_: [fault])
    with pytest.raises(TargetError, match=r"fault at 0x10000abc \(CFSR 0x00008200\)"):
        asker.run(1)


def test_a_dead_target_ends_the_wait_at_once() -> None:
    def dead() -> None:
        nonlocal asked
        asked += 1
        raise TargetError("QEMU ended early with status 1")

    asked, started = 0, time.monotonic()
    with pytest.raises(TargetError, match="ended early"):
        Session(ScriptedConsole(lambda *_: []), dead).hello(300)
    assert asked == 1
    assert time.monotonic() - started < 250  # not the greeting's 300


def test_a_run_tells_the_pmu_where_the_application_reads_it() -> None:
    head = struct.pack("<7I", 1, 0, 32, 64, 200, 300, 100)
    tail = struct.pack("<Q8I", 1 << 33, 35, 48, 0, 0, 700, 600, 0, 0)
    reply = greeted(lambda frame, _: say(frame, head + tail))[0].run(1)
    assert reply.npu_cycles == 1 << 33
    assert reply.npu_events == {35: 700, 48: 600}
    older = greeted(lambda frame, _: say(frame, head))[0].run(1)
    assert (older.cpu_ticks, older.npu_cycles, older.npu_events) == (200, 0, {})


def test_a_run_in_slices_tells_the_longest() -> None:
    whole = struct.pack("<7I", 1, 0, 32, 64, 200, 300, 100) + bytes(40)
    longest = struct.pack("<I", 70)
    reply = greeted(lambda frame, _: say(frame, whole + longest))[0].run(1)
    assert (reply.cpu_ticks, reply.slice_ticks, reply.npu_cycles) == (200, 70, 0)
    assert greeted(lambda frame, _: say(frame, whole))[0].run(1).slice_ticks == 0
    with pytest.raises(ProtocolError, match="answer to a run is invalid"):
        greeted(lambda frame, _: say(frame, whole + longest[:3]))[0].run(1)


def profiled(places: int, calls: int = 16) -> Answer:
    """Answer PROFILE as app/server.c does, with two places in a frame.

    Place N counted 10 N, and N cycles of the NPU, in one entry.
    """

    def answer(frame: Frame, _: int) -> list[bytes]:
        first = int.from_bytes(frame.body, "little")
        counts = (struct.pack("<III", 10 * n, n, 1) for n in range(first, min(first + 2, places)))
        return say(frame, struct.pack("<III", places, calls, 64) + b"".join(counts))

    return answer


def test_a_profile_comes_in_portions_and_may_have_more_places() -> None:
    greeted_session, console = greeted(profiled(7))
    reply = greeted_session.profile(3, 1)
    assert reply.outside == Count(0, 0)
    assert reply.steps == (Count(10, 1), Count(20, 2), Count(30, 3))
    assert (reply.hook_calls, reply.hook_ticks) == (16, 64)
    assert [int.from_bytes(frame.body, "little") for frame in console.asked] == [0, 2]


@pytest.mark.parametrize(
    "answer",
    [
        profiled(3),
        profiled(4, calls=0),
        lambda frame, _: say(frame, struct.pack("<III", 4, 16, 64)),
        lambda frame, _: say(frame, struct.pack("<III", 4, 16, 64) + b"x"),
        lambda frame, _: say(frame, b""),
    ],
)
def test_a_profile_that_lacks_steps_is_refused(answer: Answer) -> None:
    with pytest.raises(ProtocolError, match="the firmware's profile is invalid; build it again"):
        greeted(answer)[0].profile(3, 1)
