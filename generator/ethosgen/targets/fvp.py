"""Arm's Fixed Virtual Platforms: the board with its NPU, as a program.

The console's UART is a TCP socket. The firmware's output there, its end marker and its outputs,
decides about a run; the FVP's exit status tells only why the FVP ended, so it is ignored.
"""

import re
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from ethosgen.backend import find_accelerator
from ethosgen.board import Board, Fvp
from ethosgen.host.tools import Tool
from ethosgen.targets.console import SerialConsole
from ethosgen.targets.deadline import Deadline
from ethosgen.targets.process import ProcessTarget
from ethosgen.targets.security import images
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError

_LISTENS = re.compile(r"Listening for serial connection on port (\d+)")
_VECTORS = (".vectors", "rom_start")
"""The section that begins with the vectors: ours, or Zephyr's."""
_START_S = 60.0
"""An FVP takes some seconds until its console listens."""


class FvpTarget(ProcessTarget):
    """A firmware on an FVP, from entering the context to leaving it; also its console."""

    def __init__(self, elf: Path, board: Board, npu: str) -> None:
        if board.run.fvp is None:
            raise InputError(f"board '{board.name}' has no FVP")
        self._facts = board.run.fvp
        name, self._macs = choose_executable(board, self._facts, npu)
        super().__init__(name)
        self._images = images(elf, board)

    def wait_for_exit(self) -> int | None:
        """Return None: the end marker has arrived, and an exit status has no meaning."""
        return None

    def _open(self) -> None:
        program = fvp_tool(self._title).find()
        vectors = find_vectors(self._images[0]) if self._facts.vectors_parameter else None
        arguments = fvp_arguments(self._facts, self._macs, self._images, _free_port(), vectors)
        self._spawn([str(program), *arguments])
        self._console = SerialConsole(f"socket://127.0.0.1:{self._await_port()}")

    def _death(self, status: int) -> str:
        """Return the message that the FVP has ended, with any exit status."""
        limit = f"time limit {self._facts.time_limit_s} s"
        return f"{self._title} ended before the firmware's end marker ({limit})"

    def _await_port(self) -> int:
        """Return the console's port as the FVP reports it: it may differ from the requested one."""
        deadline = Deadline(_START_S, f"let {self._title} listen on its console")
        while True:
            match = _LISTENS.search(self._read_log())
            if match is not None:
                return int(match[1])
            self.check()
            deadline.check()
            time.sleep(0.02)


def choose_executable(board: Board, facts: Fvp, npu: str) -> tuple[str, int | None]:
    """Return the FVP's name and the NPU's MACs (None: its default) for an NPU, or without one."""
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
    """Return an FVP as a program to find: on PATH, or in ETHOSGEN_FVP."""
    return Tool(
        name,
        "ETHOSGEN_FVP",
        "Arm's simulation of the board",
        "download it from developer.arm.com (Arm Ecosystem FVPs), and put it on PATH",
    )


def find_vectors(elf: Path) -> int:
    """Return the address of a firmware's vector table; InputError if it has none."""
    try:
        with elf.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if section.name in _VECTORS:
                    return int(section["sh_addr"])
    except (OSError, ELFError) as error:
        raise InputError(f"'{elf}' is not a firmware: {error}") from None
    raise InputError(f"'{elf}' has no vector table, which is {' or '.join(_VECTORS)}")


def fvp_arguments(
    facts: Fvp, macs: int | None, elfs: Sequence[Path], port: int, vectors: int | None = None
) -> list[str]:
    """Return an FVP's arguments: the NPU's size, the console's port, and always a time limit.

    `vectors` is the address of the vector table, if the board file has a parameter for it.
    """
    placed = facts.vectors_parameter is not None and vectors is not None
    parameters = [
        *([f"{facts.vectors_parameter}=0x{vectors:08x}"] if placed else []),
        *([f"{facts.macs_parameter}={macs}"] if macs is not None else []),
        f"{facts.terminal}.start_telnet=0",
        f"{facts.terminal}.start_port={port}",
        f"{facts.terminal}.mode=raw",
        *facts.parameters,
    ]
    loads = [word for elf in elfs for word in ("-a", str(elf))]
    arguments = [*loads, "--timelimit", str(facts.time_limit_s)]
    for parameter in parameters:
        arguments += ["-C", parameter]
    return arguments


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
