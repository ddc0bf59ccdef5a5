"""Prove from the final addresses of all tensors that none is overwritten while live.

A violation is a bug of ethosgen, whichever stage moved an operator or a tensor.
"""

from collections.abc import Iterable
from itertools import combinations

from ethosgen.aot.graph.schedule import Schedule
from ethosgen.aot.memory.plan import Block, MemoryPlan, lifetimes
from ethosgen.values.errors import InternalError
from ethosgen.values.lives import outgrows, times


def check_memory(schedule: Schedule, memory: MemoryPlan) -> None:
    """Raise InternalError if two live blocks overlap, or a tensor outlives Vela's lifetime."""
    variables = {held.tensor for held in memory.variables}
    velas = [b for b in memory.blocks if b.by_vela and not variables.intersection(b.values)]
    for block in velas:
        _check_life(schedule, block.name, block.values, block.steps)
    on_npu = frozenset(i for i, step in enumerate(schedule.steps) if step.partition)
    for one, other in combinations(memory.blocks, 2):
        if one.overlaps(other) and _needed_together(one, other, on_npu):
            raise InternalError(f"'{one.name}' and '{other.name}' share bytes of the arena")


def check_lives(schedule: Schedule) -> None:
    """Raise InternalError if a tensor is live when Vela could have reused its bytes."""
    for tensor, steps in lifetimes(schedule).items():
        if tensor in schedule.plan.offsets:
            _check_life(schedule, schedule.graph.tensors[tensor].name, (tensor,), steps)


def _check_life(
    schedule: Schedule, name: str, values: Iterable[int], steps: frozenset[int]
) -> None:
    clock = times(step.partition is not None for step in schedule.steps)
    known = [schedule.plan.lives[i] for i in values if i in schedule.plan.lives]
    life = clock[min(steps)], clock[max(steps)]
    velas = min((a for a, _ in known), default=0), max((b for _, b in known), default=-1)
    if outgrows(life, velas, clock[-1]):
        raise InternalError(f"'{name}' is live when Vela could have reused its bytes")


def _needed_together(one: Block, other: Block, on_npu: frozenset[int]) -> bool:
    """Return whether overlapping blocks are live at the same time, unless Vela placed both.

    While a partition runs, Vela decides on each byte of the scratch.
    """
    together = one.steps & other.steps
    fixed = [block.by_vela for block in (one, other)]
    if all(fixed):
        return bool(together - on_npu)
    scratch = [not block.values and block.name == "scratch" for block in (one, other)]
    return bool(together) and not (any(fixed) and any(scratch))
