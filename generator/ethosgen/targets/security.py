"""TrustZone on a target: a firmware's secure image, and its evidence."""

from enum import IntFlag
from pathlib import Path

from ethosgen.board import Board
from ethosgen.project.info import ProjectInfo
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, TargetError

SECURE_IMAGE = "secure.elf"
"""The file that starts a non-secure firmware, beside it in the build's folder."""


def images(elf: Path, board: Board) -> tuple[Path, ...]:
    """Return the images of a firmware, in the order in which they start."""
    return (secure_image(elf), elf) if board.is_non_secure else (elf,)


def secure_image(elf: Path) -> Path:
    """Return the secure image that starts a non-secure firmware; InputError if there is none."""
    image = elf.with_name(SECURE_IMAGE)
    if not image.is_file():
        raise InputError(
            f"there is no '{image}', which starts the non-secure firmware '{elf.name}'; build the "
            "project again with: ethosgen build"
        )
    return image


class Evidence(IntFlag):
    """The secure image's findings, as in a project's secure/veneers.h."""

    CALLER = 1 << 0
    IMAGE = 1 << 1
    GUARDED = 1 << 2
    NPU = 1 << 3
    NPU_IRQ = 1 << 4


_FOUND = {
    Evidence.CALLER: "a non-secure caller",
    Evidence.IMAGE: "non-secure code",
    Evidence.GUARDED: "that it is out of reach",
    Evidence.NPU: "a non-secure NPU",
    Evidence.NPU_IRQ: "the NPU's interrupt",
}


def expected_evidence(info: ProjectInfo) -> dict[Evidence, str]:
    """Return the evidence that the secure image must give, in words; {} for secure firmware."""
    of_npu = Evidence.NPU | Evidence.NPU_IRQ
    if not info.board.is_non_secure:
        return {}
    return {e: text for e, text in _FOUND.items() if info.npu != NO_NPU or e not in of_npu}


def check_security(evidence: int, info: ProjectInfo) -> None:
    """Raise TargetError unless the secure image of a non-secure firmware confirms everything."""
    missing = [text for e, text in expected_evidence(info).items() if e not in Evidence(evidence)]
    if missing:
        raise TargetError(
            "the firmware does not run as its project requires: its secure image does not confirm "
            f"{', '.join(missing)}; see secure/trustzone.c"
        )
