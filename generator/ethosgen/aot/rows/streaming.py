"""Chains of a schedule that compute bands of rows, and the schedule with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ethosgen.aot.code.slices import progress_symbol
from ethosgen.aot.fuse.fusion import finished_kernel
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.rows.chain import Slices, chain_kernel
from ethosgen.aot.rows.pacing import Pacing, RowLink, pace_chain
from ethosgen.aot.rows.patches import Patch, patches_of, whole
from ethosgen.aot.rows.reach import reach_of
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor
from ethosgen.values.program import RowFeed


@dataclass(frozen=True)
class RowChain:
    """The steps from `first` to before `end`, with `rows` rows of the last one's output per turn.

    Half a row means one in two turns. With several `patches`, each has some of the columns.
    """

    first: int
    end: int
    rows: Fraction
    patches: int = 1


def row_steps(schedule: StepSchedule) -> list[bool]:
    """Return, for each step, whether it can be in a chain."""
    tensors = schedule.graph.tensors
    return [
        not step.partition and not step.tail and reach_of(step.operator, tensors) is not None
        for step in schedule.steps
    ]


def pacing_of(schedule: StepSchedule, chain: RowChain) -> Pacing | None:
    """Return the pacing of a chain's whole rows, None if its steps do not form one."""
    links = _links(schedule, chain)
    tensors = schedule.graph.tensors
    return pace_chain(links, tensors, chain.rows, fed_inputs(schedule)) if links else None


def patches_in(schedule: StepSchedule, chain: RowChain) -> tuple[Patch, ...] | None:
    """Return the patches of a chain, one if it is whole; None if its steps do not form one."""
    tensors = schedule.graph.tensors
    if chain.patches == 1:
        pacing = pacing_of(schedule, chain)
        return None if pacing is None else (whole(pacing, tensors),)
    links = _links(schedule, chain)
    if not links or schedule.plan.options.schedule.is_sliced:
        return None
    return patches_of(links, tensors, chain.rows, chain.patches)


def _links(schedule: StepSchedule, chain: RowChain) -> list[RowLink]:
    """Return the operators of a chain, none if they do not form one."""
    links: list[RowLink] = []
    tensors = schedule.graph.tensors
    for step in schedule.steps[chain.first : chain.end]:
        reach = None if step.partition else reach_of(step.operator, tensors)
        if reach is None:
            return []
        links.append(RowLink(step.operator, reach))
    inner = {link.output for link in links[:-1]}
    others = [
        *schedule.steps[: chain.first], *schedule.steps[chain.end :]
    ]  # fmt: skip
    read = {i for step in others for i in schedule.reads(step)}
    if inner & (read | set(schedule.graph.outputs)) or inner & schedule.plan.offsets.keys():
        return []
    used = {i for link in links for i in link.op.inputs}
    return links if inner <= used else []


def fed_inputs(schedule: StepSchedule) -> tuple[int, ...]:
    """Return the inputs that the caller gives by rows."""
    return schedule.graph.inputs if schedule.plan.options.schedule.feed else ()


def streamed(
    schedule: StepSchedule, chains: Sequence[RowChain], libraries: Sequence[Library], name: str
) -> StepSchedule:
    """Return a schedule in which each chain is one step with a kernel."""
    steps, feed = list(schedule.steps), None
    for chain in sorted(chains, key=lambda chain: -chain.first):
        patches = patches_in(schedule, chain)
        if patches is None:
            raise ValueError(f"the steps {chain.first} to {chain.end} are no chain")
        pacing = patches[0].pacing
        kernel = _kernel(schedule, patches, libraries, name, f"{name}_chain_{chain.first}")
        if fed_inputs(schedule) and not chain.first:
            feed = _feed(schedule, pacing)
        first, *rest = (step.operator for step in steps[chain.first : chain.end])
        shares = pacing.shares(fed_inputs(schedule))
        step = Step(first, None, tuple(rest), kernel, turns=len(pacing.turns), shares=shares)
        steps[chain.first : chain.end] = [step]
    return replace(schedule, steps=tuple(steps), feed=feed)


def _feed(schedule: StepSchedule, pacing: Pacing) -> RowFeed:
    (index,) = pacing.inputs
    rows = schedule.graph.tensors[index].shape[1]
    elements = schedule.graph.tensors[index].elements // rows
    return RowFeed(rows, pacing.paces[index].rows, elements)


def _kernel(
    schedule: StepSchedule,
    patches: Sequence[Patch],
    libraries: Sequence[Library],
    name: str,
    symbol: str,
) -> Kernel:
    def build(op: Operator, tensors: tuple[Tensor, ...]) -> Kernel:
        banded = replace(schedule, graph=replace(schedule.graph, tensors=tensors))
        return finished_kernel(banded, op, libraries)

    is_sliced = schedule.plan.options.schedule.is_sliced
    slices = Slices(progress_symbol(name), fed_inputs(schedule)) if is_sliced else None
    return chain_kernel(patches, schedule.graph.tensors, build, symbol, slices)
