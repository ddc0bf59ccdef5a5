"""The use of memory by a network's steps, for the manifest and the check of a firmware."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from ethosgen.aot.graph.storage import SAME_BYTES
from ethosgen.aot.memory.block import Block
from ethosgen.aot.memory.plan import MemoryPlan, overwritten
from ethosgen.aot.schedule.schedule import Step, StepSchedule
from ethosgen.values.call import Address, Argument
from ethosgen.values.memory_record import BlockKind, MemoryRecord, RecordedBlock, StepAccess


def record_memory(schedule: StepSchedule, memory: MemoryPlan) -> MemoryRecord:
    """Return the blocks of the arena, and the steps that use them."""
    graph = schedule.graph
    steps = tuple(_access(schedule, number, step) for number, step in enumerate(schedule.steps))
    used = {i for step in steps for i in (*step.reads, *step.writes)}
    used.update((*graph.inputs, *graph.outputs), (held.tensor for held in memory.variables))
    return MemoryRecord(
        tensors=tuple(graph.tensors[i] for i in sorted(used)),
        blocks=tuple(_blocks(schedule, memory)),
        steps=steps,
        inputs=graph.inputs,
        outputs=graph.outputs,
    )


def _access(schedule: StepSchedule, number: int, step: Step) -> StepAccess:
    partition, on_npu = step.partition, step.on_npu
    arguments = partition.call.arguments if partition and on_npu else ()
    stream = arguments[0] if arguments else None
    name = partition.name if partition else " + ".join(op.code for op in step.operators)
    return StepAccess(
        name=name,
        reads=schedule.reads(step),
        writes=schedule.writes(step),
        until=schedule.waits.get(number, number + 1),
        is_move=step.operator.code in SAME_BYTES and not step.tail,
        over=overwritten(schedule, step),
        distance=step.kernel.distance if step.kernel else None,
        unit=step.kernel.distance_unit if step.kernel else 1,
        is_backward=step.kernel.is_backward if step.kernel else False,
        npu=stream if isinstance(stream, int) else None,
        bases=tuple(map(_base, arguments[1:])),
        device=partition.unit if partition else "",
    )


def _base(argument: Argument) -> int | str | None:
    return argument.of if isinstance(argument, Address) else None


def _blocks(schedule: StepSchedule, memory: MemoryPlan) -> Iterator[RecordedBlock]:
    tensors, end = schedule.graph.tensors, len(schedule.steps)
    for index, block in sorted(memory.by_tensor.items()):
        if block.offset is not None and index in memory.lifetimes:
            yield RecordedBlock(
                BlockKind.TENSOR,
                tensors[index].name,
                block.offset,
                tensors[index].bytes,
                min(memory.lifetimes[index]),
                min(max(memory.lifetimes[index]), end - 1),
                index,
            )
    for held in (held for held in memory.variables if held.on_npu):
        tensor = tensors[held.tensor]
        yield RecordedBlock(
            BlockKind.VARIABLE, tensor.name, held.offset, tensor.bytes, 0, end - 1, held.tensor
        )
    for kind, block in _nameless(schedule, memory):
        for first, last in _runs(step for step in block.steps if step < end):
            assert block.offset is not None
            yield RecordedBlock(kind, block.name, block.offset, block.bytes, first, last)


def _nameless(schedule: StepSchedule, memory: MemoryPlan) -> Iterator[tuple[BlockKind, Block]]:
    """Yield the blocks of the arena that belong to no tensor."""
    on_npu = {i for i, step in enumerate(schedule.steps) if step.on_npu}
    for block in memory.scratches.values():
        kind = BlockKind.FAST if block.steps <= on_npu else BlockKind.SCRATCH
        if block.offset is not None:
            yield (BlockKind.NPU if block.is_scratch else kind), block
    for block in memory.workspaces.values():
        yield BlockKind.WORKSPACE, block
    for block in memory.fetched.values():
        yield BlockKind.COPY, block


def _runs(steps: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of steps that follow each other."""
    for _, run in groupby(enumerate(sorted(steps)), lambda pair: pair[1] - pair[0]):
        numbers = [step for _, step in run]
        yield numbers[0], numbers[-1]
