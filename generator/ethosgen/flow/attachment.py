"""Run the user's firmware on QEMU with the NPU model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from ethosgen.board import Board, load_board
from ethosgen.flow.models import attach_model
from ethosgen.host.tools import QEMU
from ethosgen.targets.attach.firmware import Attachment, FirmwareEnd, check_elf, run_attached
from ethosgen.targets.attach.npu import NO_TROUBLES, Log, Troubles
from ethosgen.targets.attach.recording import RecordedConsole
from ethosgen.values.errors import InputError

NO_NPU = "none"


class AttachOptions(TypedDict, total=False):
    """Choices for a firmware's run.

    `npu` is "none" for QEMU alone, None for the board's. `loaded` are other ELFs to load, such as
    the non-secure firmware that a secure image starts. `more` are options for QEMU.
    """

    npu: str | None
    gdb_port: int | None
    limit_s: float | None
    more: Sequence[str]
    loaded: Sequence[Path]
    troubles: Troubles


def attach_firmware(
    elf: Path, board_name: str, *, log: Log, **options: Unpack[AttachOptions]
) -> FirmwareEnd:
    """Run an ELF on stock QEMU with the NPU model until it ends; its console is the terminal.

    InputError for a file that is not an ELF for Arm, a board that QEMU does not run, or troubles
    without an NPU.
    """
    return run_attached(_attachment(elf, board_name, options), log)


def attach_recorded(
    elf: Path, board_name: str, *, log: Log, **options: Unpack[AttachOptions]
) -> tuple[FirmwareEnd, str]:
    """Run an ELF as attach_firmware() does; also return its console's text."""
    attachment = _attachment(elf, board_name, options)
    qemu = attachment.board.run.qemu
    assert qemu is not None
    with RecordedConsole(qemu.serial) as console:
        end = run_attached(replace(attachment, connections=console.connections), log)
    return end, console.text


def _attachment(elf: Path, board_name: str, options: AttachOptions) -> Attachment:
    npu, troubles = options.get("npu"), options.get("troubles", NO_TROUBLES)
    loaded = options.get("loaded", ())
    for image in (elf, *loaded):
        check_elf(image)
    board = load_board(board_name)
    _require_machine(board)
    accelerator = None
    if npu != NO_NPU and (board.npu is not None or npu is not None):
        accelerator = board.accelerator(npu)
    if accelerator is None and troubles != NO_TROUBLES:
        raise InputError(
            "--npu-delay, --npu-hang, --drop-irq and --spurious-irq change what an NPU does; name "
            "one with --npu, on a board that has an NPU"
        )
    return Attachment(
        QEMU.find(),
        elf,
        board,
        npu=accelerator.name if accelerator else None,
        attach=attach_model(accelerator) if accelerator else None,
        register_bytes=accelerator.register_bytes if accelerator else 0,
        gdb_port=options.get("gdb_port"),
        limit_s=options.get("limit_s"),
        more=options.get("more", ()),
        loaded=loaded,
        troubles=troubles,
    )


def _require_machine(board: Board) -> None:
    """Raise InputError for a board that QEMU does not run itself.

    A stand-in has other addresses, so firmware that was linked for the board does not run there.
    """
    if board.run.qemu is None:
        other = f"; link the firmware for '{board.run.stand_in}'" if board.run.stand_in else ""
        raise InputError(
            f"QEMU has no machine with the memories of board '{board.name}'{other}; 'ethosgen "
            "boards' lists what runs on QEMU"
        )
