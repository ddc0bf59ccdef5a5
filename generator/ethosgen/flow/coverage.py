"""Coverage: the part of the generated C that a run's samples reach, counted in the firmware."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.flow.models import devices_of, simulator_for
from ethosgen.platforms import find_platform
from ethosgen.values.coverage import CodeCoverage
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.outcome import Arrays, Outcome
from ethosgen.values.watch import Watch

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo


def require_coverage(platform: str, on: str) -> None:
    """Raise InputError unless a platform's firmware can count on a target; ToolError without gcov.

    The firmware writes its counts through QEMU.
    """
    from ethosgen.targets import require_target
    from ethosgen.toolchain import find_gcov, toolchain_of

    is_emulated = require_target(on).counts_instructions
    is_built = find_platform(platform).is_built
    if not is_emulated or not is_built or toolchain_of(platform).cover is None:
        raise InputError(
            "--coverage counts in a bare-metal firmware on QEMU; use it with --on qemu and "
            "--platform baremetal"
        )
    find_gcov()


def measure_coverage(
    jobs: Sequence[tuple[int, Arrays]],
    outcome: Outcome,
    info: "ProjectInfo",
    on: str,
    watch: Watch,
) -> CodeCoverage:
    """Build a project again with counters, run the same samples, and return the code that they
    reach.

    `jobs` are the samples, each with its network's index, and `outcome` is the result without
    counters. TargetError if the result with counters differs.
    """
    from ethosgen.targets import require_target, run
    from ethosgen.toolchain import lock_build, read_coverage, toolchain_of

    cover = toolchain_of(info.platform).cover
    assert cover is not None
    known = replace(info, devices=devices_of(info, on))
    with tempfile.TemporaryDirectory(prefix="ethosgen-coverage-") as temporary:
        counts = Path(temporary) / "counts"
        with lock_build(info.directory, watch), watch.phase("coverage", "measuring coverage"):
            elf = cover(info, require_target(on).variant, counts)
            counted = run(
                elf,
                known,
                [sample for _, sample in jobs],
                order=[index for index, _ in jobs],
                on=on,
                attach=simulator_for(info, on),
            )
            if not _is_same(counted, outcome):
                raise TargetError(
                    "the firmware with the counters of --coverage computes different outputs from "
                    "the one without; please report it: ethosgen bug"
                )
            return read_coverage(info, elf, counts)


def _is_same(outcome: Outcome, other: Outcome) -> bool:
    """Compare all outputs bit by bit."""
    return all(
        array.tobytes() == second.outputs[name].tobytes()
        for first, second in zip(outcome.samples, other.samples, strict=True)
        for name, array in first.outputs.items()
    )
