"""What lets continuous integration check a project: a workflow, and the test that it runs."""

from typing import Any

from ethosgen.accelerator import NO_NPU
from ethosgen.board import Board
from ethosgen.errors import InputError
from ethosgen.program import Program

CI_FILES = {
    ".github/workflows/firmware.yml": "workflow.yml",
    "tests/test_firmware.py": "test_firmware.py",
}
"""File → template; both are the user's after the first render."""


def ci_facts(program: Program, board: Board, platform: str) -> dict[str, Any]:
    """Return what the templates need; InputError where nothing can run without the board."""
    if platform != "baremetal":
        raise InputError(
            "--with-ci is for --platform baremetal; Zephyr's twister reads sample.yaml, and what "
            "CMSIS-Toolbox or your own project builds is run by its own tools"
        )
    fvp = _fvp(program, board)
    targets = [*(["qemu"] if board.run.qemu else []), *(["fvp"] if fvp else [])]
    if not targets:
        raise InputError(
            f"--with-ci needs something that runs the firmware, and board '{board.name}' has "
            "neither QEMU nor an FVP"
        )
    return {"ci_targets": _listed(targets), "ci_fvp": f'"{fvp}"' if fvp else "None"}


def _fvp(program: Program, board: Board) -> str | None:
    if board.run.fvp is None:
        return None
    names = board.run.fvp.executables
    if program.plan.npu == NO_NPU:
        return next(iter(names.values()))
    accelerator = program.plan.accelerator
    return next((n for p, n in names.items() if accelerator and p == accelerator.product), None)


def _listed(words: list[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"
