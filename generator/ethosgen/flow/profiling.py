"""Profiles: the cost of each step of a network, and of each operation on the NPU."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.backend import simulation_of
from ethosgen.platforms import find_platform
from ethosgen.values.errors import InputError
from ethosgen.values.outcome import Sample
from ethosgen.values.plan import Plan
from ethosgen.values.profile import NPU, Profile

if TYPE_CHECKING:
    from ethosgen.project.info import ProjectInfo

HOOK = "ethosgen_profile_step"
"""The C function that an application defines."""


def require_counter(info: "ProjectInfo", on: str) -> None:
    """Raise InputError for a target without a counter, or a project that cannot count steps."""
    from ethosgen.targets import require_target

    if not require_target(on).has_clock:
        raise InputError(
            "--profile has nothing to count with --on native: the clock of native_sim stops "
            "while a network runs; use --on qemu"
        )
    if not any(HOOK in text for text in _texts(info.directory, "*.c")):
        raise InputError(
            f"the application in '{info.directory}' has no {HOOK}(); take app/main.c, app/server.c "
            "and app/profile.c from a new project"
        )
    # On Zephyr, profile.h is the library's.
    if not all("entries" in text for text in _texts(info.directory, "profile.h")):
        raise InputError(
            f"the application in '{info.directory}' cannot count the turns of loops; take "
            "app/server.c, app/profile.c and app/profile.h from a new project"
        )


def require_option(info: "ProjectInfo") -> None:
    """Raise InputError for a platform whose build has no option for profiles."""
    if remedy := find_platform(info.platform).profile_remedy:
        raise InputError(remedy.format(directory=info.directory))


def _texts(project: Path, pattern: str) -> Iterator[str]:
    """Yield the contents of an application's files with a name."""
    for folder in ("app", "src"):
        for path in (project / folder).glob(pattern):
            yield path.read_text("utf-8", "replace")


def median(samples: Sequence[Sample]) -> Profile | None:
    """Return the profile of the inference with the median cost, None without profiles.

    The most expensive one may contain an additional interrupt.
    """
    profiles = [sample.profile for sample in samples if sample.profile is not None]
    ordered = sorted(profiles, key=lambda profile: profile.total)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def with_operations(profile: Profile, plan: Plan) -> Profile:
    """Return a profile with the NPU's operations in each step that runs a partition."""
    if plan.accelerator is None:
        return profile
    partitions = {partition.name: partition for partition in plan.partitions if partition.on_npu}
    simulation = simulation_of(plan.accelerator)
    steps = tuple(
        replace(cost, operations=tuple(simulation.operations(plan, partitions[cost.step.name])))
        if cost.step.on == NPU and cost.step.name in partitions
        else cost
        for cost in profile.steps
    )
    return replace(profile, steps=steps)
