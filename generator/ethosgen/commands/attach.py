"""`ethosgen attach`: run the user's firmware on QEMU with the NPU model."""

import json
import signal
import sys
from pathlib import Path
from typing import IO, Any

import click

from ethosgen.commands import completion
from ethosgen.commands.help import GroupedCommand
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted


@click.command(cls=GroupedCommand, short_help="Run any firmware on stock QEMU with the NPU model")
@click.option(
    "--elf",
    required=True,
    metavar="APP.elf",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The firmware, linked for the board.",
)
@click.option(
    "--load",
    "loaded",
    metavar="OTHER.elf",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Another ELF to load, e.g. the non-secure firmware of a secure image. Repeatable.",
)
@click.option(
    "--board",
    shell_complete=completion.boards,
    required=True,
    metavar="BOARD",
    help="Board name, e.g. corstone300.",
)
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u55-128, or none for QEMU alone [default: the board's].",
)
@click.option(
    "--gdb",
    "gdb_port",
    metavar="PORT",
    type=click.IntRange(1, 65535),
    help="Wait at reset for a GDB on this TCP port of this machine.",
)
@click.option(
    "--timeout",
    "limit_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Fail if the firmware has not ended after this time [default: wait forever].",
)
@click.option(
    "--log",
    "log_path",
    metavar="FILE.jsonl",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write each inference as a line of JSON. The file must not exist.",
)
@click.option(
    "--npu-delay",
    "delay_ms",
    metavar="MS",
    type=click.FloatRange(min=0, min_open=True),
    help="Let each inference of the NPU end MS milliseconds after its start [default: "
    "immediately].",
)
@click.option(
    "--npu-hang",
    "hang",
    metavar="N",
    type=click.IntRange(min=1),
    help="Never end inference number N (from 1) of the NPU.",
)
@click.option(
    "--drop-irq",
    "drop_irq",
    metavar="N",
    type=click.IntRange(min=1),
    help="Lose the interrupt at the end of inference number N.",
)
@click.option(
    "--spurious-irq",
    "spurious_ms",
    metavar="MS",
    type=click.FloatRange(min=0, min_open=True),
    help="Raise the NPU's interrupt without a cause every MS milliseconds.",
)
@click.argument("more", nargs=-1, metavar="[-- QEMU_OPTION]...")
def attach(
    elf: Path,
    loaded: tuple[Path, ...],
    board: str,
    npu: str | None,
    gdb_port: int | None,
    limit_s: float | None,
    log_path: Path | None,
    delay_ms: float | None,
    hang: int | None,
    drop_irq: int | None,
    spurious_ms: float | None,
    more: tuple[str, ...],
) -> None:
    """Run any firmware on stock QEMU with the NPU model.

    Use the firmware that you built for the board, with any NPU driver, any RTOS and any linker
    script. Its console is this terminal, and its semihosting exit status is the command's. It
    reports each inference of the NPU on stderr.

    \b
    ethosgen attach --elf app.elf --board corstone300
    ethosgen attach --elf app.elf --board corstone300 --gdb 1234
        arm-none-eabi-gdb app.elf -ex "target remote :1234"
    """
    from ethosgen.flow.attachment import attach_firmware
    from ethosgen.targets.attach.npu import Troubles

    troubles = Troubles.of_ms(delay_ms or 0.0, hang, drop_irq, spurious_ms)
    file = _open(log_path) if log_path else None

    def report(inference: Any) -> None:
        click.echo(_line(inference), err=True)
        if file is not None:
            file.write(json.dumps(inference.as_json()) + "\n")
            file.flush()

    if gdb_port is not None:
        connect = f'arm-none-eabi-gdb {elf} -ex "target remote :{gdb_port}"'
        click.echo(f"waiting for GDB: {connect}", err=True)
    try:
        end = attach_firmware(
            elf,
            board,
            npu=npu,
            gdb_port=gdb_port,
            limit_s=limit_s,
            more=more,
            loaded=loaded,
            troubles=troubles,
            log=report,
        )
    finally:
        if file is not None:
            file.close()
    _tell_end(end)
    sys.exit(end.status)


def _tell_end(end: Any) -> None:
    after = f" after {counted(end.inferences, 'inference')} of the NPU" if end.inferences else ""
    click.echo(f"the firmware ended with status {end.status}{after}", err=True)
    if end.lockup:
        click.echo(f"{end.lockup}; was it linked for the board?", err=True)
    elif end.status == -signal.SIGABRT:
        click.echo("QEMU gave up, and printed why", err=True)


def _open(path: Path) -> IO[str]:
    try:
        return path.open("x")
    except FileExistsError:
        raise InputError(f"'{path}' exists; pass another --log, or delete it") from None
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror}") from None


def _line(inference: Any) -> str:
    """Return the line for an inference."""
    size = counted(inference.stream_bytes, "byte")
    what = f"{size} of commands at 0x{inference.stream_addr:08x}"
    cycles = counted(inference.cycles, "cycle")
    done = (
        f"fault: {inference.fault}"
        if inference.fault
        else f"{counted(inference.operations, 'operation')}, {cycles} (estimate)"
    )
    return f"{inference.npu}, inference {inference.number}: {what}, {done}"
