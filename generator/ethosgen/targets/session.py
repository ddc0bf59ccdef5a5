"""The conversation with a firmware, the counterpart of its app/server.c.

We send requests and it answers, one at a time. Lost or damaged messages are sent again: every
request may be served twice without harm.
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from pathlib import Path

from ethosgen.targets.console import Console
from ethosgen.targets.deadline import Deadline
from ethosgen.targets.fault_reports import describe_fault
from ethosgen.targets.frames import Decoder, Frame
from ethosgen.targets.stack import check_stack
from ethosgen.values.errors import ProtocolError, TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.profile import Count

PROTOCOL = 3
"""The protocol's version; the firmware reports its own in its first answer."""

_ANSWER = 0x80
_HELLO = struct.Struct("<IIIII16sBBBB")
_PLACE = struct.Struct("<HHI")
_RUN_REQUEST = struct.Struct("<II")
_RUN = struct.Struct("<7I")
_PMU = struct.Struct("<Q8I")
"""Appended to an answer to RUN by firmware that reads the NPU's PMU: cycles, events, counts."""
_SLICE = struct.Struct("<I")
"""Appended to that by firmware in slices: the ticks of the longest."""
_END = struct.Struct("<II")
_REPORT = struct.Struct("<4I5Q5I")
_PROFILE = struct.Struct("<III")
_COUNT = struct.Struct("<III")
_HELLO_RETRY_S = 0.03
_WAIT_SLICE_S = 0.05
"""The interval, in seconds, at which a waiting session checks that the target is alive."""


class SessionRequest(IntEnum):
    """Frame types of requests."""

    HELLO = 1
    INPUT = 2
    RUN = 3
    OUTPUT = 4
    END = 5
    BYE = 6
    REPORT = 7
    PROFILE = 9
    DATA = 16
    """A part of an item for an application: see feed.py."""


class Reply(IntEnum):
    """Frame types of special answers; the others are the request's | 0x80."""

    RESTARTED = 0xFD
    REFUSED = 0xFE
    FAULT = 0xFF


class RestartError(TargetError):
    """The firmware restarted in the middle of a session and lost its inputs."""


@dataclass(frozen=True)
class Hello:
    """The firmware's first answer: versions, sizes, and the result of its start.

    `inputs` and `outputs` count those of all networks; `name` is the first network's.
    """

    protocol: int
    body_max: int
    ticks_hz: int
    init_status: int
    init_ticks: int
    digest: str
    inputs: int
    outputs: int
    networks: int
    name: str
    security: int = 0
    """What the secure image confirms of a non-secure firmware: bits of Evidence."""


@dataclass(frozen=True)
class RunReply:
    """The result of one inference: the status of NAME_run(), the NPU's registers, the cost."""

    status: int
    npu_status: int
    npu_qread: int
    cpu_ticks: int
    stack_bytes: int
    run_stack_bytes: int = 0
    """The stack of this inference alone; 0 if it is unknown."""
    npu_cycles: int = 0
    npu_events: Mapping[int, int] = field(default_factory=dict)
    """The PMU's event counters, by the numbers of Arm's enum pmu_event."""
    slice_ticks: int = 0
    """Those of the longest slice; 0 if the firmware runs an inference as a whole."""


@dataclass(frozen=True)
class ProfileReply:
    """A run's counts outside all steps and in each step.

    Each count has the cost of the hook for each entry: `hook_ticks` is that of `hook_calls` calls.
    """

    outside: Count
    steps: tuple[Count, ...]
    hook_calls: int
    hook_ticks: int


@dataclass(frozen=True)
class EndMarker:
    """The firmware's own account of the session."""

    runs: int
    failed: int


@dataclass(frozen=True)
class ElementReport:
    """The account of an element of a pipeline since its greeting: frames, and total ticks."""

    received: int
    sent: int
    status: int
    interrupts: int
    interrupt_ticks: int
    receive_ticks: int
    run_ticks: int
    send_ticks: int
    npu_cycles: int
    most_run_ticks: int
    most_npu_cycles: int
    stack_bytes: int
    run_stack_bytes: int
    waiting: int
    """A bit for each hand-over by which the next frame has arrived."""


def _alive() -> None:
    """Report that the target is alive: the default if nothing can check."""


class Session:
    """A conversation over a console.

    `check` raises if the target has died; it is called while we wait. `retry_s` is the time until
    an unanswered request is repeated; it doubles with each repetition. A firmware that has used all
    of `stack_bytes`, the size of main()'s stack, is a TargetError. `elf` names the code of a fault.
    """

    def __init__(
        self,
        console: Console,
        check: Callable[[], None] = _alive,
        retry_s: float = 0.5,
        *,
        stack_bytes: int | None = None,
        elf: Path | None = None,
    ) -> None:
        self._console = console
        self._check = check
        self._retry_s = retry_s
        self._stack_bytes = stack_bytes
        self._elf = elf
        self._decoder = self._make_decoder()
        self._sequence = 0
        self._run_numbers = count(1)
        self._body_max = 0
        self.retries = 0

    def _make_decoder(self) -> Decoder:
        return Decoder()

    def hello(self, timeout_s: float) -> Hello:
        """Request the firmware's identity; ProtocolError if it uses another protocol version."""
        # A request sent before the firmware listens is lost, so this one is repeated soon.
        body = self._ask(
            SessionRequest.HELLO, b"", timeout_s, "answer on its console", _HELLO_RETRY_S
        )
        hello = _read_hello(body)
        if hello.protocol != PROTOCOL:
            raise ProtocolError(
                f"the firmware uses version {hello.protocol} of the console protocol, but this "
                f"ethosgen uses version {PROTOCOL}; generate the project again"
            )
        if hello.body_max <= _PLACE.size:  # no room for data: sending it would never end
            raise ProtocolError("the firmware's first answer is invalid; build it again")
        self._body_max = hello.body_max
        return hello

    def write_input(self, port: int, data: bytes, timeout_s: float, network: int = 0) -> None:
        """Write an input of a network, in as many frames as necessary."""
        chunk = self._body_max - _PLACE.size
        for offset in range(0, len(data), chunk):
            body = _PLACE.pack(port, network, offset) + data[offset : offset + chunk]
            self._ask(SessionRequest.INPUT, body, timeout_s, "accept the input")

    def run(self, timeout_s: float, network: int = 0) -> RunReply:
        """Run one inference of a network on the inputs that were written."""
        number = next(self._run_numbers)
        request = _RUN_REQUEST.pack(number, network)
        body = self._ask(SessionRequest.RUN, request, timeout_s, "end its inference")
        sizes = _RUN.size, _RUN.size + _PMU.size, _RUN.size + _PMU.size + _SLICE.size
        if len(body) not in sizes:
            raise ProtocolError("the firmware's answer to a run is invalid; build it again")
        echoed, *figures, used, used_now = _RUN.unpack_from(body)
        if echoed != number:
            raise ProtocolError("the firmware's answer to a run is invalid; build it again")
        check_stack(used, self._stack_bytes)
        cycles, events = _read_pmu(body[_RUN.size :])
        (longest,) = _SLICE.unpack(body[sizes[1] :] or bytes(_SLICE.size))
        status, npu_status, npu_qread, ticks = figures
        return RunReply(
            status, npu_status, npu_qread, ticks, used, used_now, cycles, events, longest
        )

    def read_output(self, port: int, size: int, timeout_s: float, network: int = 0) -> bytes:
        """Read an output of `size` bytes of a network."""
        data = bytearray()
        while len(data) < size:
            wanted = min(self._body_max, size - len(data))
            body = _PLACE.pack(port, network, len(data)) + wanted.to_bytes(4, "little")
            answer = self._ask(SessionRequest.OUTPUT, body, timeout_s, "send its output")
            if len(answer) != wanted:
                raise ProtocolError(
                    f"the firmware sent {counted(len(answer), 'byte')} of an output "
                    f"instead of {wanted}"
                )
            data += answer
        return bytes(data)

    def report(self, timeout_s: float) -> ElementReport:
        """Request the report of a pipeline's element."""
        body = self._ask(SessionRequest.REPORT, b"", timeout_s, "answer on its console")
        if len(body) != _REPORT.size:
            raise ProtocolError("the firmware's report is invalid; build it again")
        report = ElementReport(*_REPORT.unpack(body))
        check_stack(report.stack_bytes, self._stack_bytes)
        return report

    def profile(self, steps: int, timeout_s: float) -> ProfileReply:
        """Request the last run's counts of its steps."""
        counts: list[Count] = []
        while len(counts) < steps + 1:  # place 0 is outside all steps
            request = len(counts).to_bytes(4, "little")
            body = self._ask(SessionRequest.PROFILE, request, timeout_s, "send its profile")
            head, rest = body[: _PROFILE.size], body[_PROFILE.size :]
            if len(head) < _PROFILE.size or not rest or len(rest) % _COUNT.size:
                raise ProtocolError("the firmware's profile is invalid; build it again")
            places, calls, ticks = _PROFILE.unpack(head)
            if places < steps + 1 or not calls:
                raise ProtocolError("the firmware's profile is invalid; build it again")
            counts += [Count(*count) for count in _COUNT.iter_unpack(rest)]
        return ProfileReply(counts[0], tuple(counts[1 : steps + 1]), calls, ticks)

    def end(self, timeout_s: float) -> EndMarker:
        """Request the end marker."""
        body = self._ask(SessionRequest.END, b"", timeout_s, "send its end marker")
        if len(body) != _END.size:
            raise ProtocolError("the firmware's end marker is invalid; build it again")
        return EndMarker(*_END.unpack(body))

    def bye(self) -> None:
        """Acknowledge the end marker; the firmware may end without an answer."""
        self._console.write(Frame(SessionRequest.BYE, self._next_sequence()).encode())

    def _next_sequence(self) -> int:
        self._sequence = (self._sequence + 1) % 256
        return self._sequence

    def _ask(
        self,
        request: SessionRequest,
        body: bytes,
        timeout_s: float,
        what: str,
        retry_s: float | None = None,
    ) -> bytes:
        frame = Frame(request, self._next_sequence(), body)
        deadline = Deadline(timeout_s, what)
        patience_s = self._retry_s if retry_s is None else min(retry_s, self._retry_s)
        while True:
            self._console.write(frame.encode())
            answer = self._await(frame, Deadline(min(patience_s, deadline.remaining_s), what))
            if answer is not None:
                return answer
            deadline.check()
            self.retries += 1
            patience_s = min(2 * patience_s, 8 * self._retry_s)

    def _await(self, asked: Frame, patience: Deadline) -> bytes | None:
        """Return the body of the answer, None if it does not arrive in time."""
        while not patience.is_over:
            data = self._console.read(min(_WAIT_SLICE_S, patience.remaining_s))
            if not data:
                self._check()  # a target's output before it died comes first
            for frame in self._decoder.feed(data):
                if frame.type == Reply.FAULT:
                    raise TargetError(describe_fault(frame.body, self._stack_bytes, self._elf))
                if frame.sequence != asked.sequence:
                    continue  # an answer to a repetition of an earlier request
                if frame.type == Reply.RESTARTED:
                    raise RestartError("the target restarted and lost the session")
                if frame.type == Reply.REFUSED:
                    raise ProtocolError(
                        f"the firmware refused a request ({SessionRequest(asked.type).name}); it "
                        "was built from another network, or its server was changed"
                    )
                if frame.type == asked.type | _ANSWER:
                    return frame.body
        return None


def _read_hello(body: bytes) -> Hello:
    try:
        *numbers, digest, inputs, outputs, networks, security = _HELLO.unpack_from(body)
        protocol, body_max, ticks_hz, status, ticks = numbers
        name = body[_HELLO.size :].decode("ascii")
        digest = digest.decode("ascii")
        return Hello(
            protocol, body_max, ticks_hz, status, ticks, digest, inputs, outputs, networks, name,
            security,
        )  # fmt: skip
    except (struct.error, UnicodeDecodeError):
        raise ProtocolError("the firmware's first answer is invalid; build it again") from None


def _read_pmu(body: bytes) -> tuple[int, dict[int, int]]:
    if not body:  # an application of an older ethosgen
        return 0, {}
    cycles, *words = _PMU.unpack_from(body)
    return cycles, {e: n for e, n in zip(words[:4], words[4:], strict=True) if e}
