"""Models of hardware that a run needs besides its target: the NPU's, and users' devices'."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ethosgen.backend import (
    backends,
    default_accelerator,
    find_accelerator,
    load_wrapped,
    require_simulator,
    simulation_of,
)
from ethosgen.backend.protocol import Attach
from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.device import Device, unite
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown

if TYPE_CHECKING:
    from ethosgen.board import Board
    from ethosgen.project.info import ProjectInfo


def devices_of(info: "ProjectInfo", on: str) -> tuple[Device, ...]:
    """Return the devices of users' accelerators; InputError for a target without them."""
    return require_models(info.accelerators, info.board, on)


def require_models(
    accelerators: Sequence[Path | str], board: "Board", on: str
) -> tuple[Device, ...]:
    """Return the accelerators' devices; InputError for a target without them."""
    devices = united_devices(accelerators)
    if reason := _why_not(devices, board, on):
        raise InputError(reason)
    return devices


def target_for(info: "ProjectInfo") -> str:
    """Return the first target that runs the project's board and has its devices."""
    from ethosgen.targets import targets_of

    devices = united_devices(info.accelerators)
    return next(on for on in targets_of(info.board) if _why_not(devices, info.board, on) is None)


def united_devices(accelerators: Sequence[Path | str]) -> tuple[Device, ...]:
    """Return the devices of users' accelerators, each once."""
    return unite([each for folder in accelerators for each in load_wrapped(str(folder)).devices])


def _why_not(devices: Sequence[Device], board: "Board", on: str) -> str | None:
    """Return why a target does not have these devices, None if it does."""
    from ethosgen.board import attaches_models, boards_with_models  # a worker does not need them

    if devices and on == "fvp":
        return (
            f"Arm's FVP has no device '{devices[0].name}': run it on QEMU with --on qemu, or on "
            "the board with --on serial"
        )
    if devices and on == "qemu" and not attaches_models(board):
        return (
            f"QEMU cannot attach the model of device '{devices[0].name}' on {board.name}: use "
            f"one of {boards_with_models()}, or run it on the board with --on serial"
        )
    return None


def simulator_for(info: "ProjectInfo", on: str) -> Attach | None:
    """Return a function that attaches the functional model, None without NPU or on a real one."""
    from ethosgen.targets import require_target

    if info.npu == NO_NPU or require_target(on).has_own_npu:
        return None
    return attach_model(find_accelerator(info.npu))


def attach_model(accelerator: Accelerator) -> Attach:
    """Return a function that attaches the NPU model to a target's register page.

    UnsupportedError if the model does not support this NPU, or its registers.
    """
    require_simulator(accelerator)
    return simulation_of(accelerator).attach(accelerator)


def serve_npu(name: str | None, requests: BinaryIO, answers: BinaryIO) -> None:
    """Run a backend's simulator for a Zephyr application on native_sim, until the application ends.

    Older applications do not name the backend; InputError for an unknown one.
    """
    known = {backend.name: backend for backend in backends()}
    chosen = default_accelerator().family if name is None else name
    if chosen not in known:
        raise InputError(unknown("backend", chosen, known))
    known[chosen].serve(requests, answers)
