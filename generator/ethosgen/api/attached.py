"""Any firmware on QEMU with the NPU model, its console recorded."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ethosgen.targets.attach.npu import Inference


@dataclass(frozen=True)
class AttachedRun:
    """How a firmware ended.

    `status` is its semihosting exit status. `console` is what it wrote to its UART and by
    semihosting. `inferences` are the NPU model's work for each start of the NPU. `lockup` says
    where the processor locked up, None if it did not.
    """

    status: int
    console: str
    inferences: tuple["Inference", ...]
    lockup: str | None


def attach(
    elf: str | os.PathLike[str],
    *,
    board: str,
    npu: str | None = None,
    loaded: Sequence[str | os.PathLike[str]] = (),
    gdb_port: int | None = None,
    limit_s: float | None = None,
    delay_ms: float = 0.0,
    hang: int | None = None,
    drop_irq: int | None = None,
    spurious_ms: float | None = None,
    more: Sequence[str] = (),
    announce: Callable[["Inference"], None] | None = None,
) -> AttachedRun:
    """Run any firmware on stock QEMU with the NPU model until it ends: `ethosgen attach`.

    InputError for a file that is no firmware, or a board that QEMU does not run; TargetError if the
    firmware does not end in time.

    Args:
        elf: the firmware, linked for the board.
        board: a board's name, such as "corstone300".
        npu: the NPU, or "none" for QEMU alone; by default the board's.
        loaded: other ELFs to load, such as the non-secure firmware of a secure image.
        gdb_port: wait at reset for a GDB on this TCP port of this machine.
        limit_s: the time in seconds after which the firmware must have ended; by default none.
        delay_ms: let each inference of the NPU end so many milliseconds after its start.
        hang: never end inference number `hang` (from 1) of the NPU.
        drop_irq: lose the interrupt at the end of inference number `drop_irq`.
        spurious_ms: raise the NPU's interrupt without a cause every so many milliseconds.
        more: further options for QEMU.
        announce: receives each inference when it ends, such as `print`.
    """
    from ethosgen.flow.attachment import attach_recorded
    from ethosgen.targets.attach.npu import Troubles

    inferences: list[Inference] = []

    def log(inference: "Inference") -> None:
        inferences.append(inference)
        if announce is not None:
            announce(inference)

    end, console = attach_recorded(
        Path(elf),
        board,
        npu=npu,
        gdb_port=gdb_port,
        limit_s=limit_s,
        more=more,
        loaded=[Path(each) for each in loaded],
        troubles=Troubles.of_ms(delay_ms, hang, drop_irq, spurious_ms),
        log=log,
    )
    return AttachedRun(end.status, console, tuple(inferences), end.lockup)
