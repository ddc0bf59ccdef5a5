"""The order of steps: one with the fewest live bytes, and nothing crosses what must stay."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from ethosgen.aot import compile_program
from ethosgen.aot.fuse.fusion import fuse_chains
from ethosgen.aot.libraries import libraries
from ethosgen.aot.memory.ordering import in_best_order
from ethosgen.aot.memory.plan import plan_memory
from ethosgen.aot.schedule import order
from ethosgen.aot.schedule.order import lighter_order
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.plan import Plan
from tests.aot.test_memory_plan import make_plan
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


class Function:
    """A function that returns nothing, or a status."""

    def __init__(self, kind: str = "void") -> None:
        self.ret_type = kind_of(kind)


def kind_of(kind: str) -> object:
    return type("Kind", (), {"dtype": kind})()


def scheduled(plan: Plan, kinds: Sequence[str] = ()) -> StepSchedule:
    """Return a schedule whose steps have kernels without temporary memory."""
    schedule = make_schedule(plan)
    names = [*kinds, *["void"] * len(schedule.steps)]
    steps = (
        step if step.partition else replace(step, kernel=Kernel(Function(name), ()))
        for step, name in zip(schedule.steps, names, strict=False)
    )
    return replace(schedule, steps=tuple(steps))


def live_bytes(schedule: StepSchedule) -> int:
    """Return the most bytes that are live in any step."""
    return plan_memory(schedule, {}).bound_bytes


def orders(schedule: StepSchedule) -> list[StepSchedule]:
    """Return the schedule in all orders in which each tensor is written before it is read."""
    schedules = []
    for steps in itertools.permutations(schedule.steps):
        known = set(schedule.graph.inputs)
        for step in steps:
            if not known.issuperset(schedule.reads(step)):
                break
            known.update(schedule.writes(step))
        else:
            schedules.append(replace(schedule, steps=steps))
    return schedules


@st.composite
def graphs(draw: st.DrawFn) -> Plan:
    """Draw up to 6 operators, each of which reads one or two tensors."""
    sizes, operators = [16 * draw(st.integers(1, 9))], []
    for index in range(draw(st.integers(2, 6))):
        reads = draw(st.lists(st.integers(0, index), min_size=1, max_size=2, unique=True))
        operators.append(("CONV_2D", tuple(reads), (index + 1,)))
        sizes.append(16 * draw(st.integers(1, 9)))
    read = {i for _, reads, _ in operators for i in reads}
    outputs = tuple(i for i in range(1, len(sizes)) if i not in read)
    return make_plan(sizes, operators, (0,), outputs)


@given(graphs())
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_order_has_fewer_live_bytes(plan: Plan) -> None:
    schedule = scheduled(plan)
    lightest = min(map(live_bytes, orders(schedule)))
    assert live_bytes(lighter_order(schedule)) == lightest
    assert sorted(lighter_order(schedule).steps, key=str) == sorted(schedule.steps, key=str)


@given(graphs())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_beam_is_never_worse_than_the_networks_order(plan: Plan) -> None:
    schedule = scheduled(plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "STATES", 0)
        patch.setattr(order, "BEAM", 2)
        assert live_bytes(lighter_order(schedule)) <= live_bytes(schedule)


SIZES = [16, 1600, 16, 1600, 16, 32]
BRANCHES = [
    ("CONV_2D", (0,), (1,)),
    ("CONV_2D", (0,), (3,)),
    ("CONV_2D", (1,), (2,)),
    ("CONV_2D", (3,), (4,)),
    ("CONCATENATION", (2, 4), (5,)),
]
"""Two branches, of which the network makes both large tensors first."""


def test_one_branch_comes_after_the_other() -> None:
    schedule = scheduled(make_plan(SIZES, BRANCHES, (0,), (5,)))
    assert live_bytes(schedule) > 3200 > 1700 > live_bytes(in_best_order(schedule))


@pytest.mark.parametrize("stays", [1, 2, 3])
def test_nothing_crosses_a_step_that_may_end_the_run(stays: int) -> None:
    kinds = ["void"] * stays + ["int32"]
    schedule = scheduled(make_plan(SIZES, BRANCHES, (0,), (5,)), kinds)
    steps = lighter_order(schedule).steps
    assert steps[stays] == schedule.steps[stays]
    assert set(map(id, steps[:stays])) == set(map(id, schedule.steps[:stays]))


def test_nothing_crosses_a_partition() -> None:
    operators = list(BRANCHES)
    operators[2] = ("CUSTOM", (1,), (2,))
    schedule = scheduled(make_plan(SIZES, operators, (0,), (5,)))
    assert lighter_order(schedule).steps[2].partition is not None


@needs_gcc
def test_a_network_in_another_order_is_exact(tmp_path: Path) -> None:
    net = NetworkBuilder("branches", seed=6)
    x = net.input((1, 8, 8, 4))
    wide = [net.conv2d(x, 64) for _ in range(4)]
    narrow = [net.conv2d(each, 2) for each in wide]
    plan = cpu_plan(net.build(net.concat(narrow)))
    program = compile_program(plan, "net")
    kept = fuse_chains(make_schedule(plan), libraries=libraries(plan.extension))
    rooms = {i: s.kernel.workspace_bytes for i, s in enumerate(kept.steps) if s.kernel}
    assert program.arena_bytes < plan_memory(kept, rooms).arena_bytes / 2
    GeneratedC(program, tmp_path).check(*samples_and_golden(plan.network))
