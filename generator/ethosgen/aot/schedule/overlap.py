"""The time of a schedule in which devices run at once, and orders of steps that make it shorter.

The CPU starts a device, goes on, and waits. The NPU is a part of the CPU here: its call returns
when it has finished. All times are estimates, in cycles; what is unknown counts as none.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ethosgen.aot.schedule.schedule import StepSchedule
from ethosgen.aot.schedule.waits import awaited_at, is_separate, must_end


@dataclass(frozen=True)
class StepTime:
    """The cycles of the CPU for a step, and those of a device that the CPU need not wait for."""

    cpu: int
    device: int = 0


def duration(schedule: StepSchedule, costs: Mapping[int, StepTime]) -> int:
    """Return the cycles of an inference; `costs` are by the index of a step's operator."""
    now, ends = 0, dict[int, int]()
    for index, is_wait, _ in awaited_at(schedule):
        if is_wait:
            now = max(now, ends[index])
            continue
        cost = costs[schedule.steps[index].operator.index]
        now += cost.cpu
        ends[index] = now + cost.device
        if index not in schedule.waits:
            now = ends[index]
    return now


def overlapping_order(
    schedule: StepSchedule, costs: Mapping[int, StepTime], fixed: Collection[int], most: int
) -> list[int]:
    """Return an order of the steps in which devices start early, at most `most` at once.

    Each time the step follows that can begin first; of several a start of a device, then the one
    with the most work behind it. The steps `fixed` keep their places among all others.
    """
    return _Sorter(schedule, costs, frozenset(fixed), most).order()


class _Sorter:
    """Sorts the steps of a schedule, and counts the time meanwhile."""

    def __init__(
        self,
        schedule: StepSchedule,
        costs: Mapping[int, StepTime],
        fixed: frozenset[int],
        most: int,
    ) -> None:
        self._schedule, self._fixed, self._most = schedule, fixed, most
        self._steps = schedule.steps
        self._costs = [costs[step.operator.index] for step in schedule.steps]
        self._now = 0
        self._running: dict[int, int] = {}
        """The end of each started step, in the order of the starts."""

    def order(self) -> list[int]:
        """Return the steps in their new order."""
        order: list[int] = []
        left = set(range(len(self._steps)))
        while left:
            ready = [i for i in left if left.isdisjoint(self._before[i])]
            chosen = min(ready, key=self._rank)
            self._run(chosen)
            order.append(chosen)
            left.remove(chosen)
        return order

    @cached_property
    def _before(self) -> list[set[int]]:
        """The steps that each one follows."""
        schedule, before = self._schedule, list[set[int]]()
        makers: dict[int, int] = {}
        pinned: list[int] = []
        barrier: int | None = None
        for index, step in enumerate(self._steps):
            followed = {makers[i] for i in schedule.reads(step) if i in makers}
            followed |= set() if barrier is None else {barrier}
            if index in self._fixed:
                followed, barrier = set(range(index)), index
            if self._is_pinned(index):
                followed |= set(pinned[-1:])
                pinned.append(index)
            before.append(followed)
            makers |= dict.fromkeys(schedule.writes(step), index)
        return before

    def _is_pinned(self, index: int) -> bool:
        """Return whether a step keeps its place among others like it.

        The NPU's compiler has placed the tensors of these steps for its own order.
        """
        step, schedule = self._steps[index], self._schedule
        ends = (*schedule.reads(step), *schedule.writes(step))
        return step.on_npu or not schedule.plan.offsets.keys().isdisjoint(ends)

    @cached_property
    def _behind(self) -> list[int]:
        """The cycles from each step's begin to the end, if nothing else were in the way."""
        behind = [cost.cpu + cost.device for cost in self._costs]
        for index in reversed(range(len(behind))):
            own = self._costs[index].cpu + self._costs[index].device
            for earlier in self._before[index]:
                cost = self._costs[earlier]
                behind[earlier] = max(behind[earlier], cost.cpu + cost.device + behind[index])
            behind[index] = max(behind[index], own)
        return behind

    def _rank(self, index: int) -> tuple[int, bool, int, int]:
        is_start = is_separate(self._schedule, self._steps[index])
        begin = max([self._now, *(self._running[i] for i in self._awaited(index))])
        return begin, not is_start, -self._behind[index], index

    def _awaited(self, index: int) -> list[int]:
        """Return the started steps that must end before a step."""
        step, time = self._steps[index], self._schedule.clock[index]
        awaited = [
            i
            for i in self._running
            if index in self._fixed or must_end(self._schedule, self._steps[i], step, time)
        ]
        if is_separate(self._schedule, step):
            left = [i for i in self._running if i not in awaited]
            awaited += left[: max(len(left) + 1 - self._most, 0)]
        return awaited

    def _run(self, index: int) -> None:
        for ended in self._awaited(index):
            self._now = max(self._now, self._running.pop(ended))
        cost = self._costs[index]
        self._now += cost.cpu
        if is_separate(self._schedule, self._steps[index]):
            self._running[index] = self._now + cost.device
        else:
            self._now += cost.device


def most_at_once(schedule: StepSchedule) -> int:
    """Return the number of devices that a schedule starts."""
    started: Sequence[str] = [
        step.partition.unit
        for step in schedule.steps
        if step.partition and is_separate(schedule, step)
    ]
    return len(set(started))
