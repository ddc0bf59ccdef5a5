"""The proof over the final memory plan: it holds for what is made, and sees each kind of damage."""

from dataclasses import replace

import pytest

from ethosgen.aot import compile_program, make_evaluator, require_places
from ethosgen.aot.fuse.fusion import fuse_chains
from ethosgen.aot.libraries import libraries
from ethosgen.aot.memory.overlaps import check_memory
from ethosgen.aot.memory.plan import MemoryPlan, plan_memory
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import InternalError, RefusalError
from ethosgen.values.extension import Extension
from ethosgen.values.plan import Plan
from tests.support.aot_harness import ACCELERATOR, cpu_plan
from tests.support.networks import NetworkBuilder


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Two partitions with an operator of the CPU between them, and one more at the end."""
    net = NetworkBuilder("parts", seed=3)
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    y = net.operator("FLOOR_MOD", [x, x], [net.tensors[x]])[0]
    network = parse_network(net.build(net.conv2d(net.add(x, y), 8)), net.name)
    offloaded = offload(network, ACCELERATOR)
    assert len(offloaded.partitions) == 2
    assert offloaded.offsets
    return offloaded


def planned(plan: Plan) -> tuple[StepSchedule, MemoryPlan]:
    schedule = make_schedule(plan)
    return schedule, plan_memory(schedule, {1: 100})


def test_a_plan_as_made_holds(plan: Plan) -> None:
    check_memory(*planned(plan))
    compile_program(plan, "net")


def test_what_vela_places_over_each_other_is_refused_for_another_choice(plan: Plan) -> None:
    """The plan was refused only after the choice of operators, and so the network was."""
    require_places(plan)
    with pytest.raises(RefusalError, match="at overlapping addresses") as refused:
        require_places(replace(plan, offsets=dict.fromkeys(plan.offsets, 0)))
    assert "use" not in refused.value.why


def test_a_life_that_vela_does_not_know_is_seen(plan: Plan) -> None:
    """Both the compiler and `evaluate` refuse it; an unknown lifetime counts as none."""
    for lives in ({}, dict.fromkeys(plan.lives, (1, 1))):
        damaged = replace(plan, lives=lives)
        with pytest.raises(InternalError, match="when Vela could have reused its bytes"):
            compile_program(damaged, "net")
        with pytest.raises(InternalError, match="when Vela could have reused its bytes"):
            make_evaluator(damaged)({}, PartitionRunner(damaged))


def test_blocks_over_each_other_are_seen(plan: Plan) -> None:
    schedule, memory = planned(plan)
    moved = [replace(b, offset=0) if "workspace" in b.name else b for b in memory.blocks]
    with pytest.raises(InternalError, match="share bytes of the arena"):
        check_memory(schedule, replace(memory, blocks=tuple(moved)))


def test_an_output_too_near_its_input_is_seen() -> None:
    """A kernel that reads ahead of what it writes may have its output over its input."""
    net = NetworkBuilder("rows", seed=3)
    data = net.build(net.conv2d(net.input((1, 8, 8, 16)), 16, (1, 1)))
    plan = replace(cpu_plan(data), extension=Extension.THUMB2)
    schedule = fuse_chains(make_schedule(plan), libraries=libraries(plan.extension))
    memory = plan_memory(schedule, {})
    ends = plan.network.graph.inputs[0], plan.network.graph.outputs[0]
    source, target = (memory.by_tensor[i] for i in ends)
    check_memory(schedule, memory)
    assert source.overlaps(target) and memory.in_place == {0}
    for block, offset in ((source, (source.offset or 0) - 16), (target, (source.offset or 0) + 16)):
        moved = [replace(b, offset=offset) if b is block else b for b in memory.blocks]
        with pytest.raises(InternalError, match="share bytes of the arena"):
            check_memory(schedule, replace(memory, blocks=tuple(moved)))
    (step,) = schedule.steps
    assert step.kernel is not None
    apart = replace(step, kernel=replace(step.kernel, distance=None))
    with pytest.raises(InternalError, match="share bytes of the arena"):
        check_memory(replace(schedule, steps=(apart,)), memory)
