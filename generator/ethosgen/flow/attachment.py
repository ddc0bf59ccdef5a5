"""Run the user's firmware on QEMU with the NPU model."""

from collections.abc import Sequence
from pathlib import Path

from ethosgen.board import Board, load_board
from ethosgen.flow.models import attach_model
from ethosgen.host.tools import QEMU
from ethosgen.targets.attach.firmware import Attachment, FirmwareEnd, check_elf, run_attached
from ethosgen.targets.attach.npu import NO_TROUBLES, Log, Troubles
from ethosgen.values.errors import InputError

NO_NPU = "none"


def attach_firmware(
    elf: Path,
    board_name: str,
    *,
    npu: str | None = None,
    gdb_port: int | None = None,
    limit_s: float | None = None,
    more: Sequence[str] = (),
    loaded: Sequence[Path] = (),
    troubles: Troubles = NO_TROUBLES,
    log: Log,
) -> FirmwareEnd:
    """Run an ELF on stock QEMU with the NPU model until it ends; its console is the terminal.

    `loaded` are other ELFs to load, such as the non-secure firmware that a secure image starts.
    InputError for a file that is not an ELF for Arm, a board that QEMU does not run, or `troubles`
    without an NPU.
    """
    for image in (elf, *loaded):
        check_elf(image)
    board = load_board(board_name)
    _require_machine(board)
    wanted = None if npu == NO_NPU or (npu is None and board.npu is None) else npu
    accelerator = None
    if npu != NO_NPU and (board.npu is not None or npu is not None):
        accelerator = board.accelerator(wanted)
    if accelerator is None and troubles != NO_TROUBLES:
        raise InputError(
            "--npu-delay, --npu-hang, --drop-irq and --spurious-irq change what an NPU does; name "
            "one with --npu, on a board that has an NPU"
        )
    return run_attached(
        Attachment(
            QEMU.find(),
            elf,
            board,
            npu=accelerator.name if accelerator else None,
            attach=attach_model(accelerator) if accelerator else None,
            register_bytes=accelerator.register_bytes if accelerator else 0,
            gdb_port=gdb_port,
            limit_s=limit_s,
            more=more,
            loaded=loaded,
            troubles=troubles,
        ),
        log,
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
