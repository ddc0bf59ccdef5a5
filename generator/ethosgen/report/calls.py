"""The calls of the generated C, with the operators of the network that each computes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.timeline import NpuEvent, NpuTimeline
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.network import Graph, Operator
from ethosgen.values.plan import Partition, Plan
from ethosgen.values.profile import NPU, Profile, ProgramStep
from ethosgen.values.program import Program

_STORED = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TOSA_RESHAPE", "TOSA_IDENTITY"})
"""Operators that leave the bytes as they are."""
_JOINT = " + "
"""Between the codes of operators that share a function."""


@dataclass(frozen=True)
class CallFacts:
    """A call: its operators in the network, its cost on the CPU, and the NPU's work in it.

    `number` counts from 1, as a profile does. `operators` is empty if unknown; for a call in a
    subgraph, they are those that run the subgraph. It starts at cycle `start` of the time axis:
    calls run in sequence. `cpu_cycles` is the CPU's count there.
    """

    number: int
    step: ProgramStep
    operators: tuple[int, ...]
    cpu: int | None
    partition: Partition | None
    timeline: NpuTimeline | None
    start: int
    cpu_cycles: int
    device_cycles: int = 0
    """The work of a started accelerator, while the CPU goes on; 0 if it is unknown or counted."""

    def operator_of(self, event: NpuEvent) -> int | None:
        """Return the operator that an operation serves, or the only one of its partition."""
        if event.operator is None and len(self.operators) == 1:
            return self.operators[0]
        return event.operator

    @property
    def npu_start(self) -> int:
        """The cycle in which the CPU has started the NPU, or has finished itself."""
        return self.start + self.cpu_cycles

    @property
    def end(self) -> int:
        """The cycle in which it ends."""
        return self.npu_start + (self.timeline.cycles if self.timeline else 0)

    @property
    def is_top(self) -> bool:
        """Whether it is not in a subgraph."""
        return not self.step.inside


def calls_of(
    program: Program,
    timelines: Mapping[str, NpuTimeline],
    cpu_cycles: Mapping[int, int | None],
    profile: Profile | None,
    pace: float = 1.0,
) -> tuple[CallFacts, ...]:
    """Return the calls in order.

    `timelines` are the NPU's by partition, `cpu_cycles` estimates by operator of the residual
    graph. With a profile its counts replace the estimates. A count of the CPU takes `pace` cycles
    of the time axis.
    """
    plan = program.plan
    partitions = {partition.name: partition for partition in plan.partitions}
    members = _Members(plan)
    facts: list[CallFacts] = []
    awaited = {step.name for step in program.steps if step.is_wait}
    ends: dict[str, int] = {}
    for number, step in enumerate(program.steps, 1):
        partition = partitions.get(step.name)
        residual = () if partition else members.of(step)
        own = map(ResidualIndex, residual)
        known: list[int] = [plan.origins[i] for i in own if i in plan.origins]
        if plan.accelerator is None and not plan.partitions:
            known = list(residual)
        if partition is not None:
            known = [*partition.operators]
        if partition is not None and plan.is_precompiled:
            known = [partition.operator]
        if step.inside and partition is None:
            known = [*facts[step.inside - 1].operators]
        operators = tuple(sorted(known))
        cpu = _offered(plan, partition) if partition else _estimate(residual, cpu_cycles)
        if profile is not None:
            cpu = profile.steps[number - 1].count
        timeline = timelines.get(step.name) if step.on == NPU and not step.is_wait else None
        if timeline is not None:
            timeline = name_owners(timeline, [i for i in operators if _takes_time(plan, i)])
        now = facts[-1].end if facts else 0
        takes, beside = round(pace * (cpu or 0)), 0
        if profile is None and partition is not None and step.is_wait:
            takes = max(0, ends[step.name] - now)
        elif profile is None and partition is not None and step.name in awaited:
            takes = round(pace * partition.start_cycles)
            beside = round(pace * (partition.cycles or 0))
            ends[step.name] = now + takes + beside
        facts.append(
            CallFacts(number, step, operators, cpu, partition, timeline, now, takes, beside)
        )
    return tuple(facts)


def name_owners(timeline: NpuTimeline, operators: Sequence[int]) -> NpuTimeline:
    """Return a timeline in which operations without an operator have theirs, where that is clear.

    `operators` are those of the partition that take time. Vela names the operator of the first and
    of the last strip of a TRANSPOSE only. Operations between two of one operator serve it, too.
    Those between different operators serve the only one there without its own operations, else a
    neighbour whose operation is the same.
    """
    named = {event.operator for event in timeline.events}
    silent = [i for i in operators if i not in named]
    before = _latest(timeline.events)
    behind = _latest(timeline.events[::-1])[::-1]

    def owner(event: NpuEvent, low: NpuEvent | None, high: NpuEvent | None) -> int | None:
        ends = [end for end in (low, high) if end is not None]
        if low is not None and high is not None and low.operator == high.operator:
            return low.operator
        first, last = (end.operator if end else None for end in (low, high))
        between = [i for i in silent if (first is None or i > first) and (last is None or i < last)]
        alike = [end.operator for end in ends if end.name == event.name]
        return between[0] if len(between) == 1 else alike[0] if alike else None

    events = (
        event if event.operator is not None else replace(event, operator=owner(event, low, high))
        for event, low, high in zip(timeline.events, before, behind, strict=True)
    )
    return replace(timeline, events=tuple(events))


def _latest(events: Sequence[NpuEvent]) -> list[NpuEvent | None]:
    """Return, for each event, the last one before it whose operator is known."""
    latest: list[NpuEvent | None] = []
    last = None
    for event in events:
        latest.append(last)
        last = last if event.operator is None else event
    return latest


def _takes_time(plan: Plan, index: int) -> bool:
    """Return whether an operator does work; others only rename bytes, like a RESHAPE."""
    return plan.network.graph.operators[index].code not in _STORED


def _offered(plan: Plan, partition: Partition) -> int | None:
    """Return the cycles that an accelerator estimates for a partition, None if unknown.

    The NPU's own work is not the CPU's, and its start has no estimate.
    """
    if partition.on_npu:
        return 0
    offers = {
        placing.operator: offer
        for placing in plan.placings
        for offer in placing.offers
        if offer.backend == partition.backend and offer.cycles is not None
    }
    if any(i not in offers for i in partition.operators):
        return None
    return sum((offers[i].cycles or 0) + offers[i].start for i in partition.operators)


def _estimate(operators: Sequence[int], cycles: Mapping[int, int | None]) -> int | None:
    known = [cycles.get(i) for i in operators]
    if not known or None in known:
        return None
    return sum(each for each in known if each is not None)


class _Members:
    """Finds the residual graph's operators that a step computes, by its name and its output."""

    def __init__(self, plan: Plan) -> None:
        self._graph: Graph = plan.residual
        self._makers = {i: op for op in self._graph.operators for i in op.outputs}
        self._by_name = {self._graph.tensors[i].name: op for i, op in self._makers.items()}
        self._without_output = [op for op in self._graph.operators if not op.outputs]

    def of(self, step: ProgramStep) -> tuple[int, ...]:
        """Return the indices of a step's operators, () if they are not those of the entry graph.

        Call it for the steps in order: an operator without an output is the next of its name.
        """
        if step.inside:
            return ()
        last = self._by_name.get(step.output)
        if last is None:
            return self._next_without_output(step)
        codes = step.name.split(_JOINT)
        members = [last]
        for code in reversed(codes[:-1]):
            before = self._before(members[0], code)
            if before is None:
                break
            members.insert(0, before)
        return tuple(op.index for op in members)

    def _next_without_output(self, step: ProgramStep) -> tuple[int, ...]:
        operator = next((op for op in self._without_output if _is_called(op, step.name)), None)
        if operator is None:
            return ()
        self._without_output.remove(operator)
        return (operator.index,)

    def _before(self, operator: Operator, code: str) -> Operator | None:
        makers = (self._makers.get(i) for i in operator.inputs)
        return next((op for op in makers if op and _is_called(op, code)), None)


def _is_called(operator: Operator, name: str) -> bool:
    """Return whether a step's name for an operator is this one's."""
    return name in (operator.code, operator.title, operator.custom_code)
