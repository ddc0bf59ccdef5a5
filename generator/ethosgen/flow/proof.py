"""A build's proofs about its firmware: the stack that it needs, and its memory."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.platforms import find_platform
from ethosgen.values.errors import BuildError
from ethosgen.values.watch import Watch

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo
    from ethosgen.proof.stack import StackBound
    from ethosgen.toolchain import Built


def prove(info: "ProjectInfo", built: "Built", watch: Watch) -> "tuple[Built, bool]":
    """Return a build with the bounds of its stack, and whether it must be compiled again.

    This is so if the user's sources name new bounds. BuildError if there is no bound, or for bad
    memory. The proofs cover only firmware with ethosgen's start-up code.
    """
    from ethosgen.toolchain.stack_header import uses_bounds, write_stack_header

    if not find_platform(info.platform).boots:
        return built, False
    with watch.phase("prove", "bounding the stack, checking the memory"):
        application = built.application and _prove_image(info, built.application)
        proven = replace(_prove_image(info, built), application=application)
        shipped = application or proven
        is_new = write_stack_header(shipped.elf, shipped.stack)
        return proven, is_new and uses_bounds(info.directory)


def bound_firmware(elf: Path) -> "tuple[StackBound, ...]":
    """Return the stack that each network in any firmware needs; InputError if it names none."""
    from ethosgen.proof.stack import FloatFrames, bound_stack
    from ethosgen.toolchain import find_identities

    names = sorted({identity.name for identity in find_identities(elf)})
    return tuple(bound_stack(elf, name, FloatFrames.ALWAYS) for name in names)


def _prove_image(info: "ProjectInfo", built: "Built") -> "Built":
    from ethosgen.project.manifest import MANIFEST
    from ethosgen.proof.memory import memory_fault
    from ethosgen.proof.stack import bound_stack, float_frames

    frames = float_frames(info.board)
    bounds = tuple(bound_stack(built.elf, name, frames) for name in info.names)
    for bound in bounds:
        if bound.is_fault:
            raise BuildError(
                f"the stack of network '{bound.network}' in '{built.elf}' has no bound, because "
                f"{bound.why}; write it without, and build it again"
            )
    fault = memory_fault(
        built.elf,
        info.directory / MANIFEST,
        has_board_memories=info.board.run.stand_in is None or built.on != "qemu",
    )
    if fault:
        raise BuildError(
            f"the memory of '{built.elf}' is wrong: {fault}; if the linker script or model/ was "
            "changed, undo that, and build it again, otherwise report it"
        )
    return replace(built, stack=bounds)
