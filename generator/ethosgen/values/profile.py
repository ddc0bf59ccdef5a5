"""The costs of a network's steps: counts of the processor, cycles of the NPU."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ethosgen.values.time import InferenceCycles

NPU = "npu"


@dataclass(frozen=True)
class ProgramStep:
    """A call of a network's C code: an operator with those fused into it, or a partition.

    `name` is "CONV_2D + RELU6" or the partition's, `output` its first tensor. `on` is "cpu", NPU or
    a user's accelerator. `is_wait` means that the call only waits for the partition. In a subgraph,
    `inside` is the number of the step that runs it, `branch` its role there ("body"), `subgraph`
    its name; elsewhere 0 and "". An operator in a chain of bands of rows is inside the chain.
    """

    name: str
    output: str
    on: str
    is_wait: bool = False
    inside: int = 0
    branch: str = ""
    subgraph: str = ""


@dataclass(frozen=True)
class Count:
    """The firmware's counts of one place: ticks of its clock, cycles by the NPU's PMU.

    `entries` counts the hooks that began it: its own, and those after its subgraphs.
    """

    ticks: int
    npu_cycles: int = 0
    entries: int = 1


@dataclass(frozen=True)
class Unit:
    """The unit of a profile's counts on the CPU: its name in the plural, and its size in ticks."""

    name: str
    ticks: float


@dataclass(frozen=True)
class NpuOperation:
    """An operation of the NPU: its line in a trace, and the simulator's estimate of its cycles.

    `operator` is the code of the network's operator that it computes, `layer` that one's output; ""
    if unknown.
    """

    name: str
    cycles: int
    operator: str = ""
    layer: str = ""


@dataclass(frozen=True)
class StepCost:
    """The cost of a step in all its `runs`, without its subgraphs' cost.

    `count` is that of the CPU in the profile's unit, `npu_cycles` the PMU's, `cycles` the CPU's by
    the core's model, None if they are unknown.
    """

    step: ProgramStep
    count: int
    npu_cycles: int
    runs: int = 1
    operations: tuple[NpuOperation, ...] = ()
    cycles: int | None = None


@dataclass(frozen=True)
class Profile:
    """The cost of one inference by steps, without the hook's own cost.

    `outside` is the CPU's work outside all steps. `hook` is the hook's cost in each step, which is
    subtracted. `outside_cycles` are cycles by the core's model, None if they are unknown; then
    those of all steps are, too.
    """

    unit: str
    steps: tuple[StepCost, ...]
    outside: int
    hook: float
    outside_cycles: int | None = None

    @property
    def cycles(self) -> int | None:
        """The CPU's cycles of the whole inference by its model, None if they are unknown."""
        if self.outside_cycles is None:
            return None
        return self.outside_cycles + sum(cost.cycles or 0 for cost in self.steps)

    def with_cycles(self, known: InferenceCycles | None) -> "Profile":
        """Return the profile with cycles, if each of its steps ran once and was counted."""
        if known is None or len(known.steps) != len(self.steps):
            return self
        if any(cost.runs != 1 for cost in self.steps):
            return self
        pairs = zip(self.steps, known.steps, strict=True)
        steps = tuple(replace(cost, cycles=cycles) for cost, cycles in pairs)
        return replace(self, steps=steps, outside_cycles=known.outside)

    def in_cycles(self) -> "Profile":
        """Return the profile with its cycles as counts, if they are known."""
        if self.outside_cycles is None:
            return self
        steps = tuple(replace(cost, count=cost.cycles or 0) for cost in self.steps)
        return replace(self, unit="cycles", steps=steps, outside=self.outside_cycles, hook=0.0)

    @property
    def total(self) -> int:
        """The CPU's count of the whole inference."""
        return self.outside + sum(cost.count for cost in self.steps)

    @property
    def npu_cycles(self) -> int:
        """The PMU's cycles of the whole inference."""
        return sum(cost.npu_cycles for cost in self.steps)

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "unit": self.unit,
            "total": self.total,
            "outside": self.outside,
            "hook": round(self.hook, 2),
            "npu_cycles": self.npu_cycles,
            "cycles": self.cycles,
            "outside_cycles": self.outside_cycles,
            "steps": [
                {
                    "step": number,
                    **dataclasses.asdict(cost.step),
                    "count": cost.count,
                    "cycles": cost.cycles,
                    "share": round(cost.count / max(self.total, 1), 4),
                    "runs": cost.runs,
                    "npu_cycles": cost.npu_cycles if cost.step.on == NPU else None,
                    "npu_operations": [
                        dataclasses.asdict(operation) for operation in cost.operations
                    ],
                }
                for number, cost in enumerate(self.steps, 1)
            ],
        }


def make_profile(
    steps: Sequence[ProgramStep],
    unit: Unit,
    outside: Count,
    counts: Sequence[Count],
    hook_ticks: float,
) -> Profile:
    """Return the profile of one inference from the firmware's counts.

    Each count contains `hook_ticks` for each entry, since the hook reads the clock in its middle:
    its end belongs to the step that begins, its start to the one that ends. The count outside steps
    has it once.
    """

    def without_hooks(count: Count, entries: int) -> int:
        return max(0, round((count.ticks - entries * hook_ticks) / unit.ticks))

    runs = _runs(steps, counts)
    costs = (
        StepCost(step, without_hooks(count, count.entries), count.npu_cycles, times)
        for step, count, times in zip(steps, counts, runs, strict=True)
    )
    return Profile(unit.name, tuple(costs), without_hooks(outside, 1), hook_ticks / unit.ticks)


def _runs(steps: Sequence[ProgramStep], counts: Sequence[Count]) -> list[int]:
    """Return the number of runs of each step.

    The hook after a subgraph enters the step that runs it again, as often as the subgraph's first
    operator ran.
    """
    firsts: dict[tuple[int, str], int] = {}
    for index, step in enumerate(steps):
        firsts.setdefault((step.inside, step.branch), index)
    runs = [count.entries for count in counts]
    for (number, _), first in sorted(firsts.items(), reverse=True):
        if number:
            runs[number - 1] -= runs[first]
    return runs
