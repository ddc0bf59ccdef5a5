"""A simulation: the firmware on QEMU with the NPU model, until something ends it."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import click

from ethosgen.backend import find_accelerator
from ethosgen.flow.models import attach_model
from ethosgen.host.tools import QEMU
from ethosgen.targets.attach.connections import Connections, SavedMemory, Semihosting
from ethosgen.targets.attach.firmware import Attachment, FirmwareEnd, check_elf, run_attached
from ethosgen.targets.attach.monitor import Monitor
from ethosgen.targets.attach.npu import Inference
from ethosgen.targets.qemu_files import loader_arguments
from ethosgen.values.errors import InputError, TargetError
from ethosgen_fvp.command_line import CommandLine, tell
from ethosgen_fvp.machine import (
    CLOCK_ARGUMENTS,
    added_arguments,
    board_on_qemu,
    require_memories,
    simulated_seconds,
)
from ethosgen_fvp.parameters import ParameterValues
from ethosgen_fvp.platforms import FixedPlatform
from ethosgen_fvp.uarts import STDOUT, UartLine, UartLines, listening, open_lines

_TIME_LIMIT = "CPU time has been exceeded."
_SIMULATED_LIMIT = "Simulated time has been exceeded."
_LOOK_S = 0.5
"""How often the simulated time is looked at, in seconds of this machine's."""
_LOCKED_UP = 1
"""The exit status of a firmware that an FVP would let hang."""


class SimulationStop(Exception):  # noqa: N818 - not an error: the simulation is over
    """The simulation is over: `reason` is the limit that was reached, "" if none."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def simulate(platform: FixedPlatform, line: CommandLine) -> int:
    """Run a command line's firmware until it ends; return the exit status.

    It is 0 whatever ends the simulation; with semihosting, it is the firmware's exit status.
    """
    values = ParameterValues(platform, line.parameters)
    _name_ignored(line, values)
    with ExitStack() as stack:
        lines = open_lines(values, stack)
        semihosting = UartLine(output=STDOUT)
        for end in (semihosting.near, semihosting.far):
            stack.callback(end.close)
        served = UartLines([*lines.values(), semihosting])
        if not line.is_quiet:
            _print(*listening(lines, values), "")
        attachment = _attachment(platform, line, values, stack)
        around = Connections(
            lines={number: uart.far for number, uart in lines.items()},
            semihosting=_semihosting(values, semihosting),
            folder=_folder(values),
            supervise=_Supervisor(served, line).check,
            vectors=values.vectors(),
            saved=tuple(_saved(attachment, line)),
        )
        served.start()
        started = time.monotonic()
        try:
            status = _end(run_attached(replace(attachment, connections=around), _report_fault))
            served.drain()
        except SimulationStop as stop:
            status = 0
            served.drain()
            if stop.reason:
                _print("", f"Info: Simulation is stopping. Reason: {stop.reason}")
    if not line.is_quiet:
        _print("", "Info: /OSCI/SystemC: Simulation stopped by user.")
    if line.has_statistics:
        _print(*_statistics(time.monotonic() - started))
    return status


class _Supervisor:
    """Ends a simulation by its UARTs and its limits."""

    def __init__(self, lines: UartLines, line: CommandLine) -> None:
        self._lines = lines
        self._limit_s = line.simulated_limit_s
        limit_s = line.time_limit_s
        self._ends_s = None if limit_s is None else time.monotonic() + limit_s
        self._looks_s = 0.0

    def check(self, monitor: Monitor) -> None:
        """Raise SimulationStop if it is over."""
        now_s = time.monotonic()
        if self._lines.have_ended:
            raise SimulationStop
        if self._ends_s is not None and now_s > self._ends_s:
            raise SimulationStop(_TIME_LIMIT)
        if self._limit_s is not None and now_s > self._looks_s:
            self._looks_s = now_s + _LOOK_S
            if simulated_seconds(monitor) >= self._limit_s:
                raise SimulationStop(_SIMULATED_LIMIT)


def _attachment(
    platform: FixedPlatform, line: CommandLine, values: ParameterValues, stack: ExitStack
) -> Attachment:
    """Return the firmware with its NPU and its files."""
    if not line.applications:
        raise InputError(f"no firmware; pass it with -a FILE ({platform.name} --help)")
    images = [path.resolve() for path in line.applications]
    for image in images:
        check_elf(image)
        require_memories(platform, image)
    data = {}
    for file, addr in line.data:
        if not file.is_file():
            raise InputError(f"--data: cannot read '{file}'")
        data[addr] = file.resolve()
    accelerator = find_accelerator(platform.npu(values.macs()))
    return Attachment(
        QEMU.find(),
        images[0],
        board_on_qemu(platform),
        npu=accelerator.name,
        attach=attach_model(accelerator),
        register_bytes=accelerator.register_bytes,
        loaded=images[1:],
        more=[*loader_arguments(data), *CLOCK_ARGUMENTS, *added_arguments(platform)],
    )


def _saved(attachment: Attachment, line: CommandLine) -> Iterator[SavedMemory]:
    """Yield the parts of the memory to save; InputError for one outside the external memory."""
    facts = attachment.board.run.qemu
    assert facts is not None and facts.shared is not None
    start, end = facts.shared.shared_start_addr, facts.shared.shared_end_addr
    for file, addr, size in line.dumps:
        if not start <= addr < addr + size <= end:
            raise InputError(
                f"--dump {file}: only memory from 0x{start:08x} to 0x{end - 1:08x} can be saved"
            )
        yield SavedMemory(file.resolve(), addr, size)


def _semihosting(values: ParameterValues, line: UartLine) -> Semihosting:
    if not values.has_semihosting():
        line.far.close()
        return Semihosting(is_enabled=False)
    command_line = values.processor("semihosting-cmd_line")
    return Semihosting(True, command_line, line.far, values.heap())


def _folder(values: ParameterValues) -> Path | None:
    """Return the folder of semihosting's file names."""
    name = values.processor("semihosting-cwd")
    if name and not Path(name).is_dir():
        raise InputError(f"semihosting-cwd: '{name}' is not a folder")
    return Path(name) if name else None


def _end(end: FirmwareEnd) -> int:
    """Return the exit status of a firmware that has ended by semihosting, or has locked up."""
    if end.lockup:
        tell(f"{end.lockup}; was it linked for this board?")
        return _LOCKED_UP
    if end.status < 0:
        raise TargetError(f"QEMU was ended by signal {-end.status}, and printed why")
    return end.status


def _report_fault(inference: Inference) -> None:
    if inference.fault:
        tell(f"{inference.npu}, inference {inference.number}: fault: {inference.fault}")


def _name_ignored(line: CommandLine, values: ParameterValues) -> None:
    """Name on stderr the requests that were ignored."""
    for name in values.unknown():
        tell(f"-C {name} is ignored: there is no such parameter here")
    for option in line.ignored:
        tell(f"{option} is ignored")
    arguments = [word for word in values.npu("extra_args").split() if word != "--fast"]
    if arguments:
        tell(f"ethosu.extra_args: {' '.join(arguments)} is ignored: it is Arm's model's")


def _statistics(wall_s: float) -> list[str]:
    """Return times, as the FVPs print them; QEMU's processor time is in that of the children."""
    times = os.times()
    rows = {
        "User time": times.user + times.children_user,
        "System time": times.system + times.children_system,
        "Wall time": wall_s,
    }
    title = "--- simulation statistics: "
    lines = [f"{name:<40}: {seconds:.6f}s" for name, seconds in rows.items()]
    return ["", title + "-" * (79 - len(title)), *lines, "-" * 79]


def _print(*lines: str) -> None:
    """Print lines on stdout, as the FVPs do."""
    click.echo("\n".join(lines))
