"""Layers whose outputs may lie over their inputs, if the steps that need the most memory need them.

A layer is changed no further than that helps. Each part of its rows reads the weights again, so
parts have as many rows as possible.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ethosgen.aot.libraries import cheapest, least_cycles
from ethosgen.aot.libraries.framework.library import Library
from ethosgen.aot.libraries.framework.parts import IN_PLACE, PART_ROWS
from ethosgen.aot.rows.choice import Cutting
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import Operator

CODES = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
FREELY = 0.02
"""The share of a layer's estimated cycles that parts may cost without a limit on the memory."""
AT_ANY_COST = 1.0
LEAST_ROWS = 16
"""The rows of the smallest part: fewer save little, and cost much."""


@dataclass(frozen=True)
class _Division:
    """A step with a number of rows in a part, and the bytes that are live in it."""

    step: Step
    bytes: int


def in_parts(
    schedule: StepSchedule, among: Sequence[Library], limit: int, share: float
) -> tuple[StepSchedule, ...]:
    """Return schedules, whose kernels are built, with layers in parts; none if that saves nothing.

    They are divided until no step needs more bytes than `limit`, or than one that cannot be
    divided. Parts add at most a `share` of a layer's cycles. In the last schedule every other
    layer begins at its end: where one output lies before its input, the next may lie behind.
    """
    cutting = Cutting(schedule)
    whole = [_Division(s, cutting.bytes_over(i, s)) for i, s in enumerate(schedule.steps)]
    fixed = (each.bytes for each in whole if not _is_candidate(schedule, each.step))
    goal = max(limit, max(fixed, default=0))
    choices = [
        [each, *_divisions(cutting, index, among, share)] if each.bytes > goal else [each]
        for index, each in enumerate(whole)
    ]
    goal = max([goal, *(min(each.bytes for each in some) for some in choices)])
    chosen = [next(each for each in some if each.bytes <= goal).step for some in choices]
    if all(new is old for new, old in zip(chosen, schedule.steps, strict=True)):
        return ()
    turned = _alternating(schedule, chosen, among)
    return tuple(replace(schedule, steps=tuple(steps)) for steps in (chosen, turned))


def _alternating(
    schedule: StepSchedule, steps: Sequence[Step], among: Sequence[Library]
) -> Iterator[Step]:
    """Yield steps; every other one of those in parts begins with its last part."""
    is_turned = False
    for step in steps:
        part = step.operator.options.get(PART_ROWS)
        if part and is_turned:
            options = {**step.operator.options, PART_ROWS: -part}
            operator = replace(step.operator, options=options)
            yield replace(step, operator=operator, kernel=cheapest(schedule.graph, operator, among))
        else:
            yield step
        is_turned ^= bool(part)


def _is_candidate(schedule: StepSchedule, step: Step) -> bool:
    kernel = step.kernel
    return (
        step.operator.code in CODES and kernel is not None and not step.tail
        and kernel.distance is None and _rows(schedule, step.operator) > LEAST_ROWS
    )  # fmt: skip


def _rows(schedule: StepSchedule, op: Operator) -> int:
    target = schedule.graph.tensors[op.outputs[0]]
    return target.elements // max(target.shape[-1], 1) if target.shape else 1


def _divisions(
    cutting: Cutting, index: int, among: Sequence[Library], share: float
) -> Iterator[_Division]:
    """Yield a step with smaller and smaller parts, as far as they are worth their cost."""
    schedule, step = cutting.schedule, cutting.schedule.steps[index]
    if not _is_candidate(schedule, step):
        return
    extension = schedule.plan.extension
    cost = least_cycles(schedule.graph, step.operator, extension)
    for options in _options(schedule, step.operator):
        divided = replace(step.operator, options={**step.operator.options, **options})
        more = least_cycles(schedule.graph, divided, extension)
        if cost is None or more is None or more > (1 + share) * cost:
            return
        kernel = cheapest(schedule.graph, divided, among)
        if kernel is None or (kernel.distance is None and not kernel.in_place):
            return
        changed = replace(step, operator=divided, kernel=kernel)
        yield _Division(changed, cutting.bytes_over(index, changed))


def _options(schedule: StepSchedule, op: Operator) -> Iterator[dict[str, int]]:
    """Yield options that let an output lie over its input; later ones save more, and cost more."""
    if op.code == "DEPTHWISE_CONV_2D":
        yield {IN_PLACE: True}
        return
    rows = _rows(schedule, op)
    sizes = (max(rounded_up(pieces(rows, parts), 2), LEAST_ROWS) for parts in range(2, rows))
    yield from ({PART_ROWS: part} for part in dict.fromkeys(sizes))
