"""Arm's Fixed Virtual Platforms: the board with its NPU, as a program.

The console's UART comes out of a TCP socket. A run is judged by what the firmware says there, its
end marker and its outputs; why the FVP ended, which is what its exit status tells, is no verdict.
"""

import logging
import re
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ethosgen.accelerator import NO_NPU, find_accelerator
from ethosgen.board import Board, Fvp
from ethosgen.errors import InputError, TargetError
from ethosgen.target.console import Console, SerialConsole
from ethosgen.target.deadline import Deadline
from ethosgen.tools import Tool

_LOG = logging.getLogger(__name__)

_LISTENS = re.compile(r"Listening for serial connection on port (\d+)")
_START_S = 60.0
"""An FVP takes some seconds before its console listens."""
_SAID_LINES = 10


class FvpTarget:
    """A firmware on an FVP, from entering the context to leaving it; it is its own console."""

    def __init__(self, elf: Path, board: Board, npu: str) -> None:
        if board.run.fvp is None:
            raise InputError(f"board '{board.name}' has no FVP")
        self._facts = board.run.fvp
        self._name, self._macs = choose_executable(board, self._facts, npu)
        self._elf = elf
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._console: SerialConsole | None = None

    def __enter__(self) -> Self:
        program = fvp_tool(self._name).find()
        try:
            self._open(program)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @property
    def console(self) -> Console:
        """The line to the firmware."""
        return self

    @property
    def last_fault(self) -> Exception | None:
        """None: the FVP's NPU tells its faults to the firmware only."""
        return None

    def check(self) -> None:
        """Raise TargetError with the FVP's words if it has ended, whatever its exit status."""
        if self._process is not None and self._process.poll() is not None:
            raise TargetError(
                f"{self._name} ended before the firmware's end marker (time limit "
                f"{self._facts.time_limit_s} s){self._words()}"
            )

    def settle(self) -> None:
        """Do nothing: an FVP needs nothing of ours."""

    def wait_for_exit(self) -> int | None:
        """Return None: the end marker has come, and an exit status would say nothing."""
        return None

    def write(self, data: bytes) -> None:
        """Send to the firmware; TargetError with the FVP's words if it has ended."""
        try:
            self._line().write(data)
        except TargetError:
            self._explain_loss()
            raise

    def read(self, timeout_s: float) -> bytes:
        """Return what the firmware sent; TargetError with the FVP's words if it has ended."""
        try:
            return self._line().read(timeout_s)
        except TargetError:
            self._explain_loss()
            raise

    def close(self) -> None:
        """Close the line."""
        if self._console is not None:
            self._console.close()

    def _open(self, program: Path) -> None:
        command = [
            str(program),
            *fvp_arguments(self._facts, self._macs, self._elf, _free_port()),
        ]
        _LOG.info("%s", " ".join(command))
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the target
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said
            )
        except OSError as error:
            raise TargetError(f"cannot start '{program}': {error.strerror}") from None
        self._console = SerialConsole(f"socket://127.0.0.1:{self._await_port()}")

    def _await_port(self) -> int:
        """Return the port of the console, as the FVP says it: it may take another than asked."""
        deadline = Deadline(_START_S, f"let {self._name} listen on its console")
        while True:
            found = _LISTENS.search(self._log())
            if found is not None:
                return int(found[1])
            self.check()
            deadline.check()
            time.sleep(0.02)

    def _close(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        self.close()
        if self._said is not None:
            self._said.close()

    def _line(self) -> SerialConsole:
        if self._console is None:
            raise TargetError(f"{self._name} was not started")
        return self._console

    def _explain_loss(self) -> None:
        """Raise why the line is gone, once the process has ended, which takes a moment longer."""
        if self._process is not None:
            try:
                self._process.wait(2.0)
            except subprocess.TimeoutExpired:
                return
            self.check()

    def _log(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read().decode(errors="replace")

    def _words(self) -> str:
        lines = [line for line in self._log().splitlines() if line.strip()]
        return ": " + "\n".join(lines[-_SAID_LINES:]) if lines else ""


def choose_executable(board: Board, facts: Fvp, npu: str) -> tuple[str, int | None]:
    """Return the FVP's name and the NPU's MACs (None: its own) for an NPU, or for none at all."""
    if npu == NO_NPU:
        return next(iter(facts.executables.values())), None
    accelerator = find_accelerator(npu)
    for product, name in facts.executables.items():
        if product == accelerator.product:
            return name, accelerator.macs
    raise InputError(
        f"board '{board.name}' has no FVP with {npu}; its FVPs have: {', '.join(facts.executables)}"
    )


def fvp_tool(name: str) -> Tool:
    """Return an FVP as a program to look for: on PATH, or where ETHOSGEN_FVP says."""
    return Tool(
        name,
        "ETHOSGEN_FVP",
        "",
        "Arm's simulation of the board",
        "download it from developer.arm.com (Arm Ecosystem FVPs), and put it on PATH",
    )


def fvp_arguments(facts: Fvp, macs: int | None, elf: Path, port: int) -> list[str]:
    """Return an FVP's arguments: the NPU's size, the console's port, and always a time limit."""
    parameters = [
        *([f"{facts.macs_parameter}={macs}"] if macs is not None else []),
        f"{facts.terminal}.start_telnet=0",
        f"{facts.terminal}.start_port={port}",
        f"{facts.terminal}.mode=raw",
        *facts.parameters,
    ]
    arguments = ["-a", str(elf), "--timelimit", str(facts.time_limit_s)]
    for parameter in parameters:
        arguments += ["-C", parameter]
    return arguments


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
