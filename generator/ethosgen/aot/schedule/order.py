"""Orders of steps with fewer live bytes: the exact best for few orders, a beam for many.

A partition, a step with variables, and a step that may end the run keep their places, and nothing
moves across them: Vela reuses bytes in its own order, and states and statuses depend on the order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush

from ethosgen.aot.graph.subgraphs import SUBGRAPHS
from ethosgen.aot.schedule.schedule import Step, StepSchedule

STATES = 20_000
"""The most sets of executed steps that the exact search visits."""
BEAM = 24
"""The sets that are kept of each number of executed steps, where there are too many."""
MOST_STEPS = 400
"""The most steps between two that stay where they are."""


def lighter_order(schedule: StepSchedule) -> StepSchedule:
    """Return the schedule with its steps in an order that has fewer live bytes, or unchanged.

    It remains unchanged with accelerators that run in parallel with the CPU, because the order of
    steps determines what runs meanwhile, and with subgraphs, whose memory is not known yet.
    """
    steps = schedule.steps
    if any(_is_unknown(step) for step in steps):
        return schedule
    order: list[int] = []
    for run in _runs(steps):
        order += _Run(schedule, run).best_order() if len(run) <= MOST_STEPS else run
    if order == sorted(order):
        return schedule
    return replace(schedule, steps=tuple(steps[i] for i in order))


def _is_unknown(step: Step) -> bool:
    is_beside = step.partition is not None and bool(step.partition.call.awaited)
    return is_beside or SUBGRAPHS in step.operator.options


def _runs(steps: Sequence[Step]) -> Iterator[list[int]]:
    """Yield the runs of steps between those that keep their places, and each of the latter."""
    run: list[int] = []
    for index, step in enumerate(steps):
        kernel = step.kernel
        if kernel is not None and not kernel.variables and not kernel.returns_status:
            run.append(index)
            continue
        yield run
        yield [index]
        run = []
    yield run


@dataclass(frozen=True, order=True)
class _State:
    """The most live bytes so far, the live bytes now, and the executed steps, as a set of bits."""

    peak: int
    live: int
    done: int


class _Run:
    """Steps that may change places, numbered from 0."""

    def __init__(self, schedule: StepSchedule, run: Sequence[int]) -> None:
        self._run = run
        self._steps = [schedule.steps[i] for i in run]
        self._reads = [tuple(dict.fromkeys(schedule.reads(step))) for step in self._steps]
        self._writes = [schedule.writes(step) for step in self._steps]
        makers = {t: i for i, written in enumerate(self._writes) for t in written}
        self._readers: dict[int, int] = {}
        for i, reads in enumerate(self._reads):
            for tensor in reads:
                self._readers[tensor] = self._readers.get(tensor, 0) | 1 << i
        self._before = [
            sum(1 << maker for maker in {makers[t] for t in reads if t in makers})
            for reads in self._reads
        ]
        self._kept = _read_elsewhere(schedule, set(run))
        self._sizes = _sizes(schedule)
        self._whole = (1 << len(run)) - 1

    @cached_property
    def _start(self) -> _State:
        outputs = {tensor for written in self._writes for tensor in written}
        live = sum(self._sizes.get(t, 0) for t in self._readers if t not in outputs)
        return _State(live, live, 0)

    def best_order(self) -> list[int]:
        """Return the steps in an order with fewer live bytes, or unchanged."""
        if all(self._before[i] >> (i - 1) & 1 for i in range(1, len(self._run))):
            return list(self._run)  # no other order
        state = self._start
        for step in range(len(self._run)):
            state = self._after(state, step)
        if state.peak <= self._bound:
            return list(self._run)
        exact = self._exact(state.peak)
        order = self._beam(state.peak) if exact is None else exact
        return [self._run[i] for i in order] or list(self._run)

    @property
    def _bound(self) -> int:
        """The bytes that are live in any order."""
        start = self._start
        return max([start.live, *(self._own_bytes(i) for i in range(len(self._run)))])

    def _own_bytes(self, step: int) -> int:
        ends = (*self._reads[step], *self._writes[step])
        whole = sum(self._sizes.get(t, 0) for t in ends) + self._room(step)
        return whole - max((self._saved(step, t) for t in self._reads[step]), default=0)

    def _room(self, step: int) -> int:
        kernel = self._steps[step].kernel
        return kernel.workspace_bytes if kernel else 0

    def _saved(self, step: int, tensor: int) -> int:
        """Return the bytes that a step's output shares with an input that nothing reads later."""
        if len(self._writes[step]) != 1:
            return 0
        size, written = (self._sizes.get(t, 0) for t in (tensor, self._writes[step][0]))
        each, kernel = self._steps[step], self._steps[step].kernel
        if each.in_place or tensor in each.over or (kernel and kernel.in_place):
            return written if size == written else 0
        is_only = kernel is not None and len(self._reads[step]) == 1
        return kernel.shared_bytes(size, written) if kernel and is_only else 0

    def _after(self, state: _State, step: int) -> _State:
        done = state.done | 1 << step
        written = sum(self._sizes.get(t, 0) for t in self._writes[step])
        ending = [
            t
            for t in self._reads[step]
            if t not in self._kept and self._readers[t] & done == self._readers[t]
        ]
        unread = [t for t in self._writes[step] if t not in self._kept and t not in self._readers]
        saved = max((self._saved(step, t) for t in ending), default=0)
        during = state.live + written + self._room(step) - saved
        live = state.live + written - sum(self._sizes.get(t, 0) for t in (*ending, *unread))
        return _State(max(state.peak, during), live, done)

    def _next(self, state: _State) -> Iterator[tuple[int, _State]]:
        for step, before in enumerate(self._before):
            if not state.done >> step & 1 and before & state.done == before:
                yield step, self._after(state, step)

    def _exact(self, limit: int) -> list[int] | None:
        """Return the best order, [] if none is below a limit, None if there are too many."""
        heap = [(self._start.peak, 0, self._start)]
        came: dict[int, tuple[int, int]] = {0: (-1, -1)}
        peaks = {0: self._start.peak}
        while heap:
            _, _, state = heappop(heap)
            if state.done == self._whole:
                return _path(came, state.done)
            for step, after in self._next(state):
                if after.peak >= peaks.get(after.done, limit):
                    continue
                if len(came) > STATES:
                    return None
                came[after.done], peaks[after.done] = (step, state.done), after.peak
                heappush(heap, (after.peak, -after.done.bit_count(), after))
        return []

    def _beam(self, limit: int) -> list[int]:
        """Return a good order, [] if none of those kept is below a limit."""
        kept, came = [self._start], {0: (-1, -1)}
        for _ in self._run:
            states: dict[int, _State] = {}
            for state in kept:
                for step, after in self._next(state):
                    known = states.get(after.done)
                    if after.peak < limit and (known is None or after < known):
                        states[after.done] = after
                        came[after.done] = step, state.done
            kept = sorted(states.values())[:BEAM]
        return _path(came, kept[0].done) if kept else []


def _path(came: Mapping[int, tuple[int, int]], done: int) -> list[int]:
    """Return the steps that led to a set."""
    order = []
    while done:
        step, done = came[done]
        order.append(step)
    return order[::-1]


def _read_elsewhere(schedule: StepSchedule, run: set[int]) -> set[int]:
    """Return the tensors that are live after a run in any order."""
    others = (step for i, step in enumerate(schedule.steps) if i not in run and i > min(run | {0}))
    return {*schedule.graph.outputs, *(t for step in others for t in schedule.reads(step))}


def _sizes(schedule: StepSchedule) -> dict[int, int]:
    """Return the bytes of tensors that the memory plan places."""
    plan, graph, ports = schedule.plan, schedule.graph, schedule.ports
    return {
        t.index: plan.buffer_bytes(t)
        for t in graph.tensors
        if t.data is None and t.index not in ports and t.index not in plan.offsets
    }
