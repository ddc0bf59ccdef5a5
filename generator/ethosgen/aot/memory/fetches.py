"""Copies of weights from slow flash into SRAM, each made while the step before computes.

Kernels read the weights of a layer once for every two rows of its output, so flash without a cache
stalls them each time. A copy reads them once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.aot.graph.storage import SAME_BYTES
from ethosgen.aot.graph.subgraphs import SUBGRAPHS
from ethosgen.aot.kernels import NamedKernel, workspace_bytes
from ethosgen.aot.memory.plan import MemoryPlan, plan_memory
from ethosgen.aot.memory.reading import reads_of
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.program import Constant, Fetch


@dataclass(frozen=True)
class _Candidate:
    """A constant that may be copied, and how often its kernel reads it."""

    fetch: Fetch
    reads: float


def plan_with_fetches(
    schedule: StepSchedule,
    kernels: Mapping[int, NamedKernel],
    constants: Sequence[Constant],
) -> MemoryPlan:
    """Plan the memory of a schedule with the copies that the plan allows.

    They may enlarge the arena as the plan's rule allows, but not beyond the schedule's own limit.
    If they do not fit, the largest are left out.
    """
    rooms, plan = workspace_bytes(kernels), schedule.plan
    usual = plan_memory(schedule, rooms)
    rule = plan.fetch
    if not rule.bytes or plan.options.schedule.is_sliced or schedule.place:
        return usual
    wanted = [
        candidate.fetch
        for candidate in _candidates(schedule, kernels, constants)
        if candidate.reads >= rule.least_reads and candidate.fetch.bytes >= rule.least_bytes
    ]
    limit = usual.arena_bytes + rule.bytes
    if plan.options.schedule.arena_bytes is not None:
        limit = min(limit, max(plan.options.schedule.arena_bytes, usual.arena_bytes))
    while wanted:
        planned = plan_memory(schedule, rooms, wanted)
        if planned.arena_bytes <= limit:
            return planned
        largest = max(fetch.bytes for fetch in wanted)
        wanted = [fetch for fetch in wanted if fetch.bytes < largest]
    return usual


def _candidates(
    schedule: StepSchedule, kernels: Mapping[int, NamedKernel], constants: Sequence[Constant]
) -> Iterator[_Candidate]:
    """Yield the constants that only one step reads, unless they are structs."""
    users: dict[str, list[int]] = {}
    for index, named in kernels.items():
        for argument in named.arguments:
            if isinstance(argument, str):
                users.setdefault(argument, []).append(index)
    for constant in constants:
        steps, size = users.get(constant.c_name, []), len(constant.data)
        if len(steps) == 1 and not constant.structs:
            (index,) = steps
            if SUBGRAPHS not in schedule.steps[index].operator.options:
                fetch = Fetch(constant.c_name, index, _before(schedule, index), size)
                yield _Candidate(fetch, reads_of(schedule.steps[index].operators, schedule.graph))


def _before(schedule: StepSchedule, index: int) -> int:
    """Return the last earlier step that certainly has its own call, else the step itself."""
    steps = schedule.steps
    calls = (i for i in range(index - 1, -1, -1) if _has_call(steps[i]))
    return next(calls, index)


def _has_call(step: Step) -> bool:
    return bool(step.partition or step.tail or step.operator.code not in SAME_BYTES)


def with_offsets(memory: MemoryPlan) -> tuple[Fetch, ...]:
    """Return the copies of a memory plan with their offsets in the arena."""
    return tuple(
        replace(fetch, offset=memory.fetched[fetch.constant].offset or 0)
        for fetch in memory.fetches
    )
