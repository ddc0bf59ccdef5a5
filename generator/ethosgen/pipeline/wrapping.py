"""Gives operators that the NPU leaves on the CPU to the accelerators that users describe."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethosgen.backend import CpuSide, Offer, Wrapped
from ethosgen.pipeline.cpu_only import REASON as NO_NPU_REASON
from ethosgen.values.grammar import counted
from ethosgen.values.plan import CpuOperator, Kept, OffloadMode, OffloadOptions, Plan


def with_wrapped(
    plan: Plan,
    accelerators: Sequence[Wrapped],
    kept: Mapping[int, Kept],
    options: OffloadOptions,
    cpu: CpuSide,
) -> Plan:
    """Return the plan with partitions on the accelerators, each asked in turn.

    `kept` is by the network's operators.
    """
    if not accelerators:
        return plan
    held = _held(plan, kept, options)
    refusals: dict[str, dict[int, str]] = {}
    for one in accelerators:
        offers = one.offers(plan, held)
        dearer = _dearer(plan, offers, cpu) if _must_save(one, options) else {}
        plan = one.compile(plan, {**held, **dearer})
        told = {index: offer.refusal for index, offer in offers.items() if offer.refusal}
        refusals[one.name] = told | {index: why.reason for index, why in dearer.items()}
    return replace(plan, cpu_operators=_reasoned(plan, held, refusals))


def _must_save(one: Wrapped, options: OffloadOptions) -> bool:
    return one.is_library or options.mode is OffloadMode.AUTO


def _held(plan: Plan, kept: Mapping[int, Kept], options: OffloadOptions) -> dict[int, Kept]:
    """Return the operators of the residual graph that no accelerator may run."""
    everywhere = {index: why for index, why in kept.items() if why.everywhere}
    found = {
        ours: everywhere[theirs] for ours, theirs in plan.origins.items() if theirs in everywhere
    }
    for operator in plan.residual.operators:
        if operator.code in options.cpu_ops:
            found[operator.index] = Kept("you asked for it with --cpu-ops")
    return found


def _dearer(plan: Plan, offers: Mapping[int, Offer], cpu: CpuSide) -> dict[int, Kept]:
    """Return the operators of chains that are estimated not to be faster than on the CPU."""
    graph = plan.residual
    operators = {op.index: op for op in graph.operators}
    groups: dict[int, list[int]] = {}
    for index, offer in offers.items():
        if offer.group is not None:
            groups.setdefault(offer.group, []).append(index)
    found: dict[int, Kept] = {}
    for members in groups.values():
        theirs = [offers[i].cycles for i in members]
        ours = [cpu.cpu_cycles(operators[i], graph) for i in members]
        if None in theirs or None in ours:
            continue  # nobody knows better than the declaration
        total = sum(c for c in theirs if c is not None) + offers[members[0]].start
        own = sum(c for c in ours if c is not None)
        if total >= own:
            why = f"estimated at {counted(total, 'cycle')}, but {own:,} on the CPU"
            found |= dict.fromkeys(members, Kept(why))
    return found


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
        told = {name: why[operator.operator] for name, why in refusals.items()}
        if operator.reason != NO_NPU_REASON:
            told = {plan.npu: operator.reason, **told}
        return replace(operator, reason="; ".join(f"{name}: {why}" for name, why in told.items()))

    return tuple(map(reasoned, plan.cpu_operators))
