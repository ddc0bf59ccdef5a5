"""The waits for accelerators that were only started: as late as is safe, so that others work
meanwhile.

Between a start and its wait run CPU kernels that cannot fail, the NPU, and other devices, none of
which reads its outputs. If one of these calls fails, the network's C waits for all that is running
before it returns (`awaited_at`). So no run ends before its waits, and the memory plan
(`ethosgen.aot.memory.plan`) only has to keep the accelerator's inputs and outputs until then.
"""

from collections.abc import Collection, Iterator

from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.plan import Partition


def find_waits(
    schedule: StepSchedule, may_fail: Collection[int], most: int | None = None
) -> dict[int, int]:
    """Return the step before which to wait, by the step that starts; len(steps) is the end.

    `may_fail` are the CPU steps that may end a run; at most `most` devices run at once. A start
    whose wait follows at once is omitted.
    """
    waits: dict[int, int] = {}
    running: list[int] = []
    clock = schedule.clock
    for index, step in enumerate(schedule.steps):
        begun = [(i, schedule.steps[i]) for i in running]
        ends = {i for i, start in begun if must_end(schedule, start, step, clock[index])}
        ended = [i for i in running if index in may_fail or i in ends]
        if is_separate(schedule, step):
            left = [i for i in running if i not in ended]
            ended += left[: max(len(left) + 1 - most, 0)] if most is not None else []
        waits |= dict.fromkeys(ended, index)
        running = [i for i in running if i not in ended]
        if is_separate(schedule, step):
            running.append(index)
    waits |= dict.fromkeys(running, len(schedule.steps))
    return {start: before for start, before in sorted(waits.items()) if before > start + 1}


def describe_waits(schedule: StepSchedule) -> tuple[str, ...]:
    """Return a line for each started operator: the work of others meanwhile."""
    lines = []
    for started, before in sorted(schedule.waits.items()):
        step = schedule.steps[started]
        during = schedule.steps[started + 1 : before]
        beside = [name for other in during for name in _named(schedule, other)]
        lines.append(f"{_call_text(schedule, step)} beside {', '.join(beside)}")
    return tuple(lines)


def awaited_at(schedule: StepSchedule) -> Iterator[tuple[int, bool, tuple[int, ...]]]:
    """Yield each step and each wait in order, with the started steps that run besides it.

    A wait is the step that it awaits, and True.
    """
    running: list[int] = []
    for index in range(len(schedule.steps) + 1):
        for started in [s for s, before in schedule.waits.items() if before == index]:
            running.remove(started)
            yield started, True, tuple(running)
        if index < len(schedule.steps):
            yield index, False, tuple(running)
            running += [index] if index in schedule.waits else []


def is_same_device(partition: Partition | None, other: Partition | None) -> bool:
    """Return whether one device runs both, which can do only one at a time."""
    return bool(partition and other) and _device(partition) == _device(other)


def is_separate(schedule: StepSchedule, step: Step) -> bool:
    """Return whether a step is a start with its own wait.

    Outputs that the NPU's compiler placed, and variables, do not have cache lines of their own.
    """
    if step.partition is None or not step.partition.call.awaited or step.partition.call.copies:
        return False
    if schedule.updates(step):
        return False
    return schedule.plan.offsets.keys().isdisjoint(schedule.writes(step))


def must_end(schedule: StepSchedule, start: Step, step: Step, time: int) -> bool:
    """Return whether a step, at this time of the backends' clock, needs the end of a started one.

    While the NPU runs, its compiler may reuse the bytes of tensors that it placed, except of those
    that it knows to be live before and after.
    """
    is_read = not set(schedule.writes(start)).isdisjoint(schedule.reads(step))
    if is_read or is_same_device(start.partition, step.partition):
        return True
    if not step.on_npu:
        return False
    placed = [i for i in schedule.reads(start) if i in schedule.plan.offsets]
    lives = [schedule.plan.lives.get(i, (time, time)) for i in placed]
    return any(not first < time < last for first, last in lives)


def _device(partition: Partition | None) -> tuple[str, int]:
    return (partition.backend, partition.instance) if partition else ("", 0)


def _named(schedule: StepSchedule, step: Step) -> list[str]:
    """Return the names of what a step does."""
    if step.partition is None:
        return [operator.code for operator in step.operators]
    return [_call_text(schedule, step)]


def _call_text(schedule: StepSchedule, step: Step) -> str:
    written = schedule.writes(step)
    unit = step.partition.unit if step.partition else ""
    name = f"'{schedule.graph.tensors[written[0]].name}'" if written else "a call"
    return f"{name} on {unit or 'the NPU'}"
