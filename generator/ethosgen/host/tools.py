"""External programs: their search paths, and the remedy if they are missing."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ethosgen.host.package_managers import how_to_install
from ethosgen.host.termination import hold_signals
from ethosgen.values.errors import ToolError

_LOG = logging.getLogger(__name__)
_GRACE_S = 2.0


class CommandError(Exception):
    """A program that did not start, timed out or failed; `words` are its last output."""

    def __init__(self, what: str, words: str = "") -> None:
        super().__init__(what)
        self.words = words


def run_command(
    command: Sequence[str],
    limit_s: float,
    environment: Mapping[str, str] | None = None,
    standard_input: IO[bytes] | None = None,
) -> str:
    """Run a program, without a shell, and return all its output.

    Its input is the file `given`, or nothing.

    Raises CommandError, whose text gives the cause in a few words.
    """
    _LOG.info("%s", " ".join(command))
    started = None
    try:
        with hold_signals():
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL if standard_input is None else standard_input,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        output, _ = started.communicate(timeout=limit_s)
    except OSError as error:
        raise CommandError(f"cannot start '{command[0]}': {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise CommandError(f"'{command[0]}' did not end within {limit_s:g} s") from None
    finally:
        if started is not None and started.returncode is None:
            end_program(started)
    text = output.decode(errors="replace")
    _LOG.debug("%s", text)
    if started.returncode != 0:
        raise CommandError(f"'{command[0]}' ended with status {started.returncode}", text)
    return text


def end_program(started: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started: Ninja's compilers, a flash tool's server.

    On request, Ninja ends and removes its half-written files; remaining processes are killed. CMake
    ends before the Ninja that it started, so the whole group gets the same time.
    """
    if sys.platform == "win32":
        kill = ["taskkill", "/T", "/F", "/PID", str(started.pid)]
        subprocess.run(kill, capture_output=True, check=False)
    else:
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + _GRACE_S
            with suppress(ProcessLookupError):
                os.killpg(started.pid, number)
                while time.monotonic() < deadline:
                    started.poll()  # the group's first process stays in it until it is waited for
                    os.killpg(started.pid, 0)
                    time.sleep(0.01)
    started.wait()
    if started.stdout is not None:
        started.stdout.close()


def named_program(variable: str, named: str) -> Path:
    """Return the path of the program that a variable names; ToolError if there is none."""
    program = shutil.which(named)
    if program is None:
        raise ToolError(
            f"{variable} names '{named}', which is not an executable program; correct or unset it"
        )
    return Path(program)


@dataclass(frozen=True)
class Tool:
    """A program that ethosgen runs, and the variable that overrides PATH."""

    name: str
    variable: str
    purpose: str
    remedy: str = ""
    """The remedy if no package manager has it."""

    @property
    def install_command(self) -> str:
        """The command that installs it on this machine, or other advice."""
        return self.remedy or how_to_install(self.name)

    def find(self) -> Path:
        """Return the program's path.

        ToolError gives the name, the places searched, the variable that overrides them, and how to
        install the program.
        """
        override = os.environ.get(self.variable)
        if override:
            return named_program(self.variable, override)
        program = shutil.which(self.name)
        if program is None:
            how = self.remedy or f"install it with: {self.install_command}"
            raise ToolError(
                f"{self.name} ({self.purpose}) was not found on PATH "
                f"({os.environ.get('PATH', '')}); {how}; "
                f"or name it in {self.variable}"
            )
        return Path(program)


GCC = Tool(
    "arm-none-eabi-gcc",
    "ETHOSGEN_GCC",
    "the C compiler for Cortex-M",
)
CMAKE = Tool("cmake", "ETHOSGEN_CMAKE", "configures a project")
NINJA = Tool("ninja", "ETHOSGEN_NINJA", "builds a project")
CBUILD = Tool(
    "cbuild",
    "ETHOSGEN_CBUILD",
    "CMSIS-Toolbox's build command",
    "install CMSIS-Toolbox, or open firmware.csolution.yml in Keil Studio, or render the "
    "project with --platform baremetal",
)
HOST_GCC = Tool(
    "gcc",
    "ETHOSGEN_HOST_GCC",
    "compiles C of yours for this machine",
    "install it with your package manager",
)
HOST_GXX = Tool("g++", "ETHOSGEN_HOST_GXX", "compiles models in Verilog for this machine")
VERILATOR = Tool("verilator", "ETHOSGEN_VERILATOR", "compiles models in Verilog")
QEMU = Tool("qemu-system-arm", "ETHOSGEN_QEMU", "simulates the board")

LLVM_MCA = Tool("llvm-mca-19", "ETHOSGEN_LLVM_MCA", "times code on a processor")
LLVM_OBJDUMP = Tool("llvm-objdump-19", "ETHOSGEN_LLVM_OBJDUMP", "shows code as text")
"""Both of one release, whose models of processors the figures rest on."""

QEMU_USER = Tool("qemu-aarch64", "ETHOSGEN_QEMU_USER", "runs programs for 64-bit Arm Linux")
SSH = Tool("ssh", "ETHOSGEN_SSH", "runs programs on another computer")


def linux_gcc(prefix: str = "aarch64-linux-gnu") -> Tool:
    """Return the C compiler for Linux whose name begins with `prefix`."""
    return Tool(f"{prefix}-gcc", "ETHOSGEN_LINUX_GCC", "the C compiler for 64-bit Arm Linux")


def linux_gxx(prefix: str = "aarch64-linux-gnu") -> Tool:
    """Return the C++ compiler for Linux whose name begins with `prefix`."""
    return Tool(f"{prefix}-g++", "ETHOSGEN_LINUX_GXX", "the C++ compiler for 64-bit Arm Linux")


LINUX_TOOLS = (linux_gcc(), QEMU_USER)
"""Those for --platform linux alone."""
TOOLS = (GCC, CMAKE, NINJA, QEMU)
"""All of them, in the order in which a user needs them."""
