"""Runs a pipeline on QEMU: one process for each element, lines between them, the host at the ends.

    host ── element 0 ── element 1 ── … ── host

A pipeline may also be a graph, in which elements have several lines, and the host too. Samples go
in as fast as the first elements take them. Each element also has a console, over which
it is identified, and queried about its progress if outputs are missing.
"""

import os
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Self

from ethosgen.backend.protocol import Attach
from ethosgen.host.tools import QEMU
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.blame import Blame
from ethosgen.targets.gateway import Gateway, host_lines, packet_recorder
from ethosgen.targets.kinds import Target
from ethosgen.targets.patience import IDLE_S, Patience
from ethosgen.targets.qemu import QemuTarget
from ethosgen.targets.qemu_files import make_ram, map_ram
from ethosgen.targets.relay import Change, ElementPorts, End, Relay, SerialEnd, unchanged, wire
from ethosgen.targets.runs import check_hello, status_name
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
    Memory,
    ReceivedFrame,
    Recorder,
    Slots,
    Tap,
    drain,
)
from ethosgen.values.errors import DeviceFault, InputError, TargetError
from ethosgen.values.grammar import counted
from ethosgen.values.handover import SharedWindow
from ethosgen.values.mesh import EAST, NORTH, SOUTH, WEST, ElementMesh
from ethosgen.values.status import Status
from ethosgen.values.wiring import HOST, Wiring, line_names

_HELLO_S = 30.0
"""Time limit for the first answer: several processes start at once."""
_ANSWER_S = 10.0
_USUAL_BAUD = 115_200
_SLICE_S = 0.02


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

    `identity` is the pipeline's, `windows` the places of frames in shared memory, by line, `mesh`
    the mesh that carries the frames if there is one. `tap` changes the data on the lines, and on
    those between a mesh's neighbours, which have the next numbers, for tests. With `is_recording`,
    `recorders` keep the frames of each line.
    """

    def __init__(
        self,
        members: Sequence[ElementFirmware],
        wiring: Wiring,
        identity: bytes,
        windows: Sequence[SharedWindow] = (),
        *,
        mesh: ElementMesh | None = None,
        tap: Tap | None = None,
        timeout_s: float = 120.0,
        is_recording: bool = False,
    ) -> None:
        super().__init__()
        self.members = members
        self.wiring = wiring
        self.recorders: list[Recorder] = []
        self._is_recording = is_recording
        self.targets: list[Target] = []
        self._relays: list[tuple[int, Relay]] = []
        self._identity = identity
        self._windows = windows
        self._mesh = mesh
        self._gateway: Gateway | None = None
        self._tap = tap
        self._timeout_s = timeout_s
        self._sessions: list[Session] = []
        self._hellos: list[Hello] = []
        self._names = [member.name for member in members]
        self._blame = Blame(self._names, wiring)
        self._feeders: dict[int, Feeder] = {}
        self._collectors: dict[int, Collector] = {}

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            opened.push(self)
            self._start()
            opened.pop_all()
        return self

    def run(
        self, samples: Sequence[Sequence[bytes]], progress: Callable[[int], None] = lambda _: None
    ) -> list[list[bytes] | None]:
        """Run samples through all elements; return the frames of their outputs, in order.

        A sample has the tensors of a frame for each hand-over from the host, its outputs those of
        each to the host. None means a sample without outputs, since a network waits for more
        inputs. TargetError names the element that died, hung, dropped or damaged a frame, or
        failed.
        """
        for number, frames in enumerate(samples):
            for edge, tensors in zip(self.wiring.edges_behind(HOST), frames, strict=True):
                self._feeders[self.wiring.line_of(edge, number)].add(tensors)
        outputs: list[list[bytes] | None] = []
        received: dict[int, list[ReceivedFrame]] = {line: [] for line in self._collectors}
        watched = Patience(self._timeout_s)
        while len(outputs) < len(samples):
            self._check()
            has_moved = self._work(received)
            while (frames_out := self._whole(len(outputs), received)) is not None:
                is_ready = all(frame.status == Status.OK for frame in frames_out)
                outputs.append([frame.tensors for frame in frames_out] if is_ready else None)
                progress(len(outputs))
            if has_moved:
                watched.begin()
            elif watched.is_idle:
                self._ask_around(watched)
            select.select(self._host_lines, [], [], _SLICE_S)
        return outputs

    def _work(self, received: Mapping[int, list[ReceivedFrame]]) -> bool:
        """Send and receive what the lines accept and have; return whether there was anything."""
        has_moved = False
        try:
            for feeder in self._feeders.values():
                has_moved |= feeder.work()
            for line, collector in self._collectors.items():
                try:
                    frames = collector.work()
                except (LostFrameError, DamagedFrameError, ForeignFrameError) as error:
                    text = self._blame.end_fault(self.wiring.lines[line].sender, error)
                    raise _BlamedError(text) from None
                for frame in frames:
                    if frame.status not in (Status.OK, Status.NOT_READY):
                        raise _BlamedError(self._status_text(frame))
                received[line] += frames
                has_moved |= bool(frames)
        except _BlamedError as error:
            raise TargetError(str(error)) from None
        except TargetError:
            self._explain_loss()
            raise
        return has_moved

    def _whole(
        self, sample: int, received: Mapping[int, Sequence[ReceivedFrame]]
    ) -> list[ReceivedFrame] | None:
        """Return the frames of a sample's outputs, None if one has not arrived."""
        frames = []
        for edge in self.wiring.edges_before(HOST):
            number = sample // self.wiring.period(edge)
            on_line = received[self.wiring.line_of(edge, sample)]
            if number >= len(on_line):
                return None
            frames.append(on_line[number])
        return frames

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
            ran, own = (report.received, report.sent), len(self.wiring.samples_of(k, samples))
            if ran != (own, own) or marker.failed:
                raise TargetError(
                    f"element '{self._names[k]}' received {counted(report.received, 'frame')}, "
                    f"sent {report.sent} and failed {counted(marker.failed, 'time')}, but "
                    f"{counted(own, 'sample')} went through it"
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
        slots = [
            Slots(self._memory(window, line.room), window.stride)
            for window, line in zip(self._windows, self.wiring.lines, strict=False)
        ]
        if self._is_recording:
            places = slots or (None,) * len(self.wiring.lines)
            self.recorders = [Recorder(place) for place in places]
        ends = [self._line(k) for k in range(len(self.wiring.lines))]
        wires = self._mesh_wires(ends) if self._mesh else self._direct_wires(ends)
        for number, own in enumerate(wires):
            with self._named(number):
                self.targets.append(self.enter_context(self._target(number, own, ram)))
        for n in self.wiring.behind(HOST):
            receiver = self._names[self.wiring.lines[n].receiver]
            slot = slots[n] if slots else None
            self._feeders[n] = Feeder(ends[n][0], slot, self._identity, receiver)
        for n in self.wiring.before(HOST):
            line, slot = self.wiring.lines[n], slots[n] if slots else None
            size, name = self.wiring.edges[line.edge].bytes, self._names[line.sender]
            self._collectors[n] = Collector(ends[n][1], slot, size, self._identity, name)
        self._sessions = [
            Session(target.console, target.check, stack_bytes=member.stack_bytes, elf=member.elf)
            for target, member in zip(self.targets, self.members, strict=True)
        ]
        if any(member.ports for member in self.members):
            self._greet()  # a board may still send the rest of another run to its neighbour
        self._hellos = self._greet()
        for end in self._host_lines:
            drain(end)

    def _direct_wires(
        self, ends: Sequence[tuple[socket.socket, socket.socket]]
    ) -> list[dict[int, socket.socket]]:
        """Return the ends of each element's lines, by the position of the board's line."""
        wires = []
        for number in range(len(self.members)):
            before = [ends[n][1] for n in self.wiring.before(number)]
            behind = [ends[n][0] for n in self.wiring.behind(number)]
            wires.append(dict(enumerate([*before, *behind])))
        return wires

    def _mesh_wires(
        self, ends: Sequence[tuple[socket.socket, socket.socket]]
    ) -> list[dict[int, socket.socket]]:
        """Return the same in a mesh, where lines lead to neighbours; start the host's gateway."""
        assert self._mesh is not None
        wires: list[dict[int, socket.socket]] = [{} for _ in self.members]
        numbers = count(len(ends))
        for number, port in product(range(len(self.members)), (EAST, SOUTH)):
            other = self._mesh.neighbour(number, port)
            if other is not None:
                back = WEST if port == EAST else NORTH
                looks = [packet_recorder(self.wiring, k, self.recorders) for k in (other, number)]
                wires[number][port], wires[other][back] = self._line(next(numbers), *looks)
        wires[0][WEST], line = self._wire()
        far = {n: ends[n][1] for n in self.wiring.behind(HOST)}
        far |= {n: ends[n][0] for n in self.wiring.before(HOST)}
        self._gateway = Gateway(line, len(self.members), *host_lines(self.wiring, far))
        self._gateway.start()
        return wires

    def _wire(self) -> tuple[socket.socket, socket.socket]:
        ends = wire()
        for end in ends:
            self.callback(end.close)
        return ends

    @property
    def _host_lines(self) -> list[socket.socket]:
        feeders, collectors = self._feeders.values(), self._collectors.values()
        return [*(end.line for end in feeders), *(end.line for end in collectors)]

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

    def _target(self, number: int, ends: Mapping[int, socket.socket], ram: Path | None) -> Target:
        """Return an element's target, with the ends of its lines."""
        member = self.members[number]
        board, ports = member.info.board, member.ports
        if ports is None:
            assert member.elf is not None  # only boards have theirs already
            wires = self._wires(member, ends)
            return QemuTarget(
                QEMU.find(), member.elf, board, member.attach, member.info, wires=wires, ram=ram
            )
        names = line_names(self.wiring, number, self._names)
        for (line, name), end, facts in zip(
            names.items(), ends.values(), board.links, strict=False
        ):
            url = ports.lines.get(name)
            if url is not None:
                port = SerialEnd(url, facts.baud or _USUAL_BAUD)
                port.fileno()
                self._relay(line, port, end)
        return SerialTarget(board, ports.console)

    def _relay(
        self,
        number: int,
        near: End,
        far: End,
        forward: Change = unchanged,
        back: Change = unchanged,
    ) -> None:
        """Carry the data on line `number`."""
        relay = Relay(near, far, forward, back)
        for end in (near, far):
            self.callback(end.close)
        self._relays.append((number, relay))
        relay.start()

    def _wires(
        self, member: ElementFirmware, ends: Mapping[int, socket.socket]
    ) -> dict[int, socket.socket]:
        serials = dict(enumerate(link.serial for link in member.info.board.links))
        if any(serials.get(place) is None for place in ends):
            raise InputError(
                f"element '{member.name}' cannot run on QEMU: board '{member.info.board.name}' has "
                f"no {counted(len(ends), '[[links]] entry')} with QEMU's serial numbers"
            )
        numbers = ((serials[place], end) for place, end in ends.items())
        return {number: end for number, end in numbers if number is not None}

    def _line(
        self, number: int, forward: Change = unchanged, back: Change = unchanged
    ) -> tuple[socket.socket, socket.socket]:
        """Return the ends of a line, its receiver's last, through the tap if there is one."""
        near, far = self._wire()
        if self._tap is None and not self._is_recording:
            return near, far
        middle, end = self._wire()
        self._relay(number, far, middle, lambda data: forward(self._carry(number, data)), back)
        return near, end

    def _carry(self, number: int, data: bytes) -> bytes:
        """Return the data for an element, which the tap may have changed; record it."""
        if self._tap is not None:
            data = self._tap(number, data)
        if number < len(self.recorders):
            self.recorders[number].take(data)
        return data

    def _shared_ram(self) -> Path | None:
        if not self._windows:
            return None
        qemu = self.members[0].info.board.run.qemu
        facts = qemu.shared if qemu else None
        if facts is None:
            raise InputError(f"element '{self._names[0]}' does not run on QEMU")
        start = min(window.start_addr for window in self._windows)
        places = zip(self._windows, self.wiring.lines, strict=True)
        size = max(place.start_addr + line.room * place.stride for place, line in places) - start
        path, handle = make_ram(facts, size + len(self.members) * _ELF_ROOM)
        self.callback(path.unlink, missing_ok=True)
        self._base, self._shared = start, map_ram(handle, facts, start, size)
        os.close(handle)
        return path

    def _memory(self, window: SharedWindow, room: int) -> Memory:
        at = window.start_addr - self._base
        return self._shared[at : at + room * window.stride]

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
                raise TargetError(f"the line {self._blame.line(number)} is lost: {relay.error}")
        if self._gateway is not None and self._gateway.error is not None:
            raise TargetError(f"the mesh is broken: {self._gateway.error}")
        for number, target in enumerate(self.targets):
            with self._named(number):
                target.check()

    def _explain_loss(self) -> None:
        """Raise the reason of a lost line once the process at its end has ended, a moment later."""
        ends = time.monotonic() + _ANSWER_S
        while time.monotonic() < ends:
            self._check()
            time.sleep(_SLICE_S)

    def _ask_around(self, watched: Patience) -> None:
        """Query elements for their progress; raise once it is certain that nothing more comes.

        An element on a busy machine may answer late: before one is blamed, it gets more time.
        """
        is_over = watched.is_over
        limit_s = min(self._timeout_s, _ANSWER_S) if is_over else IDLE_S
        reports = [self._report(number, limit_s) for number in range(len(self.members))]
        self._check()
        answers = [report for report in reports if report is not None]
        if len(answers) == len(reports):
            if watched.is_same(answers):
                collected = {line: end.received for line, end in self._collectors.items()}
                raise TargetError(self._blame.stall(answers, collected))
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

    def _status_text(self, frame: ReceivedFrame) -> str:
        """Return the words for a status that is neither success nor a wait for more inputs."""
        said = self._blame.frame_fault(frame, int.from_bytes(self._identity[:4], "little"))
        if said is not None or frame.origin >= len(self._names):
            return said or f"a frame reports status {frame.status} of an unknown element"
        name, target = self._names[frame.origin], self.targets[frame.origin]
        if target.last_fault is not None:
            return f"element '{name}': {target.last_fault}"
        return (
            f"the inference of sample {frame.sequence} on element '{name}' failed with "
            f"{status_name(frame.status)}"
        )


class _BlamedError(TargetError):
    """A fault whose element is known: nothing else explains it better."""


_ELF_ROOM = 4 << 20
"""Bytes of shared memory for an element's own data, which is checked to be free beforehand."""


def _check_stack(member: ElementFirmware, report: ElementReport) -> None:
    """Compare the stack of an element's runs with its bound; TargetError if they used more."""
    if member.elf is not None:
        bounds = StackBounds(member.elf, member.info)
        bounds.check(0, report.run_stack_bytes)
        bounds.compare()
