"""The surroundings of an attached firmware: serial lines, semihosting, and its end."""

import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.targets.attach.monitor import Monitor

_SEMIHOSTING_LINE = "semihosting"


@dataclass(frozen=True)
class Semihosting:
    """Calls of the host by BKPT 0xAB: whether there are any, and their view of the host.

    `command_line` is SYS_GET_CMDLINE's answer, None for the firmware's path. `console` carries text
    in both directions, None for this process's stderr. `heap` is SYS_HEAPINFO's answer, None for
    QEMU's.
    """

    is_enabled: bool = True
    command_line: str | None = None
    console: socket.socket | None = None
    heap: tuple[int, int, int, int] | None = None

    def arguments(self) -> Iterator[str]:
        """Yield QEMU's arguments."""
        options = [f"enable={'on' if self.is_enabled else 'off'}", "target=native"]
        if self.console is not None:
            options.append(f"chardev={_SEMIHOSTING_LINE}")
            yield from ("-chardev", f"socket,id={_SEMIHOSTING_LINE},fd={self.console.fileno()}")
        if self.command_line is not None:
            options.append("arg=" + self.command_line.replace(",", ",,"))
        yield from ("-semihosting-config", ",".join(options))


@dataclass(frozen=True)
class SavedMemory:
    """A part of the memory that is written to a file once the run is over."""

    file: Path
    addr: int
    size: int


def _let_it_run(_monitor: Monitor) -> None:
    """Supervise nothing."""


@dataclass(frozen=True)
class Connections:
    """A firmware's connections, and its supervision.

    `lines` are its serial ports by QEMU's numbers; without any, the console is this process's
    terminal. They are closed when QEMU has them. `folder` is where QEMU runs. `supervise` is called
    several times a second, and raises to end the run. `vectors` is the address of the vectors that
    the processor starts with, None for QEMU's own. `saved` are parts of the memory that QEMU
    shares with the NPU model.
    """

    lines: Mapping[int, socket.socket] = field(default_factory=dict)
    semihosting: Semihosting = Semihosting()
    folder: Path | None = None
    supervise: Callable[[Monitor], None] = _let_it_run
    vectors: int | None = None
    saved: Sequence[SavedMemory] = ()

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets that QEMU inherits."""
        console = self.semihosting.console
        return [*self.lines.values(), *([] if console is None else [console])]

    def arguments(self, console: int) -> Iterator[str]:
        """Yield QEMU's arguments; `console` is its number for the board's console."""
        yield from self.semihosting.arguments()
        if not self.lines:
            yield from ("-chardev", "stdio,id=console,mux=off")
        serials = {console: "chardev:console"} if not self.lines else {}
        for number, line in self.lines.items():
            # Multiplexed, a line buffers 32 bytes; its escape character is one that no byte has.
            yield from ("-chardev", f"socket,id=line{number},fd={line.fileno()},mux=on")
            serials[number] = f"chardev:line{number}"
        if self.lines:
            yield from ("-echr", "256")
        for number in range(max(serials) + 1):
            yield from ("-serial", serials.get(number, "null"))


ALONE = Connections()
"""The terminal as the console, semihosting, and no end but the firmware's."""
