"""The order of steps with the smaller arena: the network's own, or one with a lower peak."""

from ethosgen.aot.memory.plan import plan_memory
from ethosgen.aot.schedule.order import lighter_order
from ethosgen.aot.schedule.schedule import StepSchedule


def in_best_order(schedule: StepSchedule) -> StepSchedule:
    """Return the schedule, or the same steps in another order if that needs fewer bytes."""
    lighter = lighter_order(schedule)
    if lighter is schedule:
        return schedule
    return min(schedule, lighter, key=_arena_bytes)


def _arena_bytes(schedule: StepSchedule) -> int:
    rooms = {i: step.kernel.workspace_bytes for i, step in enumerate(schedule.steps) if step.kernel}
    return plan_memory(schedule, rooms).arena_bytes
