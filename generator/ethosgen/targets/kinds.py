"""The kinds of targets, a value of --on each; to add one, register it in TARGETS."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from ethosgen import plugins
from ethosgen.backend.protocol import Attach
from ethosgen.board import Board
from ethosgen.host.tools import QEMU
from ethosgen.platforms import ZEPHYR
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.buffers import PortIndex
from ethosgen.targets.console import Console
from ethosgen.targets.fvp import FvpTarget
from ethosgen.targets.linux import QemuUserTarget, SshHost, SshTarget
from ethosgen.targets.native import NativeTarget
from ethosgen.targets.qemu import QemuTarget
from ethosgen.targets.serial_port import SerialLine, SerialTarget
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

if TYPE_CHECKING:
    from ethosgen.cycles.inference import InferenceCounter


class Target(Protocol):
    """Runs a firmware: starts it on entering the context, ends it and cleans up on leaving."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_error: object) -> None: ...

    @property
    def console(self) -> Console:
        """The connection to the firmware."""

    @property
    def last_fault(self) -> Exception | None:
        """The fault at which the NPU model stopped, None if it did not, or if the NPU is real."""

    def device_notes(self, is_late: bool) -> str:
        """Return notes on devices for a failed call: hung models if it is late, registers."""

    def check(self) -> None:
        """Raise TargetError, with the target's own output, if the target has died."""

    def settle(self) -> None:
        """Record that the firmware has answered, so it is completely loaded."""

    def buffer(self, place: PortIndex) -> np.ndarray[Any, np.dtype[np.uint8]] | None:
        """Return the firmware's buffer of an input or output; None to use the console."""

    def wait_for_exit(self) -> int | None:
        """Return the firmware's exit status, None if it does not exit."""


Line = SerialLine | SshHost
"""The connection to a board."""


@dataclass(frozen=True)
class Firmware:
    """The data that a target needs: the ELF, its project, the NPU model, the line to a board.

    `counter` counts cycles on QEMU.
    """

    elf: Path
    info: ProjectInfo
    attach: Attach | None = None
    line: Line | None = None
    cache_seed: int | None = None
    counter: "InferenceCounter | None" = None


@dataclass(frozen=True)
class TargetKind:
    """A kind of target: how a firmware is built for it, started on it, and measured.

    `start` creates a target for a firmware. `variant` names the build: "board" as for the board
    itself. `counts_instructions` is false if the firmware's counter measures time, `has_clock` if
    it stops while a network runs. `can_run` tells whether it runs a board's firmware, `platform`
    names the only one that it runs.
    """

    start: Callable[[Firmware], Target]
    variant: str = "board"
    counts_instructions: bool = False
    has_clock: bool = True
    can_run: Callable[[Board], bool] = lambda _board: True
    platform: str | None = None

    @property
    def has_own_npu(self) -> bool:
        """Return whether the target has an NPU; otherwise it needs our model."""
        return self.variant == "board"


def _start_qemu(firmware: Firmware) -> Target:
    info = firmware.info
    if info.board.linux is not None:
        return QemuUserTarget(firmware.elf, info.board, info.devices)
    board = info.board.on_qemu or info.board
    return QemuTarget(
        QEMU.find(),
        firmware.elf,
        board,
        firmware.attach,
        info,
        firmware.cache_seed,
        options=firmware.counter.arguments() if firmware.counter else (),
    )


TARGETS: MutableMapping[str, TargetKind] = plugins.Registry(
    plugins.TARGETS,
    {
        "qemu": TargetKind(
            _start_qemu,
            variant="qemu",
            counts_instructions=True,
            can_run=lambda board: board.on_qemu is not None or board.linux is not None,
        ),
        "fvp": TargetKind(
            lambda firmware: FvpTarget(firmware.elf, firmware.info.board, firmware.info.npu),
            can_run=lambda board: board.run.fvp is not None,
        ),
        "ssh": TargetKind(
            lambda firmware: SshTarget(firmware.elf, firmware.line),
            can_run=lambda board: board.linux is not None,
        ),
        "serial": TargetKind(lambda firmware: SerialTarget(firmware.info.board, firmware.line)),
        "native": TargetKind(
            lambda firmware: NativeTarget(firmware.elf),
            variant="native",
            has_clock=False,
            platform=ZEPHYR,
        ),
    },
)
"""The targets of `run`, by name; a board's default is the first that runs it."""


def require_target(name: str) -> TargetKind:
    """Return the kind of target with that name; InputError lists the known names."""
    if name not in TARGETS:
        raise InputError(unknown("target", name, TARGETS))
    return TARGETS[name]


def targets_of(board: Board) -> list[str]:
    """Return the targets that run a board's firmware on any platform, the default first."""
    return [name for name, kind in TARGETS.items() if kind.platform is None and kind.can_run(board)]


def default_target(board: Board) -> str:
    """Return the default of --on: QEMU if it has the board, else an FVP, else the board itself."""
    return targets_of(board)[0]
