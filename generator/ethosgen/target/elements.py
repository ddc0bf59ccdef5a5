"""Runs a pipeline on QEMU: one process for each element, lines between them, the host at both ends.

    host ── element 0 ── element 1 ── … ── host

Samples go in as fast as the first element takes them. Each element has a console besides, over
which it is identified, and asked about its progress if the outputs stay out.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from ethosgen.backend import Attach
from ethosgen.host.tools import QEMU
from ethosgen.target import check_hello, status_name
from ethosgen.target.qemu import QemuTarget, make_ram, map_ram
from ethosgen.target.session import ElementReport, Hello, Session
from ethosgen.target.wires import (
    Collector,
    DamagedFrameError,
    Feeder,
    Frame,
    LostFrameError,
    Recorder,
    Slots,
    Tap,
    wire,
)
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.handover import ROOM, Window
from ethosgen.values.project_info import ProjectInfo
from ethosgen.values.status import Status

_HELLO_S = 30.0
"""Time limit for the first answer: several processes start at once."""
_ANSWER_S = 10.0
_IDLE_S = 1.0
"""The time without an output after which the elements are asked."""
_SLICE_S = 0.02

DAMAGED, LOST, OVERRUN, CREDIT = 0x101, 0x102, 0x103, 0x104
"""Statuses of frames: see ethosgen_handover.h."""


@dataclass(frozen=True)
class Member:
    """An element to run: its name, its project and firmware, its NPU model if it has an NPU."""

    name: str
    info: ProjectInfo
    elf: Path
    attach: Attach | None


@dataclass(frozen=True)
class Measured:
    """An element's own account, in ticks of its counter."""

    report: ElementReport
    hello: Hello


class Elements:
    """The running elements of a pipeline, from entering the context to leaving it.

    `sent_bytes` is the size of an output frame's tensors, `windows` the places of frames in shared
    memory, from the first element's to the host's. `tap` changes what the lines carry, for tests.
    With `is_recording`, `recorders` keep the frames of each line.
    """

    def __init__(
        self,
        members: Sequence[Member],
        sent_bytes: int,
        windows: Sequence[Window] = (),
        *,
        tap: Tap | None = None,
        timeout_s: float = 120.0,
        is_recording: bool = False,
    ) -> None:
        self.members = members
        self.recorders: list[Recorder] = []
        self._is_recording = is_recording
        self.targets: list[QemuTarget] = []
        self._sent_bytes = sent_bytes
        self._windows = windows
        self._tap = tap
        self._timeout_s = timeout_s
        self._stack = ExitStack()
        self._sessions: list[Session] = []
        self._hellos: list[Hello] = []
        self._names = [member.name for member in members]

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(
        self, samples: Sequence[bytes], progress: Callable[[int], None] = lambda _: None
    ) -> list[bytes | None]:
        """Run frames of inputs through all elements; return the frames of outputs, in order.

        None stands for a sample without outputs, since a network waits for more inputs. TargetError
        names the element that died, hung, dropped or damaged a frame, or failed.
        """
        for sample in samples:
            self._feeder.add(sample)
        outputs: list[bytes | None] = []
        watched = _Patience(self._timeout_s)
        while len(outputs) < len(samples):
            self._check()
            try:
                self._feeder.work()
                frames = self._collector.work()
            except (LostFrameError, DamagedFrameError) as error:
                raise TargetError(self._end_fault(error)) from None
            except TargetError:
                self._explain_loss()
                raise
            for frame in frames:
                if frame.status not in (Status.OK, Status.NOT_READY):
                    raise TargetError(self._status_text(frame.sequence, frame))
                outputs.append(frame.tensors if frame.status == Status.OK else None)
                progress(len(outputs))
            if frames or self._feeder.is_busy:
                watched.begin()
            elif watched.is_idle:
                self._ask_around(watched)
            lines = [self._feeder.line, self._collector.line]
            select.select(lines, [], [], _SLICE_S)
        return outputs

    def finish(self, samples: int) -> list[Measured]:
        """End all sessions; TargetError unless every element has run each sample once."""
        found = []
        for k, session in enumerate(self._sessions):
            with self._named(k):
                report = session.report(_ANSWER_S)
                marker = session.end(_ANSWER_S)
            ran = (report.received, report.sent)
            if ran != (samples, samples) or marker.failed:
                raise TargetError(
                    f"element '{self._names[k]}' received {counted(report.received, 'frame')}, "
                    f"sent {report.sent} and failed {counted(marker.failed, 'time')}, but "
                    f"{counted(samples, 'sample')} went through the pipeline"
                )
            found.append(Measured(report, self._hellos[k]))
        for k, (session, target) in enumerate(zip(self._sessions, self.targets, strict=True)):
            session.bye()
            status = target.wait_for_exit()
            if status:
                raise TargetError(
                    f"element '{self._names[k]}' exited with status {status} after its end marker"
                )
        return found

    # ---- starting ------------------------------------------------------------------------------

    def _start(self) -> None:
        ram = self._shared_ram()
        slots = [Slots(self._memory(window), window.stride) for window in self._windows]
        if self._is_recording:
            places = slots or (None,) * (len(self.members) + 1)
            self.recorders = [Recorder(place) for place in places]
        ends = [self._line(k) for k in range(len(self.members) + 1)]
        for number, member in enumerate(self.members):
            wires = self._wires(member, ends[number][1], ends[number + 1][0])
            board = member.info.board
            target = QemuTarget(
                QEMU.find(), member.elf, board, member.attach, member.info, wires=wires, ram=ram
            )
            with self._named(number):
                self.targets.append(self._stack.enter_context(target))
        self._feeder = Feeder(ends[0][0], slots[0] if slots else None)
        self._collector = Collector(ends[-1][1], slots[-1] if slots else None, self._sent_bytes)
        for number, target in enumerate(self.targets):
            session = Session(target.console, target.check)
            with self._named(number):
                self._hellos.append(session.hello(_HELLO_S))
                target.settle()
                check_hello(self._hellos[-1], self.members[number].info)
                session.report(_HELLO_S)  # behind any repeated greeting, which forgets frames
            self._sessions.append(session)

    def _wires(
        self, member: Member, before: socket.socket, behind: socket.socket
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
            self._stack.callback(end.close)
        if self._tap is None and not self.recorders:
            return near, far
        middle, end = wire()
        self._stack.callback(end.close)
        _Relay(far, middle, lambda data: self._carry(number, data)).start()
        return near, end

    def _carry(self, number: int, data: bytes) -> bytes:
        """Return what the line before an element carries in place of `data`; record it."""
        if self._tap is not None:
            data = self._tap(number, data)
        if self.recorders:
            self.recorders[number].take(data)
        return data

    def _shared_ram(self) -> Path | None:
        if not self._windows:
            return None
        facts = self.members[0].info.board.run.qemu
        if facts is None:
            raise InputError(f"element '{self._names[0]}' does not run on QEMU")
        need = sum(window.stride * ROOM for window in self._windows)
        path, handle = make_ram(facts, need + len(self.members) * _ELF_ROOM)
        self._stack.callback(path.unlink, missing_ok=True)
        last = self._windows[-1]
        start = self._windows[0].start_addr
        size = last.start_addr + ROOM * last.stride - start
        self._base, self._shared = start, map_ram(handle, facts, start, size)
        os.close(handle)
        return path

    def _memory(self, window: Window) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        at = window.start_addr - self._base
        return self._shared[at : at + ROOM * window.stride]

    # ---- who is to blame -----------------------------------------------------------------------

    def _named(self, number: int) -> "_Named":
        return _Named(self._names[number])

    def _check(self) -> None:
        for number, target in enumerate(self.targets):
            with self._named(number):
                target.check()

    def _explain_loss(self) -> None:
        """Raise the reason of a lost line once the process at its end has ended, a moment later."""
        ends = time.monotonic() + _IDLE_S
        while time.monotonic() < ends:
            self._check()
            time.sleep(_SLICE_S)

    def _ask_around(self, watched: "_Patience") -> None:
        """Ask elements for their progress; raise once it is certain that nothing more comes."""
        reports = [self._report(number) for number in range(len(self.members))]
        self._check()
        if None not in reports:
            if watched.is_same(reports):
                raise TargetError(self._stall(reports))
            return
        if watched.is_over:
            hung = max(number for number, report in enumerate(reports) if report is None)
            raise TargetError(
                f"element '{self._names[hung]}' hangs: it has neither handed on a frame nor "
                f"answered on its console for {self._timeout_s:g} s"
            )

    def _report(self, number: int) -> ElementReport | None:
        try:
            return self._sessions[number].report(_IDLE_S)
        except TargetError:
            self._check()
            return None

    def _stall(self, reports: Sequence[ElementReport | None]) -> str:
        """Name the element at which a frame stopped, from counts of frames."""
        came = self._feeder.sent
        for number, report in enumerate(reports):
            assert report is not None
            if report.received < came:
                return (
                    f"{self._source(number)} dropped frame {report.received}: {self._never(number)}"
                )
            if report.sent < report.received:
                return (
                    f"element '{self._names[number]}' dropped frame {report.sent}: it received the "
                    "frame, and waits for nothing, but has not handed it on"
                )
            came = report.sent
        dropped = f"element '{self._names[-1]}' dropped frame {self._collector.received}"
        return f"{dropped}: it did not arrive at the host"

    def _never(self, number: int) -> str:
        return f"it did not arrive at '{self._names[number]}' whole"

    def _source(self, number: int) -> str:
        """Return the name of an element's predecessor."""
        return f"element '{self._names[number - 1]}'" if number else "the line from the host"

    def _end_fault(self, error: LostFrameError | DamagedFrameError) -> str:
        who = f"element '{self._names[-1]}', or its line to the host,"
        if isinstance(error, LostFrameError):
            return f"{who} dropped frame {error.number}: frame {error.got} came instead"
        return f"{who} damaged frame {error.number}"

    def _status_text(self, sequence: int, frame: Frame) -> str:
        status, origin = frame.status, frame.origin
        name = self._names[origin] if origin < len(self._names) else "?"
        before = f"{self._source(origin)}, or the line behind it," if origin else self._source(0)
        if status == DAMAGED:
            return f"{before} damaged frame {sequence}: its CRC or header is wrong at '{name}'"
        if status == LOST:
            got = frame.detail
            return f"{before} dropped frame {sequence}: frame {got} came to '{name}' instead"
        if status == OVERRUN:
            return f"{before} sent more frames than '{name}' has room for"
        if status == CREDIT:
            behind = self._names[origin + 1] if origin + 1 < len(self._names) else "the host"
            return f"element '{behind}' gave back to '{name}' the room of another frame"
        target = self.targets[origin]
        if target.last_fault is not None:
            return f"element '{name}': {target.last_fault}"
        return (
            f"the inference of sample {sequence} on element '{name}' failed with "
            f"{status_name(status)}"
        )


_ELF_ROOM = 4 << 20
"""Bytes of shared memory for an element's own data, which is checked to be free beforehand."""


class _Named:
    """Names the element in errors of a block."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, TargetError):
            raise type(error)(f"element '{self._name}': {error}") from None


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
        """Whether it is time to ask again."""
        return time.monotonic() - self._asked > _IDLE_S

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() - self._since > self._limit_s

    def is_same(self, said: object) -> bool:
        """Return whether the elements say the same as the last time; remember it."""
        is_same, self._said = said == self._said, said
        self._asked = time.monotonic()
        if not is_same:
            self._since = self._asked
        return is_same


class _Relay(threading.Thread):
    """Carries bytes between two lines; what goes forward passes a tap."""

    def __init__(
        self, one: socket.socket, other: socket.socket, forward: Callable[[bytes], bytes]
    ) -> None:
        super().__init__(daemon=True)
        self._lines = {one: (other, forward), other: (one, lambda data: data)}

    def run(self) -> None:
        try:
            while True:
                for line in select.select(list(self._lines), [], [])[0]:
                    to, change = self._lines[line]
                    data = line.recv(4096)
                    if not data:
                        return
                    to.sendall(change(data))
        except (OSError, ValueError):  # the pipeline was closed
            return
        finally:
            for line in self._lines:
                line.close()
