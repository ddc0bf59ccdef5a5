"""Offloads operators that the NPU leaves on the CPU to users' accelerators."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.protocol import CpuSide, Offer, Table, Wrapped
from ethosgen.values.allocation import Allocation, Index, Kept, OperatorIndex, ResidualIndex
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import (
    CpuOperator,
    IoStyle,
    Offered,
    OffloadMode,
    OffloadOptions,
    Plan,
)
from ethosgen.verdict.cpu_only import REASON as NO_NPU_REASON
from ethosgen.verdict.cpu_only import plan_cpu_only

ASKED = "you asked for it with --cpu-ops"


@dataclass(frozen=True)
class UserAccelerators:
    """The users' accelerators, in order of priority, and their use."""

    all: Sequence[Wrapped]
    options: OffloadOptions
    cpu: CpuSide

    def plan(self, plan: Plan, allocation: Allocation[OperatorIndex]) -> Plan:
        """Return the plan with partitions on the accelerators."""
        if not self.all:
            return plan
        held = self._held(plan, allocation)
        refusals: dict[str, dict[ResidualIndex, str]] = {}
        for place, accelerator in enumerate(self.all):
            offers = accelerator.offers(plan, held)
            dearer = self._dearer(plan, offers) if self._must_save(accelerator) else {}
            if self.options.mode is OffloadMode.AUTO:
                dearer |= self._outbid(plan, offers, self.all[place + 1 :], held)
            plan = accelerator.compile(plan, held | dearer)
            own = {index: offer.refusal for index, offer in offers.items() if offer.refusal}
            refusals[accelerator.name] = own | {i: why.reason for i, why in dearer.items()}
        return replace(plan, cpu_operators=_reasoned(plan, held, refusals))

    def offered(self, network: Network, io: IoStyle) -> dict[int, tuple[Offered, ...]]:
        """Return the offers of each accelerator for each operator, as if it were the only one."""
        if not self.all:
            return {}
        plan = plan_cpu_only(network, io)
        offered: dict[int, tuple[Offered, ...]] = {}
        for accelerator in self.all:
            offers = accelerator.offers(plan, Allocation())
            for index, offer in offered_by(accelerator.name, offers):
                offered[index] = (*offered.get(index, ()), offer)
        return offered

    def alternatives(
        self, network: Network, io: IoStyle, allocation: Allocation[OperatorIndex]
    ) -> CpuSide:
        """Return the CPU's side, with an accelerator's cycles where they are fewer."""
        plan = plan_cpu_only(network, io)
        best = self._best(plan, self.all, self._held(plan, allocation))
        return _Alternatives(self.cpu, {index: cycles for index, (cycles, _) in best.items()})

    def _best(
        self, plan: Plan, accelerators: Sequence[Wrapped], held: Allocation[ResidualIndex]
    ) -> dict[ResidualIndex, tuple[int, str]]:
        """Return the fewest cycles that accelerators offer for operators, and the accelerator.

        The cycles of a chain count at its first operator.
        """
        best: dict[ResidualIndex, tuple[int, str]] = {}
        for accelerator in accelerators:
            for members, total, own in self._chains(plan, accelerator.offers(plan, held)):
                is_known = all(i in best for i in members)
                known = sum(best[i][0] for i in members) if is_known else own
                if known is None or total < known:
                    best |= dict.fromkeys(members[1:], (0, accelerator.name))
                    best[members[0]] = (total, accelerator.name)
        return best

    def _outbid(
        self,
        plan: Plan,
        offers: Mapping[ResidualIndex, Offer],
        others: Sequence[Wrapped],
        held: Allocation[ResidualIndex],
    ) -> dict[ResidualIndex, Kept]:
        """Return the operators of chains for which a later accelerator offers fewer cycles."""
        best = self._best(plan, others, held)
        outbid: dict[ResidualIndex, Kept] = {}
        for members, total, _ in self._chains(plan, offers):
            if all(i in best for i in members) and sum(best[i][0] for i in members) < total:
                why = f"estimated at {counted(total, 'cycle')}, more than {best[members[0]][1]}"
                outbid |= dict.fromkeys(members, Kept(why))
        return outbid

    def _must_save(self, accelerator: Wrapped) -> bool:
        return accelerator.is_library or self.options.mode is OffloadMode.AUTO

    def _held(self, plan: Plan, allocation: Allocation[OperatorIndex]) -> Allocation[ResidualIndex]:
        """Return the operators of the residual graph that no accelerator may run."""
        asked = {
            ResidualIndex(operator.index): Kept(ASKED)
            for operator in plan.residual.operators
            if operator.code in self.options.cpu_ops
        }
        return allocation.everywhere.in_residual(plan.origins) | asked

    def _dearer(
        self, plan: Plan, offers: Mapping[ResidualIndex, Offer]
    ) -> dict[ResidualIndex, Kept]:
        """Return the operators of chains that are not estimated faster than on the CPU."""
        dearer: dict[ResidualIndex, Kept] = {}
        for members, total, own in self._chains(plan, offers):
            if own is not None and total >= own:
                why = f"estimated at {counted(total, 'cycle')}, but {own:,} on the CPU"
                dearer |= dict.fromkeys(members, Kept(why))
        return dearer

    def _chains(
        self, plan: Plan, offers: Mapping[ResidualIndex, Offer]
    ) -> Iterator[tuple[list[ResidualIndex], int, int | None]]:
        """Yield the members of each chain of known cost, its cycles there and on the CPU."""
        graph = plan.residual
        operators = {ResidualIndex(op.index): op for op in graph.operators}
        groups: dict[int, list[ResidualIndex]] = {}
        for index, offer in offers.items():
            if offer.group is not None:
                groups.setdefault(offer.group, []).append(index)
        for members in groups.values():
            theirs = [offers[i].cycles for i in members]
            if None not in theirs:
                total = sum(c or 0 for c in theirs) + offers[members[0]].start
                ours = [self.cpu.cpu_cycles(operators[i], graph) for i in members]
                yield members, total, None if None in ours else sum(c or 0 for c in ours)


@dataclass(frozen=True)
class _Alternatives:
    """The CPU's side, with the fewest cycles of an operator outside the NPU."""

    cpu: CpuSide
    best: Mapping[ResidualIndex, int]

    def cpu_cycles(self, operator: Operator, graph: Graph) -> int | None:
        own = self.cpu.cpu_cycles(operator, graph)
        other = self.best.get(ResidualIndex(operator.index))
        return min((c for c in (own, other) if c is not None), default=None)

    def require_places(self, plan: Plan) -> None:
        self.cpu.require_places(plan)

    def table_of(self, operator: Operator, graph: Graph) -> Table | None:
        return self.cpu.table_of(operator, graph)


def estimate(plan: Plan, cpu: CpuSide, start: int) -> tuple[int, int]:
    """Return the number of operators of unknown cost, and the cycles of all others.

    `start` are the cycles of the start of an NPU's partition.
    """
    residual = plan.residual
    free = {cpu.operator for cpu in plan.cpu_operators}
    on_cpu = [cpu.cpu_cycles(op, residual) for op in residual.operators if op.index in free]
    shares = [share.cycles for share in plan.shares]
    partitions = sum(partition.on_npu for partition in plan.partitions)
    known = [plan.npu_cycles or 0, start * partitions, *on_cpu, *shares]
    return known.count(None), sum(cycles for cycles in known if cycles is not None)


def offered_by(name: str, offers: Mapping[Index, Offer]) -> Iterator[tuple[Index, Offered]]:
    """Yield a backend's offers by operator; the start of a call counts at its first one."""
    groups: set[int] = set()
    for index, offer in sorted(offers.items()):
        is_first = offer.group is not None and offer.group not in groups
        groups |= {offer.group} if offer.group is not None else set()
        start = offer.start if is_first else 0
        yield index, Offered(name, offer.cycles, offer.refusal, start, offer.unknown)


def _reasoned(
    plan: Plan,
    held: Allocation[ResidualIndex],
    refusals: Mapping[str, Mapping[ResidualIndex, str]],
) -> tuple[CpuOperator, ...]:
    """Return the operators on the CPU, each with the reasons of all accelerators, by name.

    None may run those in `held`.
    """

    def reasoned(operator: CpuOperator) -> CpuOperator:
        if operator.operator in held:
            why = held[operator.operator]
            return replace(operator, reason=why.reason, erratum=why.erratum)
        reasons = {name: why[operator.operator] for name, why in refusals.items()}
        if operator.reason != NO_NPU_REASON:
            reasons = {plan.npu: operator.reason, **reasons}
        return replace(
            operator, reason="; ".join(f"{name}: {why}" for name, why in reasons.items())
        )

    return tuple(map(reasoned, plan.cpu_operators))
