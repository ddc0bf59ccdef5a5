"""Models of hardware that a project's run needs beside a target: the NPU's, and users' devices'."""

from typing import TYPE_CHECKING

from ethosgen.backend import find_accelerator, load_wrapped
from ethosgen.flow.npu_model import attach_model
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.device import Device, unite
from ethosgen.values.errors import InputError

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo
    from ethosgen.targets import Attach


def devices_of(info: "ProjectInfo", on: str) -> tuple[Device, ...]:
    """Return the devices of users' accelerators; InputError for a target without them."""
    from ethosgen.board import attaches_models, boards_with_models  # a worker does not need them

    found = [load_wrapped(str(folder)).device for folder in info.accelerators]
    devices = unite([device for device in found if device is not None])
    if devices and on == "fvp":
        raise InputError(
            f"Arm's FVP has no device '{devices[0].name}': run it on QEMU with --on qemu, or on "
            "the board with --on serial"
        )
    if devices and on == "qemu" and not attaches_models(info.board):
        raise InputError(
            f"QEMU cannot attach the model of device '{devices[0].name}' on {info.board.name}: use "
            f"one of {boards_with_models()}, or run it on the board with --on serial"
        )
    return devices


def simulator_for(info: "ProjectInfo", on: str) -> "Attach | None":
    """Return a function that attaches the functional model, None without NPU or on a real one."""
    from ethosgen.targets import require_target

    if info.npu == NO_NPU or require_target(on).has_own_npu:
        return None
    return attach_model(find_accelerator(info.npu))
