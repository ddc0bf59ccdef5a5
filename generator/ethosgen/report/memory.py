"""The contents of the arena and of a fast scratch over time.

A call of the CPU is one slot of time, a call of the NPU one for each of its operations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.timeline import ARENA, FAST, BufferUse
from ethosgen.report.calls import CallFacts
from ethosgen.report.content import Area, MemoryBlock, MemoryUse, Slot
from ethosgen.values.program import ArenaTensor, Program, Variable

_FAST_AREA = "fast scratch"
_NOTHING = Slot("nothing to compute", 0, 0)
"""The only slot of a network whose output is its input."""


@dataclass(frozen=True)
class _Span:
    """The slots of a call, its step in the schedule, and the call."""

    first: int
    last: int
    at: int
    call: CallFacts


def make_memory(program: Program, calls: Sequence[CallFacts]) -> MemoryUse:
    """Return the blocks of each memory."""
    top = [call for call in calls if call.is_top and not call.step.is_wait]
    spans = list(_spans(program, top))
    slots = tuple(_slots(calls)) or (_NOTHING,)
    starts = {place.name: place.offset for place in program.workspaces}
    scratches = {scratch.name: scratch for scratch in program.plan.scratches}
    inner = {memory: list(_inner(program, spans, memory)) for memory in (ARENA, FAST)}
    blocks, used = _placed(program, spans, inner[ARENA])
    base = starts.get("scratch", 0)
    # Bytes that nothing wrote and no tensor has are gaps in a strided tensor.
    others = [block for block in inner[ARENA] if block not in used and block.kind != "input"]
    held = [variable for variable in program.variables if variable.memory == ARENA]
    others = [other for other in others if not any(_overlap(other, variable) for variable in held)]
    blocks += [replace(other, offset=base + other.offset) for other in others]
    always = 0, len(slots) - 1
    blocks += [MemoryBlock(v.name, "variable", v.offset, v.bytes, *always, None) for v in held]
    blocks += [
        MemoryBlock(place.name, "workspace", place.offset, place.bytes, *_life(spans, place), None)
        for place in program.workspaces
        if place.name not in scratches
    ]
    scratch_bytes = sum(place.bytes for place in program.workspaces if place.name in scratches)
    areas = []
    fast = sum(scratch.bytes for scratch in scratches.values() if scratch.is_fast)
    inside = (
        starts[scratch.name]
        for scratch in scratches.values()
        if scratch.is_fast and scratch.name in starts
    )
    fast_start = next(inside, None)
    if fast_start is not None:
        blocks += [replace(block, offset=fast_start + block.offset) for block in inner[FAST]]
    elif fast:
        areas = [_area(_FAST_AREA, fast, fast, inner[FAST])]
    whole = _area(ARENA, program.arena_bytes, scratch_bytes, blocks)
    return MemoryUse(slots, (whole, *areas))


def _area(name: str, size: int, scratch_bytes: int, blocks: Sequence[MemoryBlock]) -> Area:
    ordered = _ordered(blocks)
    used = {
        slot: bytes_in_use(ordered, slot) for slot in sorted({block.first for block in ordered})
    }
    peak = max(used, key=lambda slot: used[slot], default=0)
    return Area(name, size, scratch_bytes, peak, used.get(peak, 0), ordered)


def bytes_in_use(blocks: Iterable[MemoryBlock], slot: int) -> int:
    """Return the number of bytes that are in any block in a slot."""
    live = [block for block in blocks if block.first <= slot <= block.last]
    return covered((block.offset, block.offset + block.bytes) for block in live)


def covered(ranges: Iterable[tuple[int, int]]) -> int:
    """Return the number of bytes in any of some ranges."""
    total = reached = 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _ordered(blocks: Iterable[MemoryBlock]) -> tuple[MemoryBlock, ...]:
    return tuple(
        sorted(blocks, key=lambda block: (block.first, block.offset, block.last, block.name))
    )


def _slots(calls: Sequence[CallFacts]) -> Iterator[Slot]:
    """Yield the slots; calls in a subgraph belong to the slot of the call that runs it."""
    top = [call for call in calls if call.is_top]
    ends = [*(call.start for call in top[1:]), max((call.end for call in calls), default=0)]
    for call, end in zip(top, ends, strict=False):
        if call.timeline is not None and call.timeline.events:
            now = call.npu_start
            yield from (Slot(e.name, now + e.start, now + e.end) for e in call.timeline.events)
        elif not call.step.is_wait:
            yield Slot(call.step.name, call.start, end)


def _count(call: CallFacts) -> int:
    return max(len(call.timeline.events), 1) if call.timeline else 1


def _spans(program: Program, calls: Sequence[CallFacts]) -> Iterator[_Span]:
    """Yield the slots of each call; a tensor's first step identifies the step of the schedule."""
    known = {place.name: place.first for place in program.placements}
    inputs = {port.tensor.name for port in program.inputs}
    slot, at = 0, -1
    for call in calls:
        output = call.step.output
        at = max(at + 1, known.get(output, 0) if output not in inputs else 0)
        count = _count(call)
        yield _Span(slot, slot + count - 1, at, call)
        slot += count


def _life(spans: Sequence[_Span], place: ArenaTensor) -> tuple[int, int]:
    """Return the slots of a tensor's first and last step; steps without a call take no slot."""
    first = next((span.first for span in spans if span.at >= place.first), 0)
    last = max((span.last for span in spans if span.at <= place.last), default=0)
    return min(first, last), max(first, last)


def _inner(program: Program, spans: Sequence[_Span], memory: str) -> Iterator[MemoryBlock]:
    """Yield the NPU's own buffers in a memory."""
    graph = program.plan.network.graph
    for span in spans:
        if span.call.timeline is None:
            continue
        for buffer in span.call.timeline.buffers:
            if buffer.memory != memory:
                continue
            name = "unknown"
            if buffer.operator is not None:
                name = graph.tensors[graph.operators[buffer.operator].outputs[0]].name
            life = span.first + buffer.first, span.first + buffer.last
            kind = "weights" if buffer.is_copy else _kind(buffer)
            yield MemoryBlock(name, kind, buffer.offset, buffer.bytes, *life, buffer.operator)


def _kind(buffer: BufferUse) -> str:
    return "input" if buffer.is_given else "tensor"


def _placed(
    program: Program, spans: Sequence[_Span], inner: Sequence[MemoryBlock]
) -> tuple[list[MemoryBlock], set[MemoryBlock]]:
    """Return the planned tensors, and the NPU's buffers in the same bytes.

    In a partition, its operations determine when a tensor is in use.
    """
    ends: Mapping[str, str] = {
        **{port.tensor.name: "input" for port in program.inputs},
        **{port.tensor.name: "output" for port in program.outputs},
    }
    graph = program.plan.network.graph
    makers = {graph.tensors[i].name: op.index for op in graph.operators for i in op.outputs}
    blocks: list[MemoryBlock] = []
    used: set[MemoryBlock] = set()
    for place in program.placements:
        first, last = _life(spans, place)
        kind, maker = ends.get(place.name, "tensor"), makers.get(place.name)
        same = [block for block in inner if _overlap(block, place) and block.kind != "weights"]
        inputs = [o for o in same if o.kind == "input" and first <= o.first and o.last <= last]
        is_npus = maker is not None and any(s.first == first and s.call.timeline for s in spans)
        written = [o for o in same if is_npus and o.kind != "input" and first <= o.first <= last]
        written = [o for o in written if o.operator == maker] or [
            o for o in written if _is_whole(o, place)
        ]
        written = _latest(written)
        used.update(inputs, written)
        last = next((o.last for o in inputs if kind != "output" and _ends(spans, last, o)), last)
        first = min((block.first for block in written), default=first)
        blocks.append(MemoryBlock(place.name, kind, place.offset, place.bytes, first, last, maker))
    return blocks, used


def _is_whole(block: MemoryBlock, place: ArenaTensor) -> bool:
    """Return whether a buffer has a tensor's bytes; Vela may name another operator for it."""
    return block.offset <= place.offset and place.offset + place.bytes <= block.offset + block.bytes


def _latest(blocks: Sequence[MemoryBlock]) -> list[MemoryBlock]:
    """Return the blocks with final values: of those that share bytes, the latest."""
    latest: list[MemoryBlock] = []
    for block in sorted(blocks, key=lambda block: -block.first):
        ends = block.offset + block.bytes
        if all(ends <= o.offset or o.offset + o.bytes <= block.offset for o in latest):
            latest.append(block)
    return latest


def _overlap(block: MemoryBlock, place: ArenaTensor | Variable) -> bool:
    return block.offset < place.offset + place.bytes and place.offset < block.offset + block.bytes


def _ends(spans: Sequence[_Span], last: int, buffer: MemoryBlock) -> bool:
    """Return whether a tensor's life ends in the call in which the buffer is."""
    return any(s.first <= buffer.last <= s.last and s.last == last for s in spans)
