"""The static memory plan: one arena, reused by lifetime, with Vela's scratch inside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

from ethosgen.aot.graph.schedule import COPY, Schedule
from ethosgen.aot.graph.variables import Held, find_variables
from ethosgen.values.errors import RefusalError
from ethosgen.values.plan import OWN_BASES, IoStyle

ALIGNMENT = 16
"""In bytes. The NPU requires it for tensors (Arm core driver 1.0.0), and it suits Helium."""

SAME_BYTES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS", COPY})
"""Operators whose output is their first input's bytes, so that both may have one address."""

IN_PLACE = frozenset(
    "ABS ADD CEIL COS DIV ELU EXP FLOOR FLOOR_DIV FLOOR_MOD GELU HARD_SWISH LEAKY_RELU LOG "
    "LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC MAXIMUM MINIMUM MUL NEG PRELU QUANTIZE RELU RELU6 "
    "RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT SIN SQRT SQUARE SQUARED_DIFFERENCE SUB TANH".split()
)
"""Operators that go element by element: one of an input as large as the output is read for the
last time before that of the output is written, so that both may have one address."""


@dataclass(frozen=True)
class Block:
    """Bytes that must be kept during some steps; `offset` is None until they are placed.

    `values` are the tensors that share these bytes, `port` the tensor of the port whose buffer
    holds them (then they take no arena), `by_vela` whether Vela chose the offset.
    """

    name: str
    bytes: int
    steps: frozenset[int]
    values: tuple[int, ...] = ()
    offset: int | None = None
    port: int | None = None
    by_vela: bool = False

    @property
    def is_homeless(self) -> bool:
        """Whether the plan is still free to place it."""
        return self.offset is None and self.port is None

    def overlaps(self, other: "Block") -> bool:
        """Return whether two placed blocks share a byte of the arena."""
        if self.offset is None or other.offset is None:
            return False
        return self.offset < other.offset + other.bytes and other.offset < self.offset + self.bytes


@dataclass(frozen=True)
class MemoryPlan:
    """The place of every tensor and workspace in one of `blocks`, all of them placed."""

    arena_bytes: int
    blocks: tuple[Block, ...]
    by_tensor: Mapping[int, Block]
    lifetimes: Mapping[int, frozenset[int]]
    workspaces: Mapping[int, Block]
    scratch_fast: Block | None
    in_place: frozenset[int] = frozenset()
    """Steps whose output takes the place of an input."""
    variables: tuple[Held, ...] = ()
    """Those on the CPU are outside the arena, and have no block."""


def plan_memory(schedule: Schedule, workspace_bytes: Mapping[int, int]) -> MemoryPlan:
    """Place every tensor, workspace (bytes by step) and the NPU's scratch.

    Vela's scratch begins at offset 0 and lives from the first partition to the last; where Vela
    placed a tensor in it, the tensor stays there. The rest is placed by size, first fit.
    Of two that Vela placed over each other while a CPU operator needs both, one moves if only the
    CPU uses it; else RefusalError.
    """
    on_npu = frozenset(i for i, step in enumerate(schedule.steps) if step.partition)
    variables = find_variables(schedule, ALIGNMENT)
    tensors = _share_bytes(schedule, _tensor_blocks(schedule), on_npu)
    tensors, in_place = _share_in_place(schedule, tensors)
    tensors += _variable_blocks(schedule, variables)
    scratch, scratch_fast = _scratch_blocks(schedule, on_npu)
    workspaces = {
        step: Block(f"workspace of operator {step}", size, frozenset({step}))
        for step, size in workspace_bytes.items()
        if size
    }
    tensors = _without_clashes(schedule, tensors, on_npu)
    wanted = [*scratch, *tensors, *workspaces.values()]
    placed = dict(zip(wanted, _place(wanted), strict=True))
    blocks = tuple(placed.values())
    return MemoryPlan(
        arena_bytes=max((b.offset + b.bytes for b in blocks if b.offset is not None), default=0),
        blocks=blocks,
        by_tensor={value: placed[block] for block in tensors for value in block.values},
        lifetimes=lifetimes(schedule),
        workspaces={step: placed[block] for step, block in workspaces.items()},
        scratch_fast=placed[scratch_fast] if scratch_fast else None,
        in_place=in_place,
        variables=variables,
    )


def lifetimes(schedule: Schedule) -> dict[int, frozenset[int]]:
    """Return the steps during which each tensor's bytes matter.

    Inputs are written before the first step. Outputs are read after the last one, which counts as
    a step more.
    """
    graph, after = schedule.graph, len(schedule.steps)
    first, last = dict.fromkeys(graph.inputs, 0), dict.fromkeys(graph.inputs, 0)
    for index, step in enumerate(schedule.steps):
        for tensor in schedule.writes(step):
            first[tensor] = last[tensor] = index
        for tensor in schedule.reads(step):
            last[tensor] = index
    last.update(dict.fromkeys(graph.outputs, after))
    return {i: frozenset(range(first.get(i, 0), last[i] + 1)) for i in sorted(last)}


def _tensor_blocks(schedule: Schedule) -> list[Block]:
    graph, plan = schedule.graph, schedule.plan
    ports = {*graph.inputs, *graph.outputs} if plan.io is IoStyle.CALLER else set()
    blocks = []
    for index, steps in lifetimes(schedule).items():
        tensor = graph.tensors[index]
        port = index if index in ports else None
        offset = plan.offsets.get(index) if port is None else None
        size = plan.buffer_bytes(tensor)
        blocks.append(Block(tensor.name, size, steps, (index,), offset, port, offset is not None))
    return blocks


def _variable_blocks(schedule: Schedule, variables: tuple[Held, ...]) -> list[Block]:
    """Return a block that is never free for each variable in the NPU's scratch."""
    tensors, always = schedule.graph.tensors, frozenset(range(len(schedule.steps) + 1))
    return [
        Block(
            tensors[held.tensor].name,
            tensors[held.tensor].bytes,
            always,
            (held.tensor, *held.aliases),
            held.offset,
            by_vela=True,
        )
        for held in variables
        if held.on_npu
    ]


def _scratch_blocks(schedule: Schedule, on_npu: frozenset[int]) -> tuple[list[Block], Block | None]:
    plan = schedule.plan
    # A tensor that only partitions touch is nowhere in the graph, and may live from one to another.
    throughout = frozenset(range(min(on_npu), max(on_npu) + 1)) if on_npu else on_npu
    scratch = Block("scratch", plan.scratch_bytes, throughout, offset=0)
    fast = Block("scratch_fast", plan.scratch_fast_bytes, on_npu)
    wanted = [block for block in (scratch, fast) if on_npu and block.bytes]
    return wanted, fast if fast in wanted else None


def _share_bytes(schedule: Schedule, blocks: list[Block], on_npu: frozenset[int]) -> list[Block]:
    """Merge both ends of each operator that only renames bytes, if that is safe."""
    for step in schedule.steps:
        reads = schedule.reads(step)
        if step.operator.code not in SAME_BYTES or step.tail or not reads:
            continue
        source = next(b for b in blocks if reads[0] in b.values)
        target = next(b for b in blocks if schedule.writes(step)[0] in b.values)
        merged = _merge(source, target, on_npu)
        others = [b for b in blocks if b not in (source, target)]
        if merged and not any(_fixed_clash(merged, other, on_npu) for other in others):
            blocks = [*others, merged]
    return blocks


def _share_in_place(schedule: Schedule, blocks: list[Block]) -> tuple[list[Block], frozenset[int]]:
    """Let outputs take the place of inputs that are not needed again; return those steps too."""
    in_place = set()
    for index, step in enumerate(schedule.steps):
        if not (step.in_place or (step.operator.code in IN_PLACE and step.kernel is None)):
            continue
        (output,) = schedule.writes(step)
        target = next((b for b in blocks if output in b.values), None)
        for read in schedule.reads(step):
            source = next((b for b in blocks if read in b.values), None)
            if source is None or target is None or not _is_alike(schedule, read, output):
                continue
            if source.is_homeless and target.is_homeless and _follows(target, source, index):
                steps, values = source.steps | target.steps, (*source.values, *target.values)
                merged = replace(source, steps=steps, values=values)
                blocks = [*(b for b in blocks if b not in (source, target)), merged]
                in_place.add(index)
                break
    return blocks, frozenset(in_place)


def _is_alike(schedule: Schedule, read: int, written: int) -> bool:
    one, other = schedule.graph.tensors[read], schedule.graph.tensors[written]
    return one.shape == other.shape and one.bytes == other.bytes


def _follows(target: Block, source: Block, step: int) -> bool:
    """Return whether one block's life begins where the other's ends, at a step."""
    return source is not target and max(source.steps) == step == min(target.steps)


def _merge(source: Block, target: Block, on_npu: frozenset[int]) -> Block | None:
    """Return one block for both, or None if that is impossible."""
    same_home = (source.offset, source.port) == (target.offset, target.port)
    if source is target or not (same_home or source.is_homeless or target.is_homeless):
        return None
    home = target if source.is_homeless else source
    steps = source.steps | target.steps
    if home.by_vela and not same_home and _outlives(steps, home.steps, on_npu):
        return None
    return replace(home, steps=steps, values=(*source.values, *target.values))


def _outlives(steps: frozenset[int], velas: frozenset[int], on_npu: frozenset[int]) -> bool:
    """Return whether bytes are needed in or after a partition in which Vela thinks them free."""
    return any(not {step, step + 1} & steps <= velas for step in on_npu & steps)


def _fixed_clash(one: Block, other: Block, on_npu: frozenset[int]) -> bool:
    """Return whether two blocks that Vela placed are in each other's way.

    During a partition Vela itself decides how long each byte is needed; its inputs and outputs may
    well overlap. Only a step on the CPU needs both as a whole.
    """
    both_fixed = one.by_vela and other.by_vela
    return both_fixed and one.overlaps(other) and bool((one.steps & other.steps) - on_npu)


def _without_clashes(
    schedule: Schedule, blocks: list[Block], on_npu: frozenset[int]
) -> list[Block]:
    """Return the blocks, without Vela's offset where two clash and only the CPU uses one."""
    used = {i for p in schedule.plan.partitions for i in (*p.inputs, *p.outputs)}
    found = list(blocks)
    for place, other in combinations(range(len(found)), 2):
        if not _fixed_clash(found[place], found[other], on_npu):
            continue
        free = next((i for i in (other, place) if not used.intersection(found[i].values)), None)
        if free is None:
            why = (
                f"Vela placed tensors '{found[place].name}' and '{found[other].name}' over each "
                "other although a CPU operator needs both"
            )
            raise RefusalError(f"{why}; use {_way_out(schedule)}", why)
        found[free] = replace(found[free], offset=None, by_vela=False)
    return found


def _way_out(schedule: Schedule) -> str:
    """Return the options that a plan with such a clash does not fail with."""
    ends = [len({*p.inputs, *p.outputs}) for p in schedule.plan.partitions]
    if max(ends, default=0) > OWN_BASES:
        return "--npu none for this network"
    return "--io caller, which leaves their place to us"


def _place(blocks: list[Block]) -> list[Block]:
    """Return the blocks with every offset set: the largest first, each at the lowest free place."""
    placed = {i: b for i, b in enumerate(blocks) if not b.is_homeless}
    free = [i for i in range(len(blocks)) if i not in placed]
    for index in sorted(free, key=lambda i: (-blocks[i].bytes, i)):
        block = blocks[index]
        taken = [b for b in placed.values() if b.offset is not None and b.steps & block.steps]
        placed[index] = replace(block, offset=_lowest_hole(block.bytes, taken))
    return [placed[i] for i in range(len(blocks))]


def _lowest_hole(size: int, taken: list[Block]) -> int:
    offset = 0
    for block in sorted(taken, key=lambda b: b.offset or 0):
        start = block.offset or 0
        if offset + size <= start:
            break
        offset = max(offset, _align(start + block.bytes))
    return offset


def _align(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
