"""Fold chains of a plan's residual graph into partitions that an accelerator runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.wrapped.arguments import Parameters
from ethosgen.backend.wrapped.declaration import Declaration
from ethosgen.backend.wrapped.folder import AcceleratorFolder
from ethosgen.backend.wrapped.matching import Match
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.dialect import CUSTOM
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Graph, Operator
from ethosgen.values.plan import IoStyle, Partition, Plan

ALIGNMENT = 16
"""The alignment of every tensor in the arena and in a caller's buffers."""


@dataclass(frozen=True)
class Taken:
    """A chain that an accelerator takes, its call, its cycles, its start's, and its device."""

    match: Match
    parameters: Parameters
    cycles: int | None
    start: int = 0
    instance: int = 0


def fold(plan: Plan, folder: AcceleratorFolder, taken: Sequence[Taken], steps: float = 0.0) -> Plan:
    """Return the plan with a partition for each chain; `steps` is the difference allowed."""
    graph, partitions, device = plan.residual, [], folder.declaration.device
    for number, take in enumerate(taken):
        graph, operator = _folded(graph, take.match, folder.name)
        members = [ResidualIndex(op.index) for op in take.match.site.operators]
        partition = Partition(
            f"{folder.slug}_{number}",
            ResidualIndex(operator.index),
            take.parameters.call,
            operator.inputs,
            operator.outputs,
            tuple(plan.origins[index] for index in members if index in plan.origins),
            payload=take,
            backend=folder.name,
            steps=steps if take.match.operation.difference else 0.0,
            instance=take.instance,
            instances=device.instances if device else 1,
            cycles=take.cycles,
            start_cycles=take.start,
        )
        partitions.append(partition)
    gone = {op.index for take in taken for op in take.match.site.operators}
    need = folder.declaration.memory.alignment
    ends = {i for p in partitions for i in (*p.inputs, *p.outputs)} if need > ALIGNMENT else set()
    return replace(
        plan,
        residual=graph,
        partitions=(*plan.partitions, *partitions),
        cpu_operators=tuple(cpu for cpu in plan.cpu_operators if cpu.operator not in gone),
        blobs=(*plan.blobs, *(blob for take in taken for blob in take.parameters.blobs)),
        scratches=(*plan.scratches, *(s for take in taken for s in take.parameters.scratches)),
        alignments={**plan.alignments, **{i: max(need, plan.alignments.get(i, 0)) for i in ends}},
    )


def _folded(graph: Graph, match: Match, name: str) -> tuple[Graph, Operator]:
    """Return the graph with one custom operator for a chain, in its last operator's place."""
    *others, last = match.site.operators
    inside = match.site.inner
    read = (i for op in match.site.operators for i in op.inputs)
    inputs = tuple(
        i
        for i in dict.fromkeys(read)
        if i != ABSENT and i not in inside and graph.tensors[i].data is None
    )
    folded = Operator(last.index, CUSTOM, inputs, last.outputs, custom_code=name)
    gone = {op.index for op in others}
    operators = (
        folded if op.index == last.index else op for op in graph.operators if op.index not in gone
    )
    return replace(graph, operators=tuple(operators)), folded


def place_fault(plan: Plan, match: Match, alignment: int) -> str:
    """Return why a chain cannot move to its last operator's place, or use its tensors."""
    tensors = plan.residual.tensors
    ends = [i for op in match.site.operators for i in (*op.inputs, *op.outputs) if i != ABSENT]
    for index in dict.fromkeys(ends):
        offset = plan.offsets.get(index, 0)
        if offset % alignment:
            return (
                f"{plan.compiler} placed '{tensors[index].name}' at an address that is not a "
                f"multiple of {alignment}"
            )
        if alignment > ALIGNMENT and _is_callers(plan, index):
            return f"the caller's buffer of '{tensors[index].name}' may not be aligned so"
    between = _between(plan.residual, match)
    on_npu = {p.operator for p in plan.partitions if p.on_npu}
    if between & on_npu and plan.offsets:
        return "a partition of the NPU runs between its operators"
    return ""


def state_fault(match: Match, declaration: Declaration) -> str:
    """Return why an accelerator cannot keep the state of a chain, "" if it can or there is none."""
    tensors = match.site.graph.tensors
    if not any(tensors[i].is_variable for op in match.site.operators for i in op.inputs if i >= 0):
        return ""
    if declaration.memory.local is not None:
        return "a state cannot be in its own memory"
    if declaration.memory.alignment > ALIGNMENT:
        return f"a state has an alignment of {counted(ALIGNMENT, 'byte')}"
    return "" if declaration.host else "its C does not run on this machine, which keeps the state"


def _is_callers(plan: Plan, index: int) -> bool:
    return plan.io is IoStyle.CALLER and index in (*plan.residual.inputs, *plan.residual.outputs)


def _between(graph: Graph, match: Match) -> set[int]:
    """Return the operators between the first and the last of a chain."""
    order = [op.index for op in graph.operators]
    places = sorted(order.index(op.index) for op in match.site.operators)
    return set(order[places[0] : places[-1] + 1])
