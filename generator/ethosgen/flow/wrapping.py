"""Offloads operators that the NPU leaves on the CPU to accelerators that users describe."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.protocol import CpuSide, Offer, Table, Wrapped
from ethosgen.values.grammar import counted
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import (
    CpuOperator,
    IoStyle,
    Kept,
    Offered,
    OffloadMode,
    OffloadOptions,
    Plan,
)
from ethosgen.verdict.cpu_only import REASON as NO_NPU_REASON
from ethosgen.verdict.cpu_only import plan_cpu_only

ASKED = "you asked for it with --cpu-ops"


@dataclass(frozen=True)
class Helpers:
    """The users' accelerators, in the order in which they are asked, and how to use them."""

    accelerators: Sequence[Wrapped]
    options: OffloadOptions
    cpu: CpuSide

    def plan(self, plan: Plan, kept: Mapping[int, Kept]) -> Plan:
        """Return the plan with partitions on the accelerators; `kept` is by network operator."""
        if not self.accelerators:
            return plan
        held = self._held(plan, kept)
        refusals: dict[str, dict[int, str]] = {}
        for place, one in enumerate(self.accelerators):
            offers = one.offers(plan, held)
            dearer = self._dearer(plan, offers) if self._must_save(one) else {}
            if self.options.mode is OffloadMode.AUTO:
                dearer |= self._outbid(plan, offers, self.accelerators[place + 1 :], held)
            plan = one.compile(plan, {**held, **dearer})
            own = {index: offer.refusal for index, offer in offers.items() if offer.refusal}
            refusals[one.name] = own | {index: why.reason for index, why in dearer.items()}
        return replace(plan, cpu_operators=_reasoned(plan, held, refusals))

    def offered(self, network: Network, io: IoStyle) -> dict[int, tuple[Offered, ...]]:
        """Return the offers of each accelerator for each operator, as if it were the only one."""
        if not self.accelerators:
            return {}
        plan = plan_cpu_only(network, io)
        found: dict[int, tuple[Offered, ...]] = {}
        for one in self.accelerators:
            for index, offer in offered_by(one.name, one.offers(plan, {})):
                found[index] = (*found.get(index, ()), offer)
        return found

    def alternatives(self, network: Network, io: IoStyle, kept: Mapping[int, Kept]) -> CpuSide:
        """Return the CPU's side with the cycles of the accelerators where they are fewer."""
        plan = plan_cpu_only(network, io)
        best = self._best(plan, self.accelerators, self._held(plan, kept))
        return _Alternatives(self.cpu, {index: cycles for index, (cycles, _) in best.items()})

    def _best(
        self, plan: Plan, accelerators: Sequence[Wrapped], held: Mapping[int, Kept]
    ) -> dict[int, tuple[int, str]]:
        """Return the fewest cycles that accelerators offer for operators, and which it is.

        The cycles of a chain count at its first operator.
        """
        best: dict[int, tuple[int, str]] = {}
        for one in accelerators:
            for members, total, own in self._chains(plan, one.offers(plan, held)):
                is_known = all(i in best for i in members)
                known = sum(best[i][0] for i in members) if is_known else own
                if known is None or total < known:
                    best |= dict.fromkeys(members[1:], (0, one.name))
                    best[members[0]] = (total, one.name)
        return best

    def _outbid(
        self,
        plan: Plan,
        offers: Mapping[int, Offer],
        others: Sequence[Wrapped],
        held: Mapping[int, Kept],
    ) -> dict[int, Kept]:
        """Return the operators of chains that an accelerator asked later offers for less."""
        best = self._best(plan, others, held)
        found: dict[int, Kept] = {}
        for members, total, _ in self._chains(plan, offers):
            if all(i in best for i in members) and sum(best[i][0] for i in members) < total:
                why = f"estimated at {counted(total, 'cycle')}, more than {best[members[0]][1]}"
                found |= dict.fromkeys(members, Kept(why))
        return found

    def _must_save(self, one: Wrapped) -> bool:
        return one.is_library or self.options.mode is OffloadMode.AUTO

    def _held(self, plan: Plan, kept: Mapping[int, Kept]) -> dict[int, Kept]:
        """Return the operators of the residual graph that no accelerator may run."""
        everywhere = {index: why for index, why in kept.items() if why.everywhere}
        origins = plan.origins.items()
        found = {ours: everywhere[theirs] for ours, theirs in origins if theirs in everywhere}
        for operator in plan.residual.operators:
            if operator.code in self.options.cpu_ops:
                found[operator.index] = Kept(ASKED)
        return found

    def _dearer(self, plan: Plan, offers: Mapping[int, Offer]) -> dict[int, Kept]:
        """Return the operators of chains that are not estimated faster than on the CPU."""
        found: dict[int, Kept] = {}
        for members, total, own in self._chains(plan, offers):
            if own is not None and total >= own:
                why = f"estimated at {counted(total, 'cycle')}, but {own:,} on the CPU"
                found |= dict.fromkeys(members, Kept(why))
        return found

    def _chains(
        self, plan: Plan, offers: Mapping[int, Offer]
    ) -> Iterator[tuple[list[int], int, int | None]]:
        """Yield the members of each chain of known cost, its cycles there and on the CPU."""
        graph = plan.residual
        operators = {op.index: op for op in graph.operators}
        groups: dict[int, list[int]] = {}
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
    """The CPU's side, with the fewest cycles of an operator anywhere but on the NPU."""

    cpu: CpuSide
    best: Mapping[int, int]

    def cpu_cycles(self, operator: Operator, graph: Graph) -> int | None:
        own = self.cpu.cpu_cycles(operator, graph)
        other = self.best.get(operator.index)
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
    free = {one.operator for one in plan.cpu_operators}
    on_cpu = [cpu.cpu_cycles(op, residual) for op in residual.operators if op.index in free]
    shares = [share.cycles for share in plan.shares]
    partitions = sum(partition.on_npu for partition in plan.partitions)
    known = [plan.npu_cycles or 0, start * partitions, *on_cpu, *shares]
    return known.count(None), sum(cycles for cycles in known if cycles is not None)


def offered_by(name: str, offers: Mapping[int, Offer]) -> Iterator[tuple[int, Offered]]:
    """Yield a backend's offers by operator; the start of a call counts at its first one."""
    groups: set[int] = set()
    for index, offer in sorted(offers.items()):
        is_first = offer.group is not None and offer.group not in groups
        groups |= {offer.group} if offer.group is not None else set()
        yield index, Offered(name, offer.cycles, offer.refusal, offer.start if is_first else 0)


def _reasoned(
    plan: Plan, kept: Mapping[int, Kept], refusals: Mapping[str, Mapping[int, str]]
) -> tuple[CpuOperator, ...]:
    """Return the operators on the CPU, each with the reasons of all accelerators, by their names.

    `kept` are those that none may run.
    """

    def reasoned(operator: CpuOperator) -> CpuOperator:
        if operator.operator in kept:
            why = kept[operator.operator]
            return replace(operator, reason=why.reason, erratum=why.erratum)
        reasons = {name: why[operator.operator] for name, why in refusals.items()}
        if operator.reason != NO_NPU_REASON:
            reasons = {plan.npu: operator.reason, **reasons}
        return replace(
            operator, reason="; ".join(f"{name}: {why}" for name, why in reasons.items())
        )

    return tuple(map(reasoned, plan.cpu_operators))
