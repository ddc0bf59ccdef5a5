"""Targets: they run a firmware and have a console.

target (QEMU, an FVP, a board) ── console ── session ── inputs there, outputs back

The names below are imported on first use, because the programs with the FVPs' names start often,
and need only `attach`.
"""

from typing import TYPE_CHECKING

from ethosgen.backend.protocol import Attach, NpuModel, SharedMemory
from ethosgen.late_names import imported_on_use

if TYPE_CHECKING:
    from ethosgen.targets.kinds import (
        TARGETS,
        Firmware,
        Line,
        Target,
        TargetKind,
        default_target,
        require_target,
        targets_of,
    )
    from ethosgen.targets.linux import SshHost
    from ethosgen.targets.runs import check_hello, run, running, status_name
    from ethosgen.targets.security import expected_evidence, images, secure_image
    from ethosgen.targets.serial_port import SerialLine

__all__ = [
    "TARGETS",
    "Attach",
    "Firmware",
    "Line",
    "NpuModel",
    "SerialLine",
    "SharedMemory",
    "SshHost",
    "Target",
    "TargetKind",
    "check_hello",
    "default_target",
    "expected_evidence",
    "images",
    "require_target",
    "run",
    "running",
    "secure_image",
    "status_name",
    "targets_of",
]

_NAMES_OF = {
    "kinds": (
        "TARGETS",
        "Firmware",
        "Line",
        "Target",
        "TargetKind",
        "default_target",
        "require_target",
        "targets_of",
    ),
    "linux": ("SshHost",),
    "runs": ("check_hello", "run", "running", "status_name"),
    "security": ("expected_evidence", "images", "secure_image"),
    "serial_port": ("SerialLine",),
}

if not TYPE_CHECKING:  # mypy would accept any name
    __getattr__ = imported_on_use(__name__, _NAMES_OF)


def __dir__() -> list[str]:
    return sorted(__all__)
