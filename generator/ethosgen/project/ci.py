"""The files that let continuous integration check a project: a workflow, and its test.

The workflow installs the ethosgen that created the project. No package index has it, so its wheel
is stored in the project, unless the user names another source.
"""

import re
from pathlib import Path
from typing import Any

from ethosgen.board import Board
from ethosgen.platforms import BAREMETAL, find_platform
from ethosgen.project.templating import make_environment
from ethosgen.project.wheel import WHEEL_NAME, make_wheel
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError
from ethosgen.values.program import Program

CI_FILES = {
    ".github/workflows/firmware.yml": "workflow.yml",
    "tests/test_firmware.py": "test_firmware.py",
}
"""File → template; both are the user's after the first generation."""
_CHECK = "check.yml"
"""The template of the workflow for ethosgen.toml."""
_WHEELS = "ci/"
_REQUIREMENT = re.compile(r"[\w.+:/@#=~\[\]-]+")


def is_ci(path: str) -> bool:
    """Return whether a file of a project is only for continuous integration."""
    return path in CI_FILES or path.startswith(_WHEELS)


def ci_wheel(source: str | None) -> dict[str, bytes]:
    """Return the wheel to store in the project, by its path there; none if pip fetches another.

    `source` is a wheel's path, or a pip requirement; by default the wheel is this ethosgen's.
    """
    if source is None:
        return {f"{_WHEELS}{WHEEL_NAME}": make_wheel()}
    if not source.endswith(".whl") or "://" in source:
        return {}
    try:
        return {f"{_WHEELS}{Path(source).name}": Path(source).read_bytes()}
    except OSError as error:
        raise InputError(f"cannot read the wheel '{source}': {error.strerror}") from None


def ci_facts(
    program: Program, board: Board, platform: str, source: str | None = None
) -> dict[str, Any]:
    """Return the templates' values; InputError if the board cannot be simulated."""
    if remedy := find_platform(platform).ci_remedy:
        raise InputError(f"--with-ci needs --platform {BAREMETAL}; {remedy}")
    fvp = _fvp(program, board)
    targets = [*(["qemu"] if board.on_qemu else []), *(["fvp"] if fvp else [])]
    if not targets:
        raise InputError(
            f"--with-ci needs QEMU or an FVP to run the firmware, and board '{board.name}' has "
            "neither; omit --with-ci"
        )
    _require_source(source)
    return {
        "ci_targets": _listed(targets),
        "ci_fvp": f'"{fvp}"' if fvp else "None",
        "ci_ethosgen": next(iter(ci_wheel(source)), source),
    }


def check_workflow(source: str | None = None) -> dict[str, bytes]:
    """Return the files of a workflow that runs `ethosgen check` in a folder with ethosgen.toml."""
    _require_source(source)
    wheel = ci_wheel(source)
    text = (
        make_environment(("ci",)).get_template(_CHECK).render(ci_ethosgen=next(iter(wheel), source))
    )
    return {".github/workflows/ethosgen.yml": text.encode(), **wheel}


def _require_source(source: str | None) -> None:
    """Raise InputError for a source that pip cannot install."""
    if source is not None and not _REQUIREMENT.fullmatch(source):
        raise InputError(
            f"pip cannot install --ci-ethosgen '{source}'; pass a wheel's path, or an "
            "address such as git+https://HOST/ethosgen@TAG"
        )


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
