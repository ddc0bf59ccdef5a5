"""Runs a pipeline on QEMU: one process for each element, lines between them, the host at both ends.

    host ── element 0 ── element 1 ── … ── host

Samples go in as fast as the first element takes them. Each element also has a console, over which
it is identified, and queried about its progress if outputs are missing.
"""

import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from ethosgen.backend.protocol import Attach
from ethosgen.host.tools import QEMU
from ethosgen.project.info import ProjectInfo
from ethosgen.targets import check_hello, status_name
from ethosgen.targets.kinds import Target
from ethosgen.targets.qemu import QemuTarget, make_ram, map_ram
from ethosgen.targets.relay import ElementPorts, End, Relay, SerialEnd, wire
from ethosgen.targets.serial_port import SerialTarget
from ethosgen.targets.session import ElementReport, Hello, Session
from ethosgen.targets.stack import stack_size
from ethosgen.targets.stack_bounds import StackBounds
from ethosgen.targets.wires import (
    Collector,
    DamagedFrameError,
    Feeder,
    ForeignFrameError,
    LostFrameError,
    ReceivedFrame,
    Recorder,
    Slots,
    Tap,
    drain,
)
from ethosgen.values.errors import DeviceFault, InputError, TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.handover import ROOM, SharedWindow
from ethosgen.values.status import Status

_HELLO_S = 30.0
"""Time limit for the first answer: several processes start at once."""
_ANSWER_S = 10.0
_USUAL_BAUD = 115_200
_IDLE_S = 1.0
"""The time without an output after which the elements are asked."""
_SLICE_S = 0.02

DAMAGED, LOST, OVERRUN, CREDIT, FOREIGN = 0x101, 0x102, 0x103, 0x104, 0x105
"""Statuses of frames: see ethosgen_handover.h."""


@dataclass(frozen=True)
class ElementFirmware:
    """An element to run: its name, its project and firmware, its NPU model if it has an NPU.

    `ports` are those of a board; None means QEMU, which needs the firmware.
    """

    name: str
    info: ProjectInfo
    elf: Path | None
    attach: Attach | None
    ports: ElementPorts | None = None

    @property
    def stack_bytes(self) -> int | None:
        """The size of its stack, None without its firmware."""
        return None if self.elf is None else stack_size(self.elf)


@dataclass(frozen=True)
class Measured:
    """An element's own account, in ticks of its counter.

    `instruction_ns` is the time of an instruction on QEMU, None for a board.
    """

    report: ElementReport
    hello: Hello
    instruction_ns: int | None


class Elements(ExitStack):
    """The running elements of a pipeline, from entering the context to leaving it.

    `sent_bytes` is the size of an output frame's tensors, `identity` the pipeline's, `windows` the
    places of frames in shared memory, from the first element's to the host's. `tap` changes the
    data on the lines, for tests. With `is_recording`, `recorders` keep the frames of each line.
    """

    def __init__(
        self,
        members: Sequence[ElementFirmware],
        sent_bytes: int,
        identity: bytes,
        windows: Sequence[SharedWindow] = (),
        *,
        tap: Tap | None = None,
        timeout_s: float = 120.0,
        is_recording: bool = False,
    ) -> None:
        super().__init__()
        self.members = members
        self.recorders: list[Recorder] = []
        self._is_recording = is_recording
        self.targets: list[Target] = []
        self._relays: list[tuple[int, Relay]] = []
        self._sent_bytes = sent_bytes
        self._identity = identity
        self._windows = windows
        self._tap = tap
        self._timeout_s = timeout_s
        self._sessions: list[Session] = []
        self._hellos: list[Hello] = []
        self._names = [member.name for member in members]

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.push(self)
            self._start()
            opened.pop_all()
        return self

    def run(
        self, samples: Sequence[bytes], progress: Callable[[int], None] = lambda _: None
    ) -> list[bytes | None]:
        """Run frames of inputs through all elements; return the frames of outputs, in order.

        None means a sample without outputs, since a network waits for more inputs. TargetError
        names the element that died, hung, dropped or damaged a frame, or failed.
        """
        for sample in samples:
            self._feeder.add(sample)
        outputs: list[bytes | None] = []
        watched = _Patience(self._timeout_s)
        while len(outputs) < len(samples):
            self._check()
            try:
                has_sent = self._feeder.work()
                frames = self._collector.work()
            except (LostFrameError, DamagedFrameError, ForeignFrameError) as error:
                raise TargetError(self._end_fault(error)) from None
            except TargetError:
                self._explain_loss()
                raise
            for frame in frames:
                if frame.status not in (Status.OK, Status.NOT_READY):
                    raise TargetError(self._status_text(frame.sequence, frame))
                outputs.append(frame.tensors if frame.status == Status.OK else None)
                progress(len(outputs))
            if frames or has_sent:
                watched.begin()
            elif watched.is_idle:
                self._ask_around(watched)
            lines = [self._feeder.line, self._collector.line]
            select.select(lines, [], [], _SLICE_S)
        return outputs

    def finish(self, samples: int) -> list[Measured]:
        """End all sessions; TargetError unless every element has run each sample once."""
        measured = []
        for k, session in enumerate(self._sessions):
            try:
                with self._named(k):
                    report = session.report(_ANSWER_S)
                    marker = session.end(_ANSWER_S)
            except TargetError:
                self._explain_loss()
                raise
            ran = (report.received, report.sent)
            if ran != (samples, samples) or marker.failed:
                raise TargetError(
                    f"element '{self._names[k]}' received {counted(report.received, 'frame')}, "
                    f"sent {report.sent} and failed {counted(marker.failed, 'time')}, but "
                    f"{counted(samples, 'sample')} went through the pipeline"
                )
            member = self.members[k]
            with self._named(k):
                _check_stack(member, report)
            qemu = None if member.ports else member.info.board.run.qemu
            instruction_ns = qemu.instruction_ns if qemu else None
            measured.append(Measured(report, self._hellos[k], instruction_ns))
        for k, (session, target) in enumerate(zip(self._sessions, self.targets, strict=True)):
            session.bye()
            status = target.wait_for_exit()
            if status:
                raise TargetError(
                    f"element '{self._names[k]}' exited with status {status} after its end marker"
                )
        return measured

    # ---- starting ------------------------------------------------------------------------------

    def _start(self) -> None:
        ram = self._shared_ram()
        slots = [Slots(self._memory(window), window.stride) for window in self._windows]
        if self._is_recording:
            places = slots or (None,) * (len(self.members) + 1)
            self.recorders = [Recorder(place) for place in places]
        ends = [self._line(k) for k in range(len(self.members) + 1)]
        for number in range(len(self.members)):
            with self._named(number):
                target = self._target(number, ends[number][1], ends[number + 1][0], ram)
                self.targets.append(self.enter_context(target))
        self._feeder = Feeder(ends[0][0], slots[0] if slots else None, self._identity)
        last = slots[-1] if slots else None
        self._collector = Collector(ends[-1][1], last, self._sent_bytes, self._identity)
        self._sessions = [
            Session(target.console, target.check, stack_bytes=member.stack_bytes, elf=member.elf)
            for target, member in zip(self.targets, self.members, strict=True)
        ]
        if any(member.ports for member in self.members):
            self._greet()  # a board may still send the rest of another run to its neighbour
        self._hellos = self._greet()
        for line in (self._feeder.line, self._collector.line):
            drain(line)

    def _greet(self) -> list[Hello]:
        """Begin each element's session; all frames are forgotten."""
        hellos = []
        for number, (target, session) in enumerate(zip(self.targets, self._sessions, strict=True)):
            with self._named(number):
                hellos.append(session.hello(_HELLO_S))
                target.settle()
                check_hello(hellos[-1], self.members[number].info)
                session.report(_HELLO_S)  # after any repeated greeting, which forgets frames
        return hellos

    def _target(
        self, number: int, before: socket.socket, behind: socket.socket, ram: Path | None
    ) -> Target:
        """Return an element's target, with its lines."""
        member = self.members[number]
        board, ports = member.info.board, member.ports
        if ports is None:
            assert member.elf is not None  # only boards have theirs already
            wires = self._wires(member, before, behind)
            return QemuTarget(
                QEMU.find(), member.elf, board, member.attach, member.info, wires=wires, ram=ram
            )
        lines = zip((before, behind), (ports.before, ports.behind), board.links, strict=False)
        for place, (end, url, facts) in enumerate(lines):
            if url is not None:
                port = SerialEnd(url, facts.baud or _USUAL_BAUD)
                port.fileno()
                self._relay(number + place, port, end)
        return SerialTarget(board, ports.console)

    def _relay(
        self,
        number: int,
        near: End,
        far: End,
        forward: Callable[[bytes], bytes] = lambda data: data,
    ) -> None:
        """Carry the data on the line before element `number`."""
        relay = Relay(near, far, forward)
        for end in (near, far):
            self.callback(end.close)
        self._relays.append((number, relay))
        relay.start()

    def _wires(
        self, member: ElementFirmware, before: socket.socket, behind: socket.socket
    ) -> dict[int, socket.socket]:
        serials = [link.serial for link in member.info.board.links]
        if len(serials) < len((before, behind)) or None in serials:
            raise InputError(
                f"element '{member.name}' cannot run on QEMU: board '{member.info.board.name}' has "
                "no two [[links]] with QEMU's serial numbers"
            )
        return {n: end for n, end in zip(serials, (before, behind), strict=True) if n is not None}

    def _line(self, number: int) -> tuple[socket.socket, socket.socket]:
        """Return the ends of the line before an element, through the tap if there is one."""
        near, far = wire()
        for end in (near, far):
            self.callback(end.close)
        if self._tap is None and not self.recorders:
            return near, far
        middle, end = wire()
        self.callback(end.close)
        self._relay(number, far, middle, lambda data: self._carry(number, data))
        return near, end

    def _carry(self, number: int, data: bytes) -> bytes:
        """Return the data for an element, which the tap may have changed; record it."""
        if self._tap is not None:
            data = self._tap(number, data)
        if self.recorders:
            self.recorders[number].take(data)
        return data

    def _shared_ram(self) -> Path | None:
        if not self._windows:
            return None
        qemu = self.members[0].info.board.run.qemu
        facts = qemu.shared if qemu else None
        if facts is None:
            raise InputError(f"element '{self._names[0]}' does not run on QEMU")
        need = sum(window.stride * ROOM for window in self._windows)
        path, handle = make_ram(facts, need + len(self.members) * _ELF_ROOM)
        self.callback(path.unlink, missing_ok=True)
        last = self._windows[-1]
        start = self._windows[0].start_addr
        size = last.start_addr + ROOM * last.stride - start
        self._base, self._shared = start, map_ram(handle, facts, start, size)
        os.close(handle)
        return path

    def _memory(self, window: SharedWindow) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        at = window.start_addr - self._base
        return self._shared[at : at + ROOM * window.stride]

    # ---- who is to blame -----------------------------------------------------------------------

    @contextmanager
    def _named(self, number: int) -> Iterator[None]:
        """Name the element in errors of a block."""
        try:
            yield
        except TargetError as error:
            raise type(error)(f"element '{self._names[number]}': {error}") from None
        except DeviceFault as error:
            raise TargetError(f"element '{self._names[number]}': {error}") from None

    def _check(self) -> None:
        for number, relay in self._relays:
            if relay.error is not None:
                where = f"behind element '{self._names[-1]}'"
                if number < len(self._names):
                    where = f"before element '{self._names[number]}'"
                raise TargetError(f"the line {where} is lost: {relay.error}")
        for number, target in enumerate(self.targets):
            with self._named(number):
                target.check()

    def _explain_loss(self) -> None:
        """Raise the reason of a lost line once the process at its end has ended, a moment later."""
        ends = time.monotonic() + _ANSWER_S
        while time.monotonic() < ends:
            self._check()
            time.sleep(_SLICE_S)

    def _ask_around(self, watched: "_Patience") -> None:
        """Query elements for their progress; raise once it is certain that nothing more comes.

        An element on a busy machine may answer late: before one is blamed, it gets more time.
        """
        is_over = watched.is_over
        limit_s = min(self._timeout_s, _ANSWER_S) if is_over else _IDLE_S
        reports = [self._report(number, limit_s) for number in range(len(self.members))]
        self._check()
        if None not in reports:
            if watched.is_same(reports):
                raise TargetError(self._stall(reports))
        elif is_over:
            hung = max(number for number, report in enumerate(reports) if report is None)
            raise TargetError(
                f"element '{self._names[hung]}' hangs: it has neither handed on a frame nor "
                f"answered on its console for {self._timeout_s:g} s"
            )

    def _report(self, number: int, limit_s: float) -> ElementReport | None:
        try:
            return self._sessions[number].report(limit_s)
        except TargetError:
            self._check()
            return None

    def _stall(self, reports: Sequence[ElementReport | None]) -> str:
        """Name the element at which a frame stopped, from counts of frames.

        An element that waits for room delays all before it, so the last one that stopped counts.
        """
        arrived, place, behind = self._collector.received, "at the host", "the host"
        for name, report in zip(reversed(self._names), reversed(reports), strict=True):
            assert report is not None
            if arrived < report.sent:
                return f"element '{name}' dropped frame {arrived}: it did not arrive {place}"
            if report.sent < report.received:
                return (
                    f"element '{name}' received frame {report.sent} and has not handed it on, or "
                    f"{behind} has not given back the room for it"
                )
            arrived, place, behind = report.received, f"at '{name}' whole", f"element '{name}'"
        return f"the line from the host dropped frame {arrived}: it did not arrive {place}"

    def _source(self, number: int) -> str:
        """Return the name of an element's predecessor."""
        return f"element '{self._names[number - 1]}'" if number else "the line from the host"

    def _end_fault(self, error: LostFrameError | DamagedFrameError | ForeignFrameError) -> str:
        if isinstance(error, ForeignFrameError):
            return _foreign_text(self._names[-1])
        who = f"element '{self._names[-1]}', or its line to the host,"
        if isinstance(error, LostFrameError):
            return f"{who} dropped frame {error.number}: frame {error.got} arrived instead"
        return f"{who} damaged frame {error.number}"

    @property
    def _own_word(self) -> int:
        """The word that an element of this pipeline reports with another one's frame."""
        return int.from_bytes(self._identity[:4], "little")

    def _status_text(self, sequence: int, frame: ReceivedFrame) -> str:
        status, origin = frame.status, frame.origin
        name = self._names[origin] if origin < len(self._names) else "?"
        before = f"{self._source(origin)}, or the line behind it," if origin else self._source(0)
        if status == DAMAGED:
            return f"{before} damaged frame {sequence}: its CRC or header is wrong at '{name}'"
        if status == LOST:
            got = frame.detail
            return f"{before} dropped frame {sequence}: frame {got} arrived at '{name}' instead"
        if status == OVERRUN:
            return f"{before} sent more frames than '{name}' has buffers for"
        if status == CREDIT:
            behind = self._names[origin + 1] if origin + 1 < len(self._names) else "the host"
            return f"element '{behind}' released to '{name}' the buffer of another frame"
        if status == FOREIGN and origin and frame.detail == self._own_word:
            name = self._names[origin - 1]
        target = self.targets[origin]
        if status == FOREIGN:
            said = _foreign_text(name)
        elif target.last_fault is not None:
            said = f"element '{name}': {target.last_fault}"
        else:
            said = (
                f"the inference of sample {sequence} on element '{name}' failed with "
                f"{status_name(status)}"
            )
        return said


def _foreign_text(name: str) -> str:
    return (
        f"element '{name}' was built from another network than this pipeline, or for other cuts; "
        "generate the pipeline again, and build it"
    )


_ELF_ROOM = 4 << 20
"""Bytes of shared memory for an element's own data, which is checked to be free beforehand."""


class _Patience:
    """The time since the last event, and the elements' reports then."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._said: object = None
        self.begin()

    def begin(self) -> None:
        """Something happened."""
        self._since = self._asked = time.monotonic()
        self._said = None

    @property
    def is_idle(self) -> bool:
        """Return whether it is time for another query."""
        return time.monotonic() - self._asked > _IDLE_S

    @property
    def is_over(self) -> bool:
        """Return whether the time limit has passed."""
        return time.monotonic() - self._since > self._limit_s

    def is_same(self, said: object) -> bool:
        """Return whether the elements report the same as the last time; remember it."""
        is_same, self._said = said == self._said, said
        self._asked = time.monotonic()
        if not is_same:
            self._since = self._asked
        return is_same


def _check_stack(member: ElementFirmware, report: ElementReport) -> None:
    """Compare the stack of an element's runs with its bound; TargetError if they used more."""
    if member.elf is not None:
        bounds = StackBounds(member.elf, member.info)
        bounds.check(0, report.run_stack_bytes)
        bounds.compare()
