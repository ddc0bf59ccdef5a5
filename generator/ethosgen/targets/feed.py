"""The conversation with an application, the counterpart of its application/feed.c.

We send a sensor's items, and it prints lines of text between its answers.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.backend.protocol import Attach
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.console import Console
from ethosgen.targets.frames import Decoder
from ethosgen.targets.kinds import Firmware, Line, TargetKind, require_target
from ethosgen.targets.profiling import unit_of
from ethosgen.targets.session import RestartError, Session, SessionRequest
from ethosgen.values.application import ApplicationWork
from ethosgen.values.errors import ProtocolError, TargetError
from ethosgen.values.grammar import counted

PROTOCOL = 258
"""The protocol's version, which no version of the server's has."""

_HELLO = struct.Struct("<III16s")
_PLACE = struct.Struct("<II")
_ENDING = struct.Struct("<IIIIQ")
_ANSWER_S = 60.0
_HELLO_RETRY_S = 0.03

OnLine = Callable[[str], None]
"""Called with each line that the application prints."""


@dataclass(frozen=True)
class Ending:
    """The application's own account: items, printed lines, and those that report failures.

    `ticks` of a clock of `ticks_hz` were work, without waits for its input and for the NPU.
    """

    items: int
    lines: int
    failures: int
    ticks_hz: int = field(default=0, compare=False)
    ticks: int = field(default=0, compare=False)


class FeedSession(Session):
    """A conversation with an application; `lines` are its printed lines."""

    def __init__(
        self,
        console: Console,
        check: Callable[[], None],
        on_line: OnLine,
        retry_s: float = 0.5,
        elf: Path | None = None,
    ) -> None:
        self._text = bytearray()
        self._on_line = on_line
        self.lines: list[str] = []
        super().__init__(console, check, retry_s, elf=elf)

    def _make_decoder(self) -> Decoder:
        return Decoder(self._take_text)

    def _take_text(self, data: bytes) -> None:
        self._text += data
        *whole, rest = self._text.split(b"\n")
        self._text = rest
        for line in whole:
            self.lines.append(line.rstrip(b"\r").decode("ascii", errors="replace"))
            self._on_line(self.lines[-1])

    def start(self, info: ProjectInfo, item_bytes: int, timeout_s: float) -> None:
        """Begin an input; TargetError if the firmware is not the project's application."""
        body = self._ask(
            SessionRequest.HELLO, b"", timeout_s, "answer on its console", _HELLO_RETRY_S
        )
        if len(body) != _HELLO.size:
            raise ProtocolError(
                "the target does not run the project's application, but another firmware; build "
                "the project again, and put application.elf on the target"
            )
        protocol, body_max, size, digest = _HELLO.unpack(body)
        if protocol != PROTOCOL or body_max <= _PLACE.size:
            raise ProtocolError(
                f"the application uses version {protocol} of the console protocol, but this "
                f"ethosgen uses version {PROTOCOL}; generate the project again"
            )
        if digest.decode("ascii", errors="replace") != info.digest:
            raise TargetError(
                f"the target runs an application with another library than the project's "
                f"{info.digest}; build the project again"
            )
        if size != item_bytes:
            raise TargetError(
                f"the application takes {counted(size, 'byte')} at a time, but its network "
                f"{item_bytes:,}; its driver was changed: the host cannot feed it any more"
            )
        self._body_max = body_max
        self._text.clear()
        self.lines.clear()

    def send(self, number: int, item: bytes, timeout_s: float) -> None:
        """Send an item, in as many frames as necessary."""
        chunk = self._body_max - _PLACE.size
        for offset in range(0, len(item), chunk):
            body = _PLACE.pack(number, offset) + item[offset : offset + chunk]
            self._ask(SessionRequest.DATA, body, timeout_s, "take its input")

    def finish(self, timeout_s: float) -> Ending:
        """End the input when the application has processed all of it."""
        body = self._ask(SessionRequest.END, b"", timeout_s, "end its work")
        if len(body) != _ENDING.size:
            raise ProtocolError("the application's end marker is invalid; build it again")
        return Ending(*_ENDING.unpack(body))


def run_application(
    elf: Path,
    info: ProjectInfo,
    items: Sequence[bytes],
    *,
    on: str,
    attach: Attach | None,
    line: Line | None = None,
    timeout_s: float = 120.0,
    on_item: Callable[[int, int], None] = lambda _done, _all: None,
    on_line: OnLine = lambda _line: None,
) -> tuple[list[str], ApplicationWork | None]:
    """Feed an application with items and return the lines that it prints, and its work.

    The work is None on a target whose clock stops. `timeout_s` is for the work on one item.
    TargetError if the application or the target fails, or if a line was lost; NpuFault if the NPU
    model stopped at a command.
    """
    kind = require_target(on)
    with kind.start(Firmware(elf, info, attach, line)) as target:
        session = FeedSession(target.console, target.check, on_line, elf=elf)
        try:
            session.start(info, len(items[0]), _ANSWER_S)
            target.settle()
            for number, item in enumerate(items):
                on_item(number, len(items))
                session.send(number, item, timeout_s)
            ending = session.finish(timeout_s)
        except RestartError:
            raise TargetError(
                "the target restarted while its application worked; check its power supply, and "
                "for a watchdog or debugger that resets it"
            ) from None
        on_item(len(items), len(items))
        session.bye()
        status = target.wait_for_exit()
        fault = target.last_fault
    if fault is not None:
        raise fault
    if ending.items != len(items) or ending.lines != len(session.lines):
        raise TargetError(
            f"the application counted {counted(ending.items, 'item')} and "
            f"{counted(ending.lines, 'line')}, but {counted(len(items), 'item')} were sent and "
            f"{counted(len(session.lines), 'line')} arrived"
        )
    if status not in (None, int(ending.failures > 0)):
        raise TargetError(f"the application exited with status {status} after its end marker")
    return session.lines, _work(ending, info, kind)


def _work(ending: Ending, info: ProjectInfo, kind: TargetKind) -> ApplicationWork | None:
    """Return an application's work in the unit that its clock counts on the target."""
    if not kind.has_clock:
        return None
    unit = unit_of(info.board, kind, ending.ticks_hz)
    rate = info.board.cpu.clock_hz if kind.counts_instructions else ending.ticks_hz
    return ApplicationWork(round(ending.ticks / unit.ticks), unit.name, rate)
