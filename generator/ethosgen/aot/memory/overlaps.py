"""Prove from the final addresses of all tensors that none is overwritten while live.

A violation is a bug of ethosgen, whichever stage moved an operator or a tensor.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from ethosgen.aot.graph.storage import SAME_BYTES
from ethosgen.aot.memory.block import Block
from ethosgen.aot.memory.plan import MemoryPlan, in_use_beside, lifetimes
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.schedule.waits import is_same_device
from ethosgen.values.errors import InternalError
from ethosgen.values.lives import outgrows


def check_memory(schedule: StepSchedule, memory: MemoryPlan) -> None:
    """Raise InternalError if two live blocks overlap, or a fixed one outlives its lifetime."""
    variables = {held.tensor for held in memory.variables}
    fixed = [b for b in memory.blocks if b.is_fixed and not variables.intersection(b.values)]
    for block in fixed:
        _check_life(schedule, block.name, block.values, block.steps)
    on_npu = frozenset(i for i, step in enumerate(schedule.steps) if step.on_npu)
    for first, second in combinations(memory.blocks, 2):
        if not (first.overlaps(second) and _needed_together(first, second, on_npu)):
            continue
        if not _is_read_first(schedule, first, second):
            raise InternalError(f"'{first.name}' and '{second.name}' share bytes of the arena")
    check_waits(schedule, memory)


def check_waits(schedule: StepSchedule, memory: MemoryPlan) -> None:
    """Raise InternalError if a step disturbs an accelerator that was started and not awaited.

    It checks only final addresses and the steps, not lifetimes.
    """
    for started, before in schedule.waits.items():
        step = schedule.steps[started]
        written = _changed(schedule, memory, started)
        used = [*written, *(memory.by_tensor[i] for i in schedule.reads(step))]
        for index in range(started + 1, before):
            other = schedule.steps[index]
            read = [memory.by_tensor[i] for i in schedule.reads(other)]
            is_bad = is_same_device(step.partition, other.partition)
            changed = _changed(schedule, memory, index)
            is_bad |= _share_any((b for b in used if not b.is_fixed), changed)
            # Of a scratch the NPU's compiler uses what holds no live tensor.
            is_bad |= _share_any(
                (b for b in used if b.is_fixed), [b for b in changed if not b.is_scratch]
            )
            if is_bad or _share_any(written, read):
                name = schedule.graph.tensors[schedule.writes(step)[0]].name
                raise InternalError(f"the accelerator that computes '{name}' is disturbed")


def _share_any(some: Iterable[Block], others: Sequence[Block]) -> bool:
    return any(a is b or a.overlaps(b) for a in some for b in others)


def _changed(schedule: StepSchedule, memory: MemoryPlan, index: int) -> list[Block]:
    """Return the blocks that a step may write: its outputs, its scratches, its workspace."""
    step = schedule.steps[index]
    written = () if _keeps_bytes(schedule, memory, step) else schedule.writes(step)
    blocks = [memory.by_tensor[i] for i in written]
    calls = step.partition.call.memories if step.partition else ()
    blocks += [memory.scratches[name] for name in calls if name in memory.scratches]
    return blocks + ([memory.workspaces[index]] if index in memory.workspaces else [])


def _keeps_bytes(schedule: StepSchedule, memory: MemoryPlan, step: Step) -> bool:
    """Return whether a step does nothing: its output has its input's address."""
    if step.operator.code not in SAME_BYTES or step.tail or not schedule.reads(step):
        return False
    source, target = (f(step)[0] for f in (schedule.reads, schedule.writes))
    return memory.by_tensor[source] is memory.by_tensor[target]


def check_lives(schedule: StepSchedule) -> None:
    """Raise InternalError if a tensor is live when a partition could have reused it."""
    for tensor, steps in lifetimes(schedule).items():
        if tensor in schedule.plan.offsets:
            _check_life(schedule, schedule.graph.tensors[tensor].name, (tensor,), steps)


def _check_life(
    schedule: StepSchedule, name: str, values: Iterable[int], steps: frozenset[int]
) -> None:
    clock = schedule.clock
    known = [schedule.plan.lives[i] for i in values if i in schedule.plan.lives]
    life = clock[min(steps)], clock[max(steps)]
    planned = min((a for a, _ in known), default=0), max((b for _, b in known), default=-1)
    if outgrows(life, planned, clock[-1]):
        compiler = schedule.plan.compiler
        raise InternalError(f"'{name}' is live when {compiler} could have reused its bytes")


def _is_read_first(schedule: StepSchedule, first: Block, second: Block) -> bool:
    """Return whether the only kernel that needs both reads each byte before it overwrites it."""
    return _is_trail(schedule, first, second) or _is_trail(schedule, second, first)


def _is_trail(schedule: StepSchedule, target: Block, source: Block) -> bool:
    """Return whether blocks are such a kernel's output and input, as far apart as it declares."""
    together = target.steps & source.steps
    if len(together) != 1:
        return False
    (index,) = together
    in_use = in_use_beside(schedule)
    is_used = any(index in in_use.get(i, ()) for i in (*source.values, *target.values))
    if index >= len(schedule.steps) or is_used:
        return False
    step = schedule.steps[index]
    reads, writes = schedule.reads(step), schedule.writes(step)
    kernel = step.kernel
    if kernel is None or kernel.distance is None or len(reads) != 1 or len(writes) != 1:
        return False
    is_trail = reads[0] in source.values and writes[0] in target.values
    ends = max(source.steps) == index == min(target.steps)
    apart = (source.offset or 0) - (target.offset or 0)
    apart = -apart if kernel.is_backward else apart
    return is_trail and ends and apart >= kernel.distance and apart % kernel.distance_unit == 0


def _needed_together(first: Block, second: Block, on_npu: frozenset[int]) -> bool:
    """Return whether overlapping blocks are live at the same time, unless both are fixed.

    Fixed blocks are in the scratch. While a partition runs, its backend decides on each byte of it.
    """
    together = first.steps & second.steps
    fixed = [block.is_fixed for block in (first, second)]
    if all(fixed):
        return bool(together - on_npu)
    scratch = [block.is_scratch for block in (first, second)]
    return bool(together) and not (any(fixed) and any(scratch))
