"""The static memory plan: one arena, reused by lifetime, with the partitions' scratches."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import lcm

from ethosgen.aot.graph.storage import ALIGNMENT, SAME_BYTES
from ethosgen.aot.memory.block import Block, Trail
from ethosgen.aot.memory.placement import PlacedBlocks, place
from ethosgen.aot.registry import goes_in_place
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.aot.schedule.variables import Held, find_variables
from ethosgen.values.errors import RefusalError
from ethosgen.values.multiples import CACHE_LINE_BYTES, rounded_up
from ethosgen.values.program import Fetch


@dataclass(frozen=True)
class MemoryPlan:
    """The placed blocks of every tensor and workspace.

    No arena has fewer than `bound_bytes`, with these lifetimes.
    """

    arena_bytes: int
    bound_bytes: int
    blocks: tuple[Block, ...]
    by_tensor: Mapping[int, Block]
    lifetimes: Mapping[int, frozenset[int]]
    workspaces: Mapping[int, Block]
    scratches: Mapping[str, Block]
    """By name. One that is outside the arena has no block."""
    in_place: frozenset[int] = frozenset()
    """Steps whose output overwrites an input."""
    variables: tuple[Held, ...] = ()
    """Variables; those on the CPU are outside the arena and have no block."""
    fetched: Mapping[str, Block] = field(default_factory=dict)
    """The copies of constants, by their names."""
    fetches: tuple[Fetch, ...] = ()


def plan_memory(
    schedule: StepSchedule, workspace_bytes: Mapping[int, int], fetches: Sequence[Fetch] = ()
) -> MemoryPlan:
    """Place every tensor, workspace (bytes by step), scratch, and copy of weights.

    A scratch with an offset is live from the first partition to the last; tensors that the backend
    placed in it stay there. The rest is placed by a search (`placement`). If the backend placed two
    tensors at overlapping bytes and a CPU operator needs both, one that only the CPU uses is moved;
    if there is none, RefusalError.
    """
    on_npu = frozenset(i for i, step in enumerate(schedule.steps) if step.on_npu)
    variables = find_variables(schedule, ALIGNMENT)
    tensors = _share_bytes(schedule, _tensor_blocks(schedule), on_npu)
    tensors, in_place = _share_in_place(schedule, tensors)
    tensors += _variable_blocks(schedule, variables)
    scratches = _scratch_blocks(schedule, on_npu)
    workspaces = {
        step: Block(f"workspace of operator {step}", size, frozenset({step}))
        for step, size in workspace_bytes.items()
        if size
    }
    tensors = _without_clashes(schedule, tensors, on_npu)
    copies = {fetch.constant: _copy_block(fetch) for fetch in fetches}
    wanted = [*scratches, *tensors, *workspaces.values(), *copies.values()]
    trails = _trails(schedule, wanted)
    placement = _placed(wanted, trails.values())
    placed = dict(zip(wanted, placement.blocks, strict=True))
    return MemoryPlan(
        arena_bytes=placement.bytes,
        bound_bytes=placement.bound_bytes,
        blocks=tuple(placed.values()),
        by_tensor={value: placed[block] for block in tensors for value in block.values},
        lifetimes=lifetimes(schedule),
        workspaces={step: placed[block] for step, block in workspaces.items()},
        scratches={block.name: placed[block] for block in scratches},
        in_place=in_place.union(i for i, trail in trails.items() if _lie_over(trail, placement)),
        variables=variables,
        fetched={constant: placed[block] for constant, block in copies.items()},
        fetches=tuple(fetches),
    )


def _placed(blocks: Sequence[Block], trails: Collection[Trail]) -> PlacedBlocks:
    """Return the smaller of the placements with trails of any distance, and with all of them.

    The ends of those that need whole pixels between them are aligned to pixels.
    """
    of_any_distance = tuple(trail for trail in trails if ALIGNMENT % trail.unit == 0)
    best = place(tuple(blocks), of_any_distance)
    if len(of_any_distance) == len(trails):
        return best
    units = dict.fromkeys(range(len(blocks)), 1)
    for trail in trails:
        for end in (trail.output, trail.input):
            units[end] = lcm(units[end], trail.unit)
    aligned = (replace(b, alignment=lcm(b.alignment, units[i])) for i, b in enumerate(blocks))
    other = place(tuple(aligned), tuple(trails))
    bound = min(best.bound_bytes, other.bound_bytes)
    if other.bytes >= best.bytes:
        return replace(best, bound_bytes=bound)
    whole = zip(blocks, other.blocks, strict=True)
    placed = tuple(replace(block, offset=where.offset) for block, where in whole)
    return PlacedBlocks(placed, other.bytes, bound)


def _copy_block(fetch: Fetch) -> Block:
    """Return the block of a copy, which a DMA controller may write: it has whole lines."""
    steps = frozenset(range(fetch.start, fetch.step + 1))
    return _in_lines(Block(f"copy of {fetch.constant}", fetch.bytes, steps))


def lifetimes(schedule: StepSchedule) -> dict[int, frozenset[int]]:
    """Return the steps during which each tensor is live.

    Inputs are written before the first step. Outputs are read after the last one, which counts as
    an additional step. The tensors of a started accelerator are live until its wait.
    """
    graph, after = schedule.graph, len(schedule.steps)
    first, last = dict.fromkeys(graph.inputs, 0), dict.fromkeys(graph.inputs, 0)
    for index, step in enumerate(schedule.steps):
        for tensor in schedule.writes(step):
            first[tensor] = last[tensor] = index
        for tensor in schedule.reads(step):
            last[tensor] = index
    for started, before in schedule.waits.items():
        for tensor in _ends(schedule, started):
            last[tensor] = max(last[tensor], before - 1)
    last.update(dict.fromkeys(graph.outputs, after))
    return {i: frozenset(range(first.get(i, 0), last[i] + 1)) for i in sorted(last)}


def _ends(schedule: StepSchedule, index: int) -> tuple[int, ...]:
    """Return the tensors that a step reads or writes."""
    step = schedule.steps[index]
    return (*schedule.reads(step), *schedule.writes(step))


def in_use_beside(schedule: StepSchedule) -> dict[int, set[int]]:
    """Return, by tensor, the steps beside which a started accelerator uses it."""
    in_use: dict[int, set[int]] = {}
    for started, before in schedule.waits.items():
        for tensor in _ends(schedule, started):
            in_use.setdefault(tensor, set()).update(range(started + 1, before))
    return in_use


def _tensor_blocks(schedule: StepSchedule) -> list[Block]:
    graph, plan, ports = schedule.graph, schedule.plan, schedule.ports
    beside = {i for s in schedule.waits for i in schedule.writes(schedule.steps[s])}
    blocks = []
    for index, steps in lifetimes(schedule).items():
        tensor = graph.tensors[index]
        port = index if index in ports else None
        offset = plan.offsets.get(index) if port is None else None
        size = plan.buffer_bytes(tensor)
        block = Block(tensor.name, size, steps, (index,), offset, port, offset is not None)
        block = replace(block, alignment=max(ALIGNMENT, plan.alignments.get(index, 0)))
        blocks.append(_in_lines(block) if index in beside and port is None else block)
    return blocks


def _in_lines(block: Block) -> Block:
    """Return a block that has whole lines of a data cache.

    What a device writes while the CPU works shares no line with others.
    """
    size = rounded_up(block.bytes, CACHE_LINE_BYTES)
    return replace(block, bytes=size, alignment=max(CACHE_LINE_BYTES, block.alignment))


def _variable_blocks(schedule: StepSchedule, variables: tuple[Held, ...]) -> list[Block]:
    """Return a block that is always live for each variable in a scratch."""
    tensors, always = schedule.graph.tensors, frozenset(range(len(schedule.steps) + 1))
    return [
        Block(
            tensors[held.tensor].name,
            tensors[held.tensor].bytes,
            always,
            (held.tensor, *held.aliases),
            held.offset,
            is_fixed=True,
        )
        for held in variables
        if held.on_npu
    ]


def _scratch_blocks(schedule: StepSchedule, on_npu: frozenset[int]) -> list[Block]:
    # Tensors that only partitions use are not in the graph, and can be live between partitions.
    throughout = frozenset(range(min(on_npu), max(on_npu) + 1)) if on_npu else on_npu
    blocks = [
        Block(
            scratch.name,
            scratch.bytes,
            throughout if scratch.offset is not None else _users(schedule, scratch.name) or on_npu,
            offset=scratch.offset,
            is_scratch=scratch.offset is not None,
            alignment=max(ALIGNMENT, scratch.alignment),
        )
        for scratch in schedule.plan.scratches
        if scratch.bytes and (on_npu or _users(schedule, scratch.name))
    ]
    return [_in_lines(b) if b.offset is None and len(b.steps) > 1 else b for b in blocks]


def _users(schedule: StepSchedule, scratch: str) -> frozenset[int]:
    """Return the steps during which wrapped accelerators may use a scratch."""
    return frozenset(
        during
        for i, step in enumerate(schedule.steps)
        if step.partition and not step.on_npu and scratch in step.partition.call.memories
        for during in range(i, schedule.waits.get(i, i + 1))
    )


def _share_bytes(
    schedule: StepSchedule, blocks: list[Block], on_npu: frozenset[int]
) -> list[Block]:
    """Merge input and output of each operator that keeps bytes unchanged, if that is safe."""
    for step in schedule.steps:
        reads = schedule.reads(step)
        if step.operator.code not in SAME_BYTES or step.tail or not reads:
            continue
        source = next(b for b in blocks if reads[0] in b.values)
        target = next(b for b in blocks if schedule.writes(step)[0] in b.values)
        merged = _merge(source, target, on_npu)
        others = [b for b in blocks if b is not source and b is not target]
        if merged and not any(_fixed_clash(merged, other, on_npu) for other in others):
            blocks = [*others, merged]
    return blocks


def _share_in_place(
    schedule: StepSchedule, blocks: list[Block]
) -> tuple[list[Block], frozenset[int]]:
    """Let outputs overwrite inputs at the end of their lifetime; return blocks and those steps."""
    in_place, in_use = set(), in_use_beside(schedule)
    for index, step in enumerate(schedule.steps):
        reads = overwritten(schedule, step)
        if not reads:
            continue
        (output,) = schedule.writes(step)
        target = next((b for b in blocks if output in b.values), None)
        for read in reads:
            source = next((b for b in blocks if read in b.values), None)
            if source is None or target is None or not _is_alike(schedule, read, output):
                continue
            if any(index in in_use.get(value, ()) for value in source.values):
                continue
            elsewhere = set(schedule.reads(step)).difference(reads)
            if elsewhere.intersection(source.values):  # by a RESHAPE
                continue
            if source.is_homeless and target.is_homeless and _follows(target, source, index):
                steps, values = source.steps | target.steps, (*source.values, *target.values)
                alignment = max(source.alignment, target.alignment)
                size = max(source.bytes, target.bytes)
                merged = replace(
                    source, bytes=size, steps=steps, values=values, alignment=alignment
                )
                others = [b for b in blocks if b is not source and b is not target]
                blocks = [*others, merged]
                in_place.add(index)
                break
    return blocks, frozenset(in_place)


def overwritten(schedule: StepSchedule, step: Step) -> tuple[int, ...]:
    """Return the inputs where a step may write its output if nothing reads them later."""
    if step.in_place or (goes_in_place(step.operator) and step.kernel is None):
        return schedule.reads(step)
    is_copied = step.kernel is not None and step.kernel.in_place
    return schedule.reads(step)[:1] if is_copied else step.over


def _trails(schedule: StepSchedule, blocks: Sequence[Block]) -> dict[int, Trail]:
    """Return, by step, the blocks of outputs that may lie over those of inputs."""
    numbers = {value: i for i, block in enumerate(blocks) for value in block.values}
    in_use = in_use_beside(schedule)
    trails = {}
    for index, step in enumerate(schedule.steps):
        reads = schedule.reads(step)
        kernel = step.kernel
        if kernel is None or kernel.distance is None or len(reads) != 1:
            continue
        (output,) = schedule.writes(step)
        source, target = numbers[reads[0]], numbers[output]
        is_free = blocks[source].is_homeless and blocks[target].is_homeless
        is_used = any(index in in_use.get(value, ()) for value in blocks[source].values)
        if is_free and not is_used and _follows(blocks[target], blocks[source], index):
            trails[index] = Trail(
                target, source, kernel.distance, kernel.distance_unit, kernel.is_backward
            )
    return trails


def _lie_over(trail: Trail, placed: PlacedBlocks) -> bool:
    return placed.blocks[trail.output].overlaps(placed.blocks[trail.input])


def _is_alike(schedule: StepSchedule, read: int, written: int) -> bool:
    source, target = schedule.graph.tensors[read], schedule.graph.tensors[written]
    return source.shape == target.shape and source.bytes == target.bytes


def _follows(target: Block, source: Block, step: int) -> bool:
    """Return whether the target's lifetime begins at a step at which the source's ends."""
    return source is not target and max(source.steps) == step == min(target.steps)


def _merge(source: Block, target: Block, on_npu: frozenset[int]) -> Block | None:
    """Return one block for both, None if that is impossible."""
    same_home = (source.offset, source.port) == (target.offset, target.port)
    if source is target or not (same_home or source.is_homeless or target.is_homeless):
        return None
    home = target if source.is_homeless else source
    steps = source.steps | target.steps
    if home.is_fixed and not same_home and _outlives(steps, home.steps, on_npu):
        return None
    alignment = max(source.alignment, target.alignment)
    if alignment > ALIGNMENT and not (source.is_homeless and target.is_homeless):
        return None
    values = (*source.values, *target.values)
    size = max(source.bytes, target.bytes) if alignment > ALIGNMENT else home.bytes
    return replace(home, bytes=size, steps=steps, values=values, alignment=alignment)


def _outlives(steps: frozenset[int], known: frozenset[int], on_npu: frozenset[int]) -> bool:
    """Return whether bytes are live in or after a partition that treats them as free.

    `known` are the steps in which the backend considers them live.
    """
    return any(not {step, step + 1} & steps <= known for step in on_npu & steps)


def _fixed_clash(first: Block, second: Block, on_npu: frozenset[int]) -> bool:
    """Return whether two fixed blocks conflict at a CPU step.

    During a partition its backend decides on the lifetime of each byte, and inputs and outputs can
    overlap. Only a CPU step needs both completely.
    """
    both_fixed = first.is_fixed and second.is_fixed
    return both_fixed and first.overlaps(second) and bool((first.steps & second.steps) - on_npu)


def _without_clashes(
    schedule: StepSchedule, blocks: list[Block], on_npu: frozenset[int]
) -> list[Block]:
    """Return the blocks; of two that conflict, one that only the CPU uses loses its offset."""
    placed = [p for p in schedule.plan.partitions if p.on_npu]
    used = {i for p in placed for i in (*p.inputs, *p.outputs)}
    kept = list(blocks)
    fixed = [i for i, block in enumerate(kept) if block.is_fixed]
    for first, other in combinations(fixed, 2):
        if not _fixed_clash(kept[first], kept[other], on_npu):
            continue
        free = next((i for i in (other, first) if not used.intersection(kept[i].values)), None)
        if free is None:
            why = (
                f"{schedule.plan.compiler} placed tensors '{kept[first].name}' and "
                f"'{kept[other].name}' at overlapping addresses although a CPU operator needs both"
            )
            raise RefusalError(f"{why}; use {schedule.plan.way_out}", why)
        kept[free] = replace(kept[free], offset=None, is_fixed=False)
    return kept
