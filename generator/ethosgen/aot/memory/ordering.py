"""The order of steps: with devices that run at once the fastest, else the one with less memory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ethosgen.aot.graph.subgraphs import SUBGRAPHS
from ethosgen.aot.libraries import least_cycles
from ethosgen.aot.memory.plan import plan_memory
from ethosgen.aot.schedule.order import lighter_order
from ethosgen.aot.schedule.overlap import StepTime, duration, most_at_once, overlapping_order
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.schedule.waits import find_waits
from ethosgen.values.errors import UnsupportedError

MOST_BYTES = 1 << 32
"""Without a limit the arena may have any size, but there must be a memory plan."""
MOST_STEPS = 1000
"""The most steps for which other orders are tried."""


def in_best_order(schedule: StepSchedule) -> StepSchedule:
    """Return the schedule, or the same steps in another order, with its waits.

    With devices that run beside others, it is the fastest that fits the options' limit; else the
    one with the smaller arena. Without a gain, the order stays the network's.
    """
    statuses = {i for i, step in enumerate(schedule.steps) if _may_fail(step)}
    if most_at_once(_with_free_outputs(schedule)):
        return _fastest(schedule, statuses)
    lighter = lighter_order(schedule)
    return schedule if lighter is schedule else min(schedule, lighter, key=_arena_bytes)


def estimated_cycles(schedule: StepSchedule) -> int:
    """Return the cycles of an inference if an accelerator could work beside others, else 0."""
    starts = any(step.partition and step.partition.call.awaited for step in schedule.steps)
    return duration(schedule, _costs(schedule)) if starts else 0


def hidden_cycles(schedule: StepSchedule) -> int:
    """Return the cycles that an inference saves because accelerators work beside others."""
    return estimated_cycles(replace(schedule, waits={})) - estimated_cycles(schedule)


@dataclass(frozen=True)
class _Ordering:
    """A schedule with its waits, the time that it takes, and its arena."""

    schedule: StepSchedule
    cycles: int
    arena_bytes: float


def _fastest(schedule: StepSchedule, may_fail: set[int]) -> StepSchedule:
    """Return the fastest schedule that fits the limit; if none does, the smallest."""
    limit, costs = schedule.plan.options.schedule.arena_bytes, _costs(schedule)
    trials = [
        _Ordering(ordered, duration(ordered, costs), _arena_bytes(ordered))
        for ordered in _orders(schedule, costs, may_fail)
    ]
    most = MOST_BYTES if limit is None else limit
    fitting = [trial for trial in trials if trial.arena_bytes <= most]
    if not fitting:
        return min(trials, key=lambda trial: trial.arena_bytes).schedule
    least = min(trial.cycles for trial in fitting)
    if fitting[0] is trials[0] and fitting[0].cycles == least:
        return fitting[0].schedule
    best = (trial for trial in fitting if trial.cycles == least)
    return min(best, key=lambda trial: trial.arena_bytes).schedule


def _orders(
    schedule: StepSchedule, costs: Mapping[int, StepTime], may_fail: set[int]
) -> Iterator[StepSchedule]:
    """Yield the network's order, then others, with waits for ever fewer devices at once."""
    yield replace(schedule, waits=find_waits(schedule, may_fail))
    is_long = len(schedule.steps) > MOST_STEPS
    if schedule.plan.options.schedule.is_sliced or schedule.feed or is_long:
        return
    fixed = {i for i, step in enumerate(schedule.steps) if _keeps_place(schedule, step)}
    freed = _with_free_outputs(schedule)
    for base in (schedule,) if freed is schedule else (schedule, freed):
        for most in range(most_at_once(base), 0, -1):
            order = overlapping_order(base, costs, fixed, most)
            for places in (order, sorted(order)):
                moved = replace(base, steps=tuple(base.steps[i] for i in places))
                statuses = {new for new, old in enumerate(places) if old in may_fail}
                yield replace(moved, waits=find_waits(moved, statuses, most))
    yield schedule  # each call waits for its end


def _with_free_outputs(schedule: StepSchedule) -> StepSchedule:
    """Return the schedule with outputs of devices outside the NPU's scratch, where it uses none."""
    plan = schedule.plan
    used = {i for p in plan.partitions if p.on_npu for i in (*p.inputs, *p.outputs)}
    apart = {i for p in plan.partitions if p.call.awaited for i in p.outputs} - used
    if apart.isdisjoint(plan.offsets):
        return schedule
    offsets = {i: at for i, at in plan.offsets.items() if i not in apart}
    return replace(schedule, plan=replace(plan, offsets=offsets))


def _may_fail(step: Step) -> bool:
    """Return whether a step of the CPU may end the run."""
    return step.kernel.returns_status if step.kernel else SUBGRAPHS in step.operator.options


def _keeps_place(schedule: StepSchedule, step: Step) -> bool:
    """Return whether nothing moves across a step: it has a state, or its end is not certain."""
    if step.partition is not None:
        return not step.on_npu and bool(schedule.updates(step))
    return step.kernel is None or bool(step.kernel.variables) or step.kernel.returns_status


def _costs(schedule: StepSchedule) -> dict[int, StepTime]:
    return {step.operator.index: _cost(schedule, step) for step in schedule.steps}


def _cost(schedule: StepSchedule, step: Step) -> StepTime:
    """Return the estimate for a step; what is unknown counts as none."""
    plan, partition = schedule.plan, step.partition
    if partition is None:
        known = [least_cycles(schedule.graph, op, plan.extension) for op in step.operators]
        return StepTime(sum(filter(None, known)))
    if not partition.on_npu:
        return StepTime(partition.start_cycles, partition.cycles or 0)
    offers = {
        placing.operator: offer.cycles or 0
        for placing in plan.placings
        for offer in placing.offers
        if offer.backend == plan.npu
    }
    return StepTime(sum(offers.get(operator, 0) for operator in partition.operators))


def _arena_bytes(schedule: StepSchedule) -> float:
    rooms = {i: step.kernel.workspace_bytes for i, step in enumerate(schedule.steps) if step.kernel}
    try:
        return plan_memory(schedule, rooms).arena_bytes
    except UnsupportedError:
        return float("inf")
