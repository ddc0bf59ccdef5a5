"""A program for Linux: with QEMU's user mode on this machine, or over ssh on a computer.

Its console is its standard input and output.
"""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from signal import Signals
from typing import IO

from ethosgen.board import Board
from ethosgen.device.process import DeviceProcesses, SharedFile
from ethosgen.host.tools import QEMU_USER, SSH, CommandError, linux_gcc, run_command
from ethosgen.targets.native import Pipes
from ethosgen.targets.process import ProcessTarget
from ethosgen.values.device import Device
from ethosgen.values.errors import InputError, TargetError, ToolError

_COPY_S = 120.0
"""Time limit in seconds for a program's way to another computer."""
_REMOVAL_S = 30.0
"""Time limit in seconds for the program to end there, and for its folder to be removed."""
_QUESTION_S = 30.0
_SIGNAL_STATUS = 128
"""A shell adds it to the number of the signal that ended a program."""
_C_LIBRARY = "libc.so.6"
_SAID_CHARACTERS = 500
DEVICE_VARIABLE = "ETHOSGEN_DEVICE_"
"""The beginning of the variables that tell a program where its devices are."""
_BUS_ADDR = 0x8000_0000
"""Where the devices' models see the shared file: registers first, then the program's data."""
_SHARED_BYTES = 256 << 20
"""The most data of a program; the file has no more than is used."""
_BATCH = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")
"""ssh asks nobody for a password: the session has its standard input."""


class PipedTarget(ProcessTarget):
    """A program whose console is its standard input and output."""

    def _death(self, status: int) -> str:
        """Return the message that the program has ended; a crash shows as a signal."""
        number = -status if status < 0 else status - _SIGNAL_STATUS
        try:
            return f"{self._title}: the program was ended by {Signals(number).name}"
        except ValueError:
            return super()._death(status)

    def _start(self, command: list[str], variables: Mapping[str, str] | None = None) -> None:
        environment = os.environ | (variables or {})
        process = self._spawn(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        if process.stdin is not None and process.stdout is not None:
            self._console = Pipes(process.stdin, process.stdout)


class QemuUserTarget(PipedTarget):
    """A program on QEMU's user mode, from entering the context to leaving it."""

    def __init__(self, program: Path, board: Board, devices: Sequence[Device] = ()) -> None:
        super().__init__(QEMU_USER.name)
        self._program = program
        self._board = board
        self._devices = devices
        self._models = DeviceProcesses()
        self._file: IO[bytes] | None = None
        self._handle: int | None = None
        """The devices' memory, which outlives the file's name."""

    @property
    def last_fault(self) -> Exception | None:
        """The fault that ended a device's model, None if there was none."""
        return self._models.fault

    def check(self) -> None:
        """Raise TargetError with the program's output if it has ended, or a model's fault."""
        self._models.check()
        super().check()

    def device_notes(self, is_late: bool) -> str:
        """Return the models that hang, if a call is late, and the registers that devices show."""
        registers = (
            []
            if self._handle is None
            else [
                (device, os.pread(self._handle, device.register_bytes, offset))
                for device, offset in zip(self._devices, self._offsets(), strict=True)
            ]
        )
        return self._models.explain(is_late, registers)

    def _offsets(self) -> list[int]:
        """Return the offset of each device's registers in the file."""
        return list(accumulate((d.page_bytes for d in self._devices[:-1]), initial=0))

    def wait_for_exit(self) -> int | None:
        """Return the firmware's exit status; DeviceFault if a model never raised its interrupt."""
        self._models.check_interrupts()
        return super().wait_for_exit()

    def settle(self) -> None:
        """Delete the file that the program has mapped."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def close(self) -> None:
        """End the program and the models."""
        super().close()
        self._models.stop()
        self.settle()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open(self) -> None:
        libraries = find_sysroot(self._board)
        place = ["-L", str(libraries)] if libraries else []
        command = [str(QEMU_USER.find()), *place, str(self._program)]
        if not self._devices:
            self._start(command)
            return
        self._file = tempfile.NamedTemporaryFile(prefix="ethosgen-")  # noqa: SIM115 - see settle
        self._handle = os.dup(self._file.fileno())
        self._start(command, self._start_models(self._handle, Path(self._file.name)))

    def _start_models(self, handle: int, path: Path) -> dict[str, str]:
        """Start the models; return the variables that tell the program where the devices are."""
        pages = [device.page_bytes for device in self._devices]
        memory, size = sum(pages), sum(pages) + _SHARED_BYTES
        os.ftruncate(handle, size)
        shared = SharedFile(handle, 0, size, _BUS_ADDR)
        part = ("memory", _BUS_ADDR + memory, _SHARED_BYTES, True)
        variables = {
            f"{DEVICE_VARIABLE}MEMORY": f"{path}@{memory:#x}:{part[1]:#x}:{_SHARED_BYTES:#x}"
        }
        for device, offset in zip(self._devices, self._offsets(), strict=True):
            variables[f"{DEVICE_VARIABLE}{device.c_name.upper()}"] = f"{path}@{offset:#x}"
            self._models.start(device, shared, _BUS_ADDR + offset, [part])
        return variables


def find_sysroot(board: Board) -> Path | None:
    """Return the folder whose lib/ has the cross compiler's C library, None without a compiler.

    Only a program that is not static needs it.
    """
    assert board.linux is not None
    try:
        gcc = linux_gcc(board.linux.compiler).find()
        output = run_command([str(gcc), f"-print-file-name={_C_LIBRARY}"], _QUESTION_S).strip()
    except (ToolError, CommandError):
        return None
    return None if output == _C_LIBRARY else Path(output).resolve().parent.parent


@dataclass(frozen=True)
class SshHost:
    """A computer that ssh reaches: its address for ssh."""

    address: str

    def __post_init__(self) -> None:
        if not self.address or self.address.startswith("-"):
            raise InputError(f"'{self.address}' is not a host; name it as --host USER@HOST")


class SshTarget(PipedTarget):
    """A program on another computer, from entering the context to leaving it.

    It is copied to a new folder there, which is removed when it ends.
    """

    def __init__(self, program: Path, host: object) -> None:
        super().__init__("ssh")
        if not isinstance(host, SshHost):
            raise InputError("where is the computer? name it with --host, e.g. --host pi@10.0.0.7")
        self._program = program
        self._ssh = (*_BATCH, "--", host.address)
        self._address = host.address

    def wait_for_exit(self) -> int | None:
        """Return the program's exit status, None if it has not exited in time."""
        return self._wait(_REMOVAL_S)

    def _open(self) -> None:
        ssh = str(SSH.find())
        folder = self._copy(ssh)
        place = shlex.quote(folder)
        # The folder is removed however the program ends: it ends at the latest with our pipe.
        words = (
            f"{name}={shlex.quote(value)}"
            for name, value in sorted(os.environ.items())
            if name.startswith(DEVICE_VARIABLE)
        )
        script = f"trap 'rm -rf {place}' EXIT; {' '.join([*words, place])}/{self._program.name}"
        self._start([ssh, *self._ssh, script])

    def _copy(self, ssh: str) -> str:
        """Copy the program to a new folder there, and return that."""
        name = shlex.quote(self._program.name)
        script = f'd=$(mktemp -d) && cat > "$d"/{name} && chmod 700 "$d"/{name} && echo "$d"'
        try:
            with self._program.open("rb") as program:
                output = run_command([ssh, *self._ssh, script], _COPY_S, standard_input=program)
        except CommandError as error:
            words = error.words.strip()[-_SAID_CHARACTERS:]
            raise TargetError(
                f"cannot copy the program to '{self._address}': {error}"
                f"{': ' if words else ''}{words}"
            ) from None
        folder = output.strip().splitlines()[-1:]  # a login may print its own words first
        if not folder or not folder[0].startswith("/"):
            raise TargetError(
                f"'{self._address}' did not say where the program is: {output.strip()}"
            )
        return folder[0]
