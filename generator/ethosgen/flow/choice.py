"""Choose operators to keep on the CPU because the accelerator is estimated to be slower.

Operators at the ends of a partition can stay on the CPU, one after another, as long as each is
cheaper there: they do not split the partition. An operator in the middle can stay if it saves more
than the start of an additional partition costs. If the rest of a partition, including its start,
costs more than on the CPU, the whole partition stays on the CPU. The choice is used only if the
compiler's estimate of the whole plan, in which operators overlap, confirms it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum

from ethosgen.backend.protocol import Compiler, DivisionTask, Offer
from ethosgen.values.allocation import Allocation, Kept, OperatorIndex
from ethosgen.values.errors import RefusalError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph
from ethosgen.values.plan import Choice, Plan

WORTH = 0.98
"""The ratio of cycles below which a new plan is worthwhile: less than 2 % is noise."""


def faster_plan(
    compiler: Compiler, task: DivisionTask, allocation: Allocation[OperatorIndex]
) -> Plan:
    """Return a plan with only those operators on the accelerator that are not faster on the CPU."""
    graph, offers = task.network.graph, compiler.offers(task, allocation)
    costs = Costs(offers, [task.cpu.cpu_cycles(op, graph) for op in graph.operators])
    best: dict[OperatorIndex, str] = {}
    best_plan, least = None, sum(map(costs.on_npu, costs.parts))
    for reach in Reach if costs.parts else ():
        chosen = choose(graph, costs, reach)
        if chosen and chosen != best:
            with suppress(RefusalError):  # the current plan remains valid
                dearer = Allocation({index: Kept(reason) for index, reason in chosen.items()})
                plan = compiler.compile(task, dearer | allocation)
                if (total := costs.of_plan(plan, chosen)) < WORTH * least:
                    best_plan, best, least = plan, chosen, total
    plan = best_plan or compiler.compile(task, allocation)
    return replace(plan, choices=describe(best, costs))


@dataclass(frozen=True)
class Costs:
    """An accelerator's offers, and the CPU's cycles for each operator, None if unknown."""

    offers: Mapping[OperatorIndex, Offer]
    cpu: Sequence[int | None]

    @property
    def parts(self) -> list[list[OperatorIndex]]:
        """The operators of each partition, if the accelerator runs all its offers."""
        parts: dict[int, list[OperatorIndex]] = {}
        for index, offer in self.offers.items():
            if offer.group is not None:
                parts.setdefault(offer.group, []).append(index)
        return list(parts.values())

    def npu(self, index: OperatorIndex) -> int:
        """Return the cycles of an operator on the accelerator."""
        return self.offers[index].cycles or 0

    def start(self, part: Sequence[OperatorIndex]) -> int:
        """Return the cycles of a partition's start."""
        return self.offers[part[0]].start

    def on_npu(self, part: Sequence[OperatorIndex]) -> int:
        """Return the cycles of a partition, including its start."""
        return self.start(part) + sum(map(self.npu, part))

    def on_cpu(self, operators: Sequence[OperatorIndex]) -> int | None:
        """Return the cycles of operators on the CPU, None if one of them is unknown."""
        cycles = [self.cpu[i] for i in operators]
        return None if None in cycles else sum(c for c in cycles if c is not None)

    def saving(self, index: OperatorIndex) -> int:
        """Return the cycles that an operator saves on the CPU; 0 if unknown."""
        cpu = self.cpu[index]
        return 0 if cpu is None else self.npu(index) - cpu

    def of_plan(self, plan: Plan, chosen: Mapping[OperatorIndex, str]) -> int:
        """Return the cycles of a plan, without operators that can run only on the CPU."""
        starts = self.start(self.parts[0]) * len(plan.partitions)
        return (plan.npu_cycles or 0) + starts + sum(self.cpu[i] or 0 for i in chosen)


class Reach(IntEnum):
    """The operators that can move to the CPU: whole partitions, ends of partitions, or any."""

    PARTS = 0
    ENDS = 1
    ANY = 2


def choose(graph: Graph, costs: Costs, reach: Reach) -> dict[OperatorIndex, str]:
    """Return the operators that stay on the CPU, each with the reason for the user."""
    chosen: dict[OperatorIndex, str] = {}
    for part in costs.parts:
        alone, start = costs.on_cpu(part), costs.start(part)
        taken = _cheap_ends(graph, part, costs) if reach >= Reach.ENDS else []
        saved = sum(costs.saving(i) for i in taken)
        if reach is Reach.ANY:
            inner = [i for i in part if i not in taken and _is_cheaper(costs, i, start)]
            saved += sum(costs.saving(i) - start for i in inner)
            taken += inner
        if alone is not None and alone < costs.on_npu(part) - saved:
            why = (
                f"it is estimated faster here: its part takes {counted(alone, 'cycle')} on the CPU "
                f"and {costs.on_npu(part):,} on the NPU, of which {start} are for starting it"
            )
            chosen |= dict.fromkeys(part, why)
            continue
        for index in taken:
            cpu = counted(costs.cpu[index] or 0, "cycle")
            chosen[index] = (
                f"it is estimated faster here: {cpu} on the CPU, {costs.npu(index):,} on the NPU"
            )
    return chosen


def describe(chosen: Mapping[OperatorIndex, str], costs: Costs) -> tuple[Choice, ...]:
    """Return both estimates for each part, and for its operators that stay on the CPU."""
    choices = []
    for number, part in enumerate(costs.parts):
        for on, members in (
            ("npu", [i for i in part if i not in chosen]),
            ("cpu", [i for i in part if i in chosen]),
        ):
            if members:
                start = costs.start(part) if on == "npu" or len(members) == len(part) else 0
                npu = start + sum(map(costs.npu, members))
                choices.append(Choice(number, len(members), npu, costs.on_cpu(members), on))
    return tuple(choices)


def _cheap_ends(graph: Graph, part: Sequence[OperatorIndex], costs: Costs) -> list[OperatorIndex]:
    """Return operators to move from the ends of a part, as long as each is cheaper on the CPU."""
    left = list(part)
    taken: list[OperatorIndex] = []
    while True:
        end = next(
            (i for i in left if _is_end(graph, left, i) and _is_cheaper(costs, i)),
            None,
        )
        if end is None or len(left) == 1:
            return taken
        left.remove(end)
        taken.append(end)


def _is_cheaper(costs: Costs, index: OperatorIndex, more: int = 0) -> bool:
    cpu = costs.cpu[index]
    return cpu is not None and cpu + more < costs.npu(index)


def _is_end(graph: Graph, part: Sequence[OperatorIndex], index: int) -> bool:
    """Return whether an operator is the first or the last of its part."""
    mine = graph.operators[index]
    others = [graph.operators[i] for i in part if i != index]
    is_first = not any(set(mine.inputs) & set(other.outputs) for other in others)
    is_last = not any(set(mine.outputs) & set(other.inputs) for other in others)
    return is_first or is_last
