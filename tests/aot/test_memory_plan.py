"""The memory plan: nothing that is still needed is ever overwritten, and little is wasted."""

import itertools
from collections.abc import Sequence

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.memory.block import Block
from ethosgen.aot.memory.plan import MemoryPlan, lifetimes, plan_memory
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.backend.ethosu.stream import way_out
from ethosgen.values.call import Call, Function
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.plan import IoStyle, Partition, Plan, Scratch
from tests.support.aot_harness import ACCELERATOR

NPU = "CUSTOM"


def make_plan(
    sizes: Sequence[int],
    operators: Sequence[tuple[str, tuple[int, ...], tuple[int, ...]]],
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    io: IoStyle = IoStyle.ARENA,
    offsets: dict[int, int] | None = None,
    scratch_bytes: int = 0,
    fast_bytes: int = 0,
    alignment: int = 16,
    constants: tuple[int, ...] = (),
) -> Plan:
    """Return a plan of operators (code, inputs, outputs); CUSTOM ones are partitions."""
    tensors = tuple(
        Tensor(i, f"t{i}", (size,), "int8", data=bytes(size) if i in constants else None)
        for i, size in enumerate(sizes)
    )
    numbered = tuple(
        Operator(i, code, reads, writes) for i, (code, reads, writes) in enumerate(operators)
    )
    partitions = tuple(
        Partition(f"p{op.index}", op.index, Call(Function("run")), op.inputs, op.outputs)
        for op in numbered
        if op.code == NPU
    )
    graph = Graph("main", tensors, numbered, inputs, outputs)
    return Plan(
        Network("m", (graph,)),
        io,
        graph,
        ACCELERATOR,
        partitions,
        npu_operators=len(partitions),
        scratches=(
            Scratch("scratch", scratch_bytes, offset=0),
            Scratch("fast", fast_bytes, is_fast=True, alignment=alignment),
        ),
        offsets=offsets or {},
        sram_bytes=scratch_bytes,
        way_out=way_out(partitions),
    )


def plan_of(
    plan: Plan, workspaces: dict[int, int] | None = None
) -> tuple[StepSchedule, MemoryPlan]:
    schedule = make_schedule(plan)
    return schedule, plan_memory(schedule, workspaces or {})


class Bytes:
    """An arena that knows who wrote each of its bytes last."""

    def __init__(self, schedule: StepSchedule, memory: MemoryPlan) -> None:
        self.arena = np.full(memory.arena_bytes, -1)
        self._tensors, self._by_tensor = schedule.graph.tensors, memory.by_tensor

    def write(self, index: int, owner: int) -> None:
        where = self._place(index)
        if where is not None:
            assert where.size == self._tensors[index].bytes
            where[:] = owner

    def check(self, index: int, owner: int) -> None:
        where = self._place(index)
        assert where is None or (where == owner).all(), f"tensor {index} was overwritten"

    def spoil(self, block: Block, owner: int) -> None:
        assert block.offset is not None
        self.arena[block.offset : block.offset + block.bytes] = owner

    def _place(self, index: int) -> np.ndarray | None:
        offset = self._by_tensor[index].offset
        if offset is None:
            return None
        assert offset % ALIGNMENT == 0 and offset >= 0
        return self.arena[offset : offset + self._tensors[index].bytes]


def run_on_bytes(schedule: StepSchedule, memory: MemoryPlan) -> None:
    """Execute the schedule on owners of bytes; a copy passes its owner on."""
    held, graph = Bytes(schedule, memory), schedule.graph
    owners: dict[int, int] = {}
    for index in graph.inputs:
        owners[index] = index
        held.write(index, index)
    for number, step in enumerate(schedule.steps):
        reads = schedule.reads(step)
        for index in reads:
            held.check(index, owners[index])
        if number in memory.workspaces:
            held.spoil(memory.workspaces[number], -2)
            for index in reads:
                held.check(index, owners[index])
        if step.partition:
            run_partition(schedule, memory, held, number)
        is_copy = step.operator.code == "RESHAPE" and reads
        for index in schedule.writes(step):
            owners[index] = owners[reads[0]] if is_copy else index
            held.write(index, owners[index])
        if not step.partition:  # the NPU may overwrite its inputs; a CPU operator one, in place
            (output,) = schedule.writes(step)
            for index in reads:
                shared = memory.by_tensor[index] == memory.by_tensor[output]
                if not (number in memory.in_place and shared):
                    held.check(index, owners[index])
    for index in graph.outputs:
        held.check(index, owners[index])


def run_partition(schedule: StepSchedule, memory: MemoryPlan, held: Bytes, number: int) -> None:
    """Leave garbage in all of the scratch but in what Vela placed there and a later step reads."""
    spans = lifetimes(schedule)
    kept = [
        slice(offset, offset + schedule.graph.tensors[index].bytes)
        for index, offset in schedule.plan.offsets.items()
        if number + 1 in spans[index]
    ]
    needed = [held.arena[place].copy() for place in kept]
    held.arena[: schedule.plan.scratches[0].bytes] = -3
    if "fast" in memory.scratches:
        held.spoil(memory.scratches["fast"], -4)
    for where, data in zip(kept, needed, strict=True):
        held.arena[where] = data


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Draw a graph of a few operators; Vela's tensors lie side by side in scratch."""
    io = draw(st.sampled_from(IoStyle))
    sizes = [draw(st.integers(1, 300))]
    operators: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []
    inputs = [0]
    for _ in range(draw(st.integers(1, 8))):
        code = draw(st.sampled_from(["SOFTMAX", "ADD", "RESHAPE", NPU]))
        reads = tuple(draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=3)))
        reads = reads[:1] if code == "RESHAPE" else reads
        size = sizes[reads[0]] if code in ("ADD", "RESHAPE") else draw(st.integers(1, 300))
        operators.append((code, reads, (len(sizes),)))
        sizes.append(size)
        if draw(st.integers(0, 4)) == 0:
            inputs.append(len(sizes))
            sizes.append(draw(st.integers(1, 300)))
    outputs = tuple(
        sorted(set(draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=2))))
    )
    offsets: dict[int, int] = {}
    if io is IoStyle.ARENA:
        end = 0
        for code, reads, writes in operators:
            for index in (*reads, *writes) if code == NPU else ():
                if index not in offsets:
                    offsets[index] = end
                    end += -(-sizes[index] // 16) * 16
        scratch = end + draw(st.integers(0, 200))
    else:
        scratch = draw(st.integers(0, 500))
    return make_plan(
        sizes,
        operators,
        tuple(inputs),
        outputs,
        io,
        offsets,
        scratch,
        draw(st.sampled_from([0, 0, 90])),
    )


@pytest.mark.slow
@hypothesis.given(plans(), st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_needed_is_overwritten(plan: Plan, data: st.DataObject) -> None:
    cpu = [op.index for op in plan.residual.operators if op.code == "SOFTMAX"]
    workspaces = {step: data.draw(st.integers(0, 100)) for step in cpu}
    schedule, memory = plan_of(plan, workspaces)
    run_on_bytes(schedule, memory)
    total = sum(-(-block.bytes // ALIGNMENT) * ALIGNMENT for block in memory.blocks)
    assert memory.arena_bytes <= total


@hypothesis.given(st.lists(st.integers(1, 1000), min_size=2, max_size=12))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_chain_needs_hardly_more_than_its_widest_step(sizes: list[int]) -> None:
    operators = [("SOFTMAX", (i,), (i + 1,)) for i in range(len(sizes) - 1)]
    schedule, memory = plan_of(make_plan(sizes, operators, (0,), (len(sizes) - 1,)))
    run_on_bytes(schedule, memory)
    widest = max(a + b for a, b in itertools.pairwise(sizes))
    assert memory.arena_bytes <= 1.5 * widest + 2 * ALIGNMENT


def test_a_fully_offloaded_network_has_velas_arena() -> None:
    plan = make_plan(
        [100, 10], [(NPU, (0,), (1,))], (0,), (1,), offsets={0: 0, 1: 64}, scratch_bytes=1000
    )
    assert plan_of(plan)[1].arena_bytes == 1000


def test_what_lives_between_partitions_leaves_the_scratch_alone() -> None:
    """Tensors from the first partition to the second are not in the graph."""
    plan = make_plan(
        [100, 100, 50, 100, 10],
        [(NPU, (0,), (1,)), ("SOFTMAX", (1,), (2,)), ("SOFTMAX", (2,), (3,)), (NPU, (3,), (4,))],
        (0,), (4,), offsets={0: 0, 1: 0, 3: 0, 4: 0}, scratch_bytes=400,
    )  # fmt: skip
    _, memory = plan_of(plan)
    assert memory.by_tensor[2].offset == 400


def test_what_lives_during_a_partition_is_outside_its_scratch() -> None:
    plan = make_plan(
        [16, 16, 16, 16],
        [("SOFTMAX", (0,), (1,)), (NPU, (0,), (2,)), ("SOFTMAX", (1, 2), (3,))],
        (0,), (3,), offsets={0: 0, 2: 16}, scratch_bytes=200,
    )  # fmt: skip
    _, memory = plan_of(plan)
    assert memory.by_tensor[1].offset == 208


def test_fast_scratch_is_apart_from_scratch() -> None:
    plan = make_plan(
        [16, 16],
        [(NPU, (0,), (1,))],
        (0,),
        (1,),
        offsets={0: 0, 1: 16},
        scratch_bytes=40,
        fast_bytes=50,
    )
    _, memory = plan_of(plan)
    assert memory.scratches["fast"].offset == 48
    assert memory.arena_bytes == 98


def test_a_scratch_keeps_its_alignment() -> None:
    operators = [(NPU, (0,), (1,))]
    plan = make_plan([16, 16], operators, (0,), (1,), fast_bytes=50, alignment=64)
    _, memory = plan_of(plan)
    assert memory.scratches["fast"].offset == 0
    plan = make_plan([100, 16], operators, (0,), (1,), fast_bytes=50, alignment=64)
    _, memory = plan_of(plan)
    assert memory.scratches["fast"].offset == 128


def test_a_reshape_costs_nothing_unless_vela_placed_both_ends() -> None:
    operators = [("SOFTMAX", (0,), (1,)), ("RESHAPE", (1,), (2,)), ("SOFTMAX", (2,), (3,))]
    _, free = plan_of(make_plan([64, 64, 64, 64], operators, (0,), (3,)))
    assert free.by_tensor[1] == free.by_tensor[2]
    assert free.arena_bytes == 128
    _, fixed = plan_of(make_plan([64, 64, 64, 64], operators, (0,), (3,), offsets={1: 64, 2: 128}))
    assert (fixed.by_tensor[1].offset, fixed.by_tensor[2].offset) == (64, 128)


def test_a_reshape_does_not_join_what_vela_forgets_too_early() -> None:
    """The reshaped tensor is Vela's until the partition; its source is read after that."""
    plan = make_plan(
        [16, 16, 16, 16, 16],
        [
            ("SOFTMAX", (0,), (1,)),
            ("RESHAPE", (1,), (2,)),
            (NPU, (2,), (3,)),
            ("SOFTMAX", (1, 3), (4,)),
        ],
        (0,), (4,), offsets={2: 0, 3: 32}, scratch_bytes=64,
    )  # fmt: skip
    schedule, memory = plan_of(plan)
    assert memory.by_tensor[1] != memory.by_tensor[2]
    run_on_bytes(schedule, memory)


@pytest.mark.parametrize(("more", "advice"), [(0, "--io caller"), (5, "--npu none")])
def test_vela_tensors_on_top_of_each_other_are_refused(more: int, advice: str) -> None:
    """The advice is no style that has too few base pointers for the partition."""
    beside = tuple(range(4, 4 + more))
    plan = make_plan(
        [16] * (4 + more), [(NPU, (0, *beside), (1, 2)), ("ADD", (1, 2), (3,))], (0, *beside), (3,),
        offsets={1: 0, 2: 0}, scratch_bytes=64,
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match=f"'t1' and 't2'.*{advice}"):
        plan_of(plan)


def test_of_two_on_top_of_each_other_what_only_the_cpu_uses_moves() -> None:
    plan = make_plan(
        [16, 16, 16, 16], [("ABS", (0,), (1,)), (NPU, (1,), (2,)), ("ADD", (0, 2), (3,))],
        (0,), (3,), offsets={0: 0, 1: 16, 2: 0}, scratch_bytes=64,
    )  # fmt: skip
    schedule, memory = plan_of(plan)
    assert not memory.by_tensor[0].is_fixed and memory.by_tensor[2].offset == 0
    run_on_bytes(schedule, memory)


def test_ports_take_no_arena_where_the_caller_owns_them() -> None:
    operators = [("SOFTMAX", (0,), (1,)), ("SOFTMAX", (1,), (2,))]
    _, memory = plan_of(make_plan([64, 32, 64], operators, (0,), (2,), IoStyle.CALLER))
    assert memory.arena_bytes == 32
    assert [memory.by_tensor[i].port for i in range(3)] == [0, None, 2]


def test_a_reshape_into_the_callers_output_is_written_there_at_once() -> None:
    operators = [("SOFTMAX", (0,), (1,)), ("RESHAPE", (1,), (2,))]
    _, memory = plan_of(make_plan([64, 32, 32], operators, (0,), (2,), IoStyle.CALLER))
    assert memory.arena_bytes == 0
    assert memory.by_tensor[1].port == 2


def test_copies_are_made_only_where_one_buffer_cannot_serve() -> None:
    operators = [("SOFTMAX", (0,), (1,))]
    plain = make_plan([8, 8], operators, (0,), (0, 1, 1))
    assert len(make_schedule(plain).steps) == 1
    caller = make_schedule(make_plan([8, 8], operators, (0,), (0, 1, 1), IoStyle.CALLER))
    assert [step.operator.code for step in caller.steps] == ["SOFTMAX", "COPY", "COPY"]
    assert caller.graph.outputs == (2, 1, 3)
    constant = make_schedule(make_plan([8, 8, 4], operators, (0,), (2,), constants=(2,)))
    assert [step.operator.inputs for step in constant.steps] == [(0,), (2,)]


def test_outputs_live_to_the_end_and_inputs_from_the_start() -> None:
    operators = [("SOFTMAX", (0,), (2,)), ("SOFTMAX", (1,), (3,)), ("SOFTMAX", (3,), (4,))]
    schedule = make_schedule(make_plan([8] * 5, operators, (0, 1), (2, 4)))
    spans = {i: (min(steps), max(steps)) for i, steps in lifetimes(schedule).items()}
    assert spans == {0: (0, 0), 1: (0, 1), 2: (0, 3), 3: (1, 2), 4: (2, 3)}


def test_an_output_takes_the_place_of_an_input_that_is_not_needed_again() -> None:
    operators = [("ADD", (0, 1), (2,)), ("RELU", (2,), (3,)), ("ADD", (3, 2), (4,))]
    schedule, memory = plan_of(make_plan([64] * 5, operators, (0, 1), (4,)))
    assert memory.in_place == {0, 2}  # tensor 2 is read again after RELU
    assert memory.arena_bytes == 2 * 64
    run_on_bytes(schedule, memory)


@pytest.mark.parametrize("io", IoStyle)
def test_a_callers_input_and_a_smaller_one_are_left_alone(io: IoStyle) -> None:
    operators = [("ADD", (0, 1), (2,))]
    schedule, memory = plan_of(make_plan([64, 4, 64], operators, (0, 1), (2,), io))
    assert memory.in_place == (frozenset({0}) if io is IoStyle.ARENA else frozenset())
    run_on_bytes(schedule, memory)
