"""Choose operators to keep on the CPU because the NPU is estimated to be slower.

A partition that costs less on the CPU than on the NPU, including the start of its command stream,
stays on the CPU completely. Otherwise operators at its ends can stay, one after another, as long as
each is cheaper there: they split nothing, so no additional command stream is needed. Finally, an
operator in the middle can stay if it saves more than the start of an additional stream costs. The
choice is used only if Vela's estimate of the whole plan, in which operators overlap, confirms it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ethosgen.backend.ethosu.offload.cost import INVOKE
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph, Operator
from ethosgen.values.plan import Choice, Plan

WORTH = 0.98
"""The ratio of cycles below which a new plan is worthwhile: less than 2 % is noise."""

CpuCycles = Callable[[Operator, Graph], int | None]
"""Estimates the cycles of an operator on the CPU; None if it has no code there, or if unknown."""


@dataclass(frozen=True)
class Costs:
    """Cycles of each original operator; None if the CPU has no code for it or they are unknown."""

    npu: Sequence[int]
    cpu: Sequence[int | None]

    def on_npu(self, operators: Sequence[int]) -> int:
        """Return the cycles of a partition on the NPU, including its start."""
        return INVOKE + sum(self.npu[i] for i in operators)

    def on_cpu(self, operators: Sequence[int]) -> int | None:
        """Return the cycles of operators on the CPU, None if one of them is unknown."""
        cycles = [self.cpu[i] for i in operators]
        return None if None in cycles else sum(c for c in cycles if c is not None)


class Reach(IntEnum):
    """The operators that can move to the CPU: whole partitions, ends of partitions, or any."""

    PARTS = 0
    ENDS = 1
    ANY = 2


def choose(
    graph: Graph, parts: Sequence[Sequence[int]], costs: Costs, reach: Reach
) -> dict[int, str]:
    """Return the operators that stay on the CPU, each with the reason for the user."""
    kept: dict[int, str] = {}
    for part in parts:
        alone = costs.on_cpu(part)
        if alone is not None and alone < costs.on_npu(part):
            why = (
                f"it is estimated faster here: its part takes {counted(alone, 'cycle')} on the CPU "
                f"and {costs.on_npu(part):,} on the NPU, of which {INVOKE} are for starting it"
            )
            kept |= dict.fromkeys(part, why)
            continue
        taken = _cheap_ends(graph, part, costs) if reach >= Reach.ENDS else []
        if reach is Reach.ANY:
            taken += [i for i in part if i not in taken and _is_cheaper(costs, i, INVOKE)]
        for index in taken:
            cpu = counted(costs.cpu[index] or 0, "cycle")
            kept[index] = (
                f"it is estimated faster here: {cpu} on the CPU, {costs.npu[index]:,} on the NPU"
            )
    return kept


def describe(
    parts: Sequence[Sequence[int]], kept: Mapping[int, str], costs: Costs
) -> tuple[Choice, ...]:
    """Return both estimates for each part, and for its operators that stay on the CPU."""
    choices = []
    for number, part in enumerate(parts):
        for on, members in (
            ("npu", [i for i in part if i not in kept]),
            ("cpu", [i for i in part if i in kept]),
        ):
            if members:
                start = INVOKE if on == "npu" or len(members) == len(part) else 0
                npu = start + sum(costs.npu[i] for i in members)
                choices.append(Choice(number, len(members), npu, costs.on_cpu(members), on))
    return tuple(choices)


def total(plan: Plan, kept: Mapping[int, str], costs: Costs) -> int:
    """Return the cycles of a plan, without operators that are on the CPU in any case."""
    on_npu = (plan.npu_cycles or 0) + INVOKE * len(plan.partitions)
    return on_npu + sum(costs.cpu[i] or 0 for i in kept)


def _cheap_ends(graph: Graph, part: Sequence[int], costs: Costs) -> list[int]:
    """Return operators to move from the ends of a part, as long as each is cheaper on the CPU."""
    left = list(part)
    taken: list[int] = []
    while True:
        end = next(
            (i for i in left if _is_end(graph, left, i) and _is_cheaper(costs, i)),
            None,
        )
        if end is None or len(left) == 1:
            return taken
        left.remove(end)
        taken.append(end)


def _is_cheaper(costs: Costs, index: int, more: int = 0) -> bool:
    cpu = costs.cpu[index]
    return cpu is not None and cpu + more < costs.npu[index]


def _is_end(graph: Graph, part: Sequence[int], index: int) -> bool:
    """Return whether an operator is the first or the last of its part."""
    mine = graph.operators[index]
    others = [graph.operators[i] for i in part if i != index]
    is_first = not any(set(mine.inputs) & set(other.outputs) for other in others)
    is_last = not any(set(mine.outputs) & set(other.inputs) for other in others)
    return is_first or is_last
