"""A real board: reset over its serial line or by a command, then used like any target."""

from dataclasses import dataclass
from typing import Self

from ethosgen.board import Board
from ethosgen.host.tools import CommandError, run_command
from ethosgen.targets.buffers import PortIndex
from ethosgen.targets.console import Console, SerialConsole
from ethosgen.values.errors import InputError, TargetError

_PULSE_S = 0.1
_USUAL_BAUD = 115_200
"""The rate of most consoles of Linux."""
_RESET_COMMAND_S = 60.0
_SAID_CHARACTERS = 500


@dataclass(frozen=True)
class SerialLine:
    """The connection to a board: a device or a pyserial URL; None means the board file's value.

    `reset` is "none", "dtr" or "rts".
    """

    url: str
    baud: int | None = None
    reset: str | None = None


class SerialTarget:
    """A flashed board, from entering the context to leaving it."""

    def __init__(self, board: Board, line: object) -> None:
        if not isinstance(line, SerialLine):
            raise InputError(
                f"where is board '{board.name}'? name its serial port with --port, for example "
                "--port /dev/ttyACM0"
            )
        self._board = board
        self._line = line
        self._console: SerialConsole | None = None

    def __enter__(self) -> Self:
        facts = self._board.console
        baud = self._line.baud or (facts.baud if facts else _USUAL_BAUD)
        self._console = SerialConsole(self._line.url, baud)
        try:
            self._reset(self._console)
        except BaseException:
            self._console.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        if self._console is not None:
            self._console.close()

    @property
    def console(self) -> Console:
        """The connection to the firmware."""
        if self._console is None:
            raise TargetError("the serial port was not opened")
        return self._console

    @property
    def last_fault(self) -> Exception | None:
        """None: the NPU is a real one."""
        return None

    def check(self) -> None:
        """Do nothing: a lost board shows when its line is read."""

    def settle(self) -> None:
        """Do nothing: a board needs nothing from us."""

    def buffer(self, _place: PortIndex) -> None:
        """Return None: all data goes through the console."""

    def device_notes(self, is_late: bool) -> str:
        """Return notes on devices for a failed call: hung models if it is late, registers."""
        return ""

    def wait_for_exit(self) -> int | None:
        """Return None: a board does not exit."""
        return None

    def _reset(self, console: SerialConsole) -> None:
        facts = self._board.run.serial
        if self._line.reset is None and facts is not None and facts.reset_command is not None:
            _run_command(facts.reset_command)
            return
        reset = self._line.reset or (facts.reset if facts is not None else "none")
        if reset != "none":
            console.pulse(reset, _PULSE_S)


def _run_command(command: list[str]) -> None:
    try:
        run_command(command, _RESET_COMMAND_S)
    except CommandError as error:
        words = error.words.strip()[-_SAID_CHARACTERS:]
        raise TargetError(
            f"cannot reset the board: {error}{': ' if words else ''}{words}"
        ) from None


def port_names() -> list[str]:
    """Return the names of this computer's serial ports."""
    from serial.tools.list_ports import comports

    return sorted(port.device for port in comports())
