"""The waits for accelerators that were only started: as late as is safe, so that the CPU works
meanwhile.

Between a start and its wait only CPU kernels run that cannot fail and that read none of its
outputs. So at most one accelerator is running, no run ends before its wait, and the memory plan
(`ethosgen.aot.memory.plan`) only has to keep the accelerator's inputs and outputs until then.
"""

from collections.abc import Collection

from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.network import Operator


def find_waits(schedule: StepSchedule, may_fail: Collection[int]) -> dict[int, int]:
    """Return the step before which to wait, by the step that starts; len(steps) is the end.

    `may_fail` are the CPU steps that may end a run. A start whose wait follows at once is omitted.
    """
    waits = {}
    for index, step in enumerate(schedule.steps):
        if not _is_separate(schedule, step):
            continue
        written = set(schedule.writes(step))
        later = index + 1
        while later < len(schedule.steps):
            other = schedule.steps[later]
            if other.partition or later in may_fail or written.intersection(schedule.reads(other)):
                break
            later += 1
        if later > index + 1:
            waits[index] = later
    return waits


def describe_waits(schedule: StepSchedule) -> tuple[str, ...]:
    """Return a line for each started operator: the CPU's work meanwhile."""
    lines = []
    for started, before in sorted(schedule.waits.items()):
        step = schedule.steps[started]
        beside = [op.code for s in schedule.steps[started + 1 : before] for op in _operators(s)]
        output = schedule.graph.tensors[schedule.writes(step)[0]].name
        where = step.partition.backend if step.partition else ""
        lines.append(f"'{output}' on {where} beside {', '.join(beside)}")
    return tuple(lines)


def _operators(step: Step) -> tuple[Operator, ...]:
    return (step.operator, *step.tail)


def _is_separate(schedule: StepSchedule, step: Step) -> bool:
    """Return whether a step is a start with its own wait.

    The NPU's compiler reuses the bytes of tensors that it placed, by its own order of operators.
    """
    if step.partition is None or not step.partition.call.awaited or step.partition.call.copies:
        return False
    ends = {*schedule.reads(step), *schedule.writes(step)}
    return not ends.intersection(schedule.plan.offsets)
