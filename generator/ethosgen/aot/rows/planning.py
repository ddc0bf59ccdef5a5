"""The schedule of a plan with fused operators, and with chains if its options request them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ethosgen.aot.fuse.fusion import arena_bytes, fuse_chains, with_kernels
from ethosgen.aot.libraries import libraries
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.memory.portions import with_portions
from ethosgen.aot.rows.choice import NO_LIMIT, Cut, Cutting, chains_of
from ethosgen.aot.rows.feeding import require_feed, require_slices
from ethosgen.aot.rows.parts import AT_ANY_COST, FREELY, in_parts
from ethosgen.aot.rows.streaming import streamed
from ethosgen.aot.schedule.schedule import Step, StepSchedule, make_schedule
from ethosgen.values.plan import Plan
from ethosgen.values.schedule import Streaming

TRIES = 4
"""How often the limit is lowered by what the memory plan exceeds it."""


def ready_schedule(plan: Plan, name: str) -> StepSchedule:
    """Return the schedule whose kernels are built; `name` begins the names of C functions.

    With Streaming.AUTO there are chains only if the arena exceeds the options' limit without them,
    or if the input is fed by rows. If nothing meets the limit, the smallest schedule is returned.
    With an NPU there are none, since its compiler has placed the tensors, unless the options give
    the CPU the network's head.
    """
    asked, among = plan.options.schedule, libraries(plan.extension)
    limit = 0 if asked.stream is Streaming.ALWAYS else asked.arena_bytes
    schedule = with_kernels(make_schedule(plan), among)
    require_slices(schedule)
    fused = partial(_fused, among=among)
    forms = [fused(schedule)]
    if asked.stream is not Streaming.OFF:
        forms += map(fused, in_parts(schedule, among, 0, FREELY))
    form, usual = min(forms, key=_arena_bytes)
    is_placed = asked.bands_above is None and any(step.on_npu for step in usual.steps)
    is_off = asked.stream is Streaming.OFF or is_placed
    if not asked.feed and (is_off or limit is None or arena_bytes(usual) <= limit):
        return usual
    if limit is not None and asked.stream is not Streaming.OFF:
        forms = [forms[0], *map(fused, in_parts(schedule, among, limit, AT_ANY_COST))]
        form, usual = min(forms, key=_arena_bytes)
        if not asked.feed and arena_bytes(usual) <= limit:
            return usual
    plain, over = Cutting(schedule), Cutting(form, is_over=True)
    if asked.feed:
        require_feed(schedule, plain.within(NO_LIMIT))
    limit = NO_LIMIT if limit is None else limit
    best = None if asked.feed else usual
    for cutting in (over,) if over.alone == plain.alone else (over, plain):
        with_chains = partial(_with_chains, cutting.schedule, usual, among, name)
        best = _within(limit, cutting, with_chains, best)
        if arena_bytes(best) <= limit:
            break
    return best or usual


_Forms = tuple[StepSchedule, StepSchedule]
"""A schedule without chains, and the same with fused operators."""


def _fused(schedule: StepSchedule, among: Sequence[Library]) -> _Forms:
    return schedule, _with_portions(schedule, fuse_chains(schedule, among), among)


def _arena_bytes(forms: _Forms) -> float:
    return arena_bytes(forms[1])


def _with_chains(
    schedule: StepSchedule,
    usual: StepSchedule,
    among: Sequence[Library],
    name: str,
    cuts: Sequence[Cut],
) -> StepSchedule:
    """Return a schedule with the chains among cuts, and fused operators; `usual` without chains."""
    chains = chains_of(cuts)
    if not chains:
        return usual
    fused = fuse_chains(streamed(schedule, chains, among, name), among)
    return replace(fused, stream_cycles=round(sum(cut.cycles for cut in cuts)))


def _with_portions(
    schedule: StepSchedule, usual: StepSchedule, among: Sequence[Library]
) -> StepSchedule:
    """Return the usual schedule, or one with large layers in portions.

    What it takes of the arena is no longer there for copies.
    """
    plan, graph, rule = schedule.plan, schedule.graph, schedule.plan.fetch
    asked = plan.options.schedule
    if not rule.bytes or asked.is_sliced:
        return usual
    divided = with_portions(graph, rule)
    if divided is graph:
        return usual
    known = {step.operator.index: step for step in schedule.steps}
    steps = tuple(known.get(op.index, Step(op, None)) for op in divided.operators)
    portioned = with_kernels(replace(schedule, graph=divided, steps=steps), among)
    portioned = fuse_chains(portioned, among)
    growth = max(arena_bytes(portioned) - arena_bytes(usual), 0)
    is_over = asked.arena_bytes is not None and arena_bytes(portioned) > asked.arena_bytes
    if growth > rule.bytes / 2 or (growth and is_over):
        return usual
    left = replace(rule, bytes=rule.bytes - int(growth))
    return replace(portioned, plan=replace(plan, fetch=left))


def _within(
    limit: int,
    cutting: Cutting,
    with_chains: Callable[[tuple[Cut, ...]], StepSchedule],
    best: StepSchedule | None,
) -> StepSchedule:
    """Return the fastest schedule within a limit, else the smallest, `best` among them."""
    aim = limit
    for _ in range(TRIES if limit else 0):
        cuts = cutting.within(aim)
        if cuts is None:
            break
        trial = with_chains(cuts)
        best = trial if best is None else min(best, trial, key=arena_bytes)
        excess = arena_bytes(best) - limit
        if excess <= 0:
            return best
        aim -= int(excess)
    smallest = with_chains(cutting.smallest())
    return smallest if best is None else min(best, smallest, key=arena_bytes)
