"""The conversation with an application that takes commands, like MLPerf Tiny's runner's.

We send text that ends with '%', and it answers in lines, the last of which is "m-ready".
"""

import re
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

from ethosgen.backend.protocol import Attach
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.console import Console
from ethosgen.targets.deadline import Deadline
from ethosgen.targets.fault_reports import describe_fault
from ethosgen.targets.frames import Decoder
from ethosgen.targets.kinds import Firmware, Line, require_target
from ethosgen.targets.session import Reply
from ethosgen.values.errors import ProtocolError, TargetError

_END = "%"
_GREETING = "hello"
"""A command that no application knows: a number makes each answer another."""
_READY = "m-ready"
_TOLD = re.compile(r"m-(results|features|activations)-|e-|FAILED")
"""Lines about the input; the others are about the conversation."""
_DIGEST = re.compile(r"m-digest-\[(\w+)\]")
_ANSWER_S = 60.0
_RETRY_S = 0.5
_SLICE_S = 0.05

OnLine = Callable[[str], None]


class CommandSession:
    """A conversation with an application that takes commands.

    `check` raises if the target has died; `elf` names the code of a fault.
    """

    def __init__(
        self, console: Console, check: Callable[[], None], elf: Path | None = None
    ) -> None:
        self._console = console
        self._check = check
        self._elf = elf
        self._decoder = Decoder()
        self._text = bytearray()

    def start(self, digest: str, timeout_s: float) -> None:
        """Wait for the application; TargetError if its library is not the project's."""
        self._greet(Deadline(timeout_s, "answer on its console"))
        told = [match[1] for match in map(_DIGEST.match, self.ask("profile", timeout_s)) if match]
        if told != [digest]:
            raise TargetError(
                f"the target runs an application with another library than the project's {digest}; "
                "build the project again"
            )

    def _greet(self, deadline: Deadline) -> None:
        """Send greetings until the last one is answered, so that no other answer is pending."""
        for number in count(1):
            deadline.check()
            self._send(f"{_GREETING}{number}")
            ends = Deadline(min(number * _RETRY_S, deadline.remaining_s), deadline.what)
            while (lines := self._read(ends)) is not None:
                if f"e-[Unknown command: {_GREETING}{number}]" in lines:
                    return

    def ask(self, command: str, timeout_s: float) -> list[str]:
        """Send a command, and return the lines of the answer before the last."""
        deadline = Deadline(timeout_s, f"answer to '{command}'")
        self._send(command)
        lines = self._read(deadline)
        if lines is None:
            deadline.check()
        return lines or []

    def _send(self, command: str) -> None:
        self._console.write((command + _END).encode())

    def _read(self, deadline: Deadline) -> list[str] | None:
        """Return the lines until the last of an answer, None if it does not arrive in time."""
        lines: list[str] = []
        while not deadline.is_over:
            line = self._next_line()
            if line == _READY:
                return lines
            if line is not None:
                lines.append(line)
                continue
            data = self._console.read(min(_SLICE_S, deadline.remaining_s))
            if not data:
                self._check()  # a target's output before it died comes first
            for frame in self._decoder.feed(data):
                if frame.type == Reply.FAULT:
                    raise TargetError(describe_fault(frame.body, None, self._elf))
            self._text += data
        return None

    def _next_line(self) -> str | None:
        line, end, rest = self._text.partition(b"\n")
        if not end:
            return None
        self._text = rest
        return line.rstrip(b"\r").decode("ascii", errors="replace")


def run_commands(
    elf: Path,
    info: ProjectInfo,
    items: Sequence[Sequence[str]],
    *,
    on: str,
    attach: Attach | None,
    line: Line | None = None,
    timeout_s: float = 120.0,
    on_item: Callable[[int, int], None] = lambda _done, _all: None,
    on_line: OnLine = lambda _line: None,
) -> list[str]:
    """Send an application the commands of each item, and return its lines about the input.

    `timeout_s` is for one command. TargetError if the application or the target fails, NpuFault if
    the NPU model stopped at a command, ProtocolError if an item has no result.
    """
    lines: list[str] = []
    with require_target(on).start(Firmware(elf, info, attach, line)) as target:
        session = CommandSession(target.console, target.check, elf)
        session.start(info.digest, _ANSWER_S)
        target.settle()
        for number, commands in enumerate(items):
            on_item(number, len(items))
            answers = [answer for each in commands for answer in session.ask(each, timeout_s)]
            told = [answer for answer in answers if _TOLD.match(answer)]
            if not told:
                raise ProtocolError(f"the application reported no result for item {number}")
            for answer in told:
                lines.append(answer)
                on_line(answer)
        on_item(len(items), len(items))
        fault = target.last_fault
    if fault is not None:
        raise fault
    return lines
