"""State that persists between inferences: the NPU's in its scratch, the CPU's outside the arena."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.schedule.schedule import make_schedule
from ethosgen.aot.schedule.variables import find_variables
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.plan import IoStyle, Plan
from tests.support.aot_harness import ACCELERATOR, assert_equal, samples_and_golden
from tests.support.arena_npu import check_program
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder


def npu_plan(build: Callable[[NetworkBuilder], int], keep: tuple[str, ...] = ()) -> Plan:
    net = NetworkBuilder("stateful", seed=5)
    network = parse_network(net.build(build(net)), "stateful")
    return offload(network, ACCELERATOR, ignore=keep)


def _two_on_npu(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 8), scale=0.02)
    x = lstm(net, net.unary("RELU", x), 12)
    x = net.unary("HARD_SWISH", net.quantize(x, "int8", 0.01, 4))
    return net.add(lstm(net, x, 10, zero_point=-7), net.input((1, 4, 10)))


NETWORKS: dict[str, Callable[[NetworkBuilder], int]] = {
    "int8": lambda net: lstm(net, net.input((2, 3, 8), scale=0.02), 11),
    "int16": lambda net: lstm(net, net.input((3, 2, 8), "int16", 5e-5, 0), 9, by_time=True),
    "two, and layers between": _two_on_npu,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_npu_keeps_its_state_from_sample_to_sample(name: str) -> None:
    plan = npu_plan(NETWORKS[name])
    assert plan.partitions and not plan.cpu_operators
    samples, golden = samples_and_golden(plan.network, 4)
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, runner), wanted)


def test_another_evaluator_starts_afresh() -> None:
    for _ in range(2):
        plan = npu_plan(NETWORKS["int8"])
        samples, golden = samples_and_golden(plan.network, 2)
        runner = PartitionRunner(plan)
        assert_equal(make_evaluator(plan)(samples[0], runner), golden[0])


@needs_gcc
def test_in_the_callers_buffers_the_cpu_keeps_the_state(tmp_path: Path) -> None:
    """Vela gives the states no base pointers of their own."""
    net = NetworkBuilder("stateful", seed=5)
    network = parse_network(net.build(NETWORKS["int8"](net)), "stateful")
    plan = offload(network, ACCELERATOR, IoStyle.CALLER)
    assert not plan.partitions and "base pointer" in plan.cpu_operators[0].reason
    assert check_program(plan, tmp_path).state_bytes


def test_cpu_operators_leave_the_npus_state_alone() -> None:
    plan = npu_plan(NETWORKS["two, and layers between"], keep=("ADD", "HARD_SWISH"))
    program = compile_program(plan, "net")
    kept = [v for v in program.variables if v.memory == "arena"]
    assert len(kept) == 4 and program.state_bytes == 0
    for placement in program.placements:
        for variable in kept:
            apart = (
                placement.offset + placement.bytes <= variable.offset
                or variable.offset + variable.bytes <= placement.offset
            )
            assert apart, (placement.name, variable.name)


def _behind_the_cpu(net: NetworkBuilder) -> int:
    x = net.unary("RELU", net.input((3, 2, 8), scale=0.02))
    return lstm(net, net.unary("HARD_SWISH", x), 5)


def test_an_lstm_that_vela_spreads_over_two_partitions_is_run() -> None:
    """Vela puts the part of it that reads its state alone before the operator of the CPU."""
    plan = npu_plan(_behind_the_cpu, keep=("HARD_SWISH",))
    tensors = plan.residual.tensors
    reads = [{i for i in p.inputs if tensors[i].is_variable} for p in plan.partitions]
    assert len(reads) == 2 and reads[0] & reads[1]
    samples, golden = samples_and_golden(plan.network, 4)
    runner = PartitionRunner(plan)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, runner), wanted)


def test_a_variable_begins_at_its_zero_point() -> None:
    program = compile_program(npu_plan(NETWORKS["two, and layers between"]), "net")
    assert sorted(v.initial_byte for v in program.variables) == [0, 0, 3, -7 & 0xFF]


def test_variables_with_one_place_are_refused() -> None:
    """Vela gives two variables of one name one place, and their values would mix."""
    plan = npu_plan(NETWORKS["two, and layers between"])
    variables = find_variables(make_schedule(plan), 16)
    first, second = (v.tensor for v in variables[:2])
    clash = replace(plan, offsets={**plan.offsets, second: plan.offsets[first]})
    with pytest.raises(UnsupportedError, match="the same name"):
        find_variables(make_schedule(clash), 16)


def test_a_state_as_output_is_refused() -> None:
    plan = npu_plan(NETWORKS["int8"])
    (variable, *_) = find_variables(make_schedule(plan), 16)
    graph = replace(plan.residual, outputs=(variable.tensor,))
    with pytest.raises(UnsupportedError, match="variable"):
        compile_program(replace(plan, residual=graph), "net")


@needs_gcc
def test_generated_c_keeps_it_with_the_npu(tmp_path: Path) -> None:
    plan = npu_plan(NETWORKS["two, and layers between"], keep=("ADD", "HARD_SWISH"))
    assert len(plan.partitions) == 2 and plan.cpu_operators
    check_program(plan, tmp_path)
