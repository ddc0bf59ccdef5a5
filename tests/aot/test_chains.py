"""Operators fused into the ones before them: fewer loops, less memory, the same bits."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from tvm import tirx

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.fuse.fusion import fuse_chains
from ethosgen.aot.kernels import choose_kernels, workspace_bytes
from ethosgen.aot.libraries import libraries
from ethosgen.aot.memory.plan import plan_memory
from ethosgen.aot.schedule.schedule import StepSchedule, make_schedule
from ethosgen.aot.tir.quantization import compose_bounds
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.plan import Plan
from ethosgen.values.program import Program
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

SHAPE = (1, 6, 6, 8)
Build = Callable[[NetworkBuilder], int]


def _requantized(net: NetworkBuilder, x: int, scale: float = 0.07) -> int:
    return net.quantize(x, "int8", scale, -3)


def _chain_of_tables(net: NetworkBuilder) -> int:
    """Seven operators of one byte: a layer and one look-up."""
    x = net.conv2d(net.input(SHAPE), 8)
    x = _requantized(net, net.logistic(_requantized(net, x)))
    x = net.tanh(net.add(x, net.constant(np.array([17]), "int8", 0.02, 3)))
    return net.quantize(net.dequantize(x), "int8", 0.01, 1)


def _clamp(net: NetworkBuilder) -> int:
    """RELU6 with the layer's own scale: nothing is left of it."""
    return net.unary("RELU6", net.conv2d(net.input(SHAPE), 8))


def _clamp_behind_add(net: NetworkBuilder) -> int:
    x, y = net.input(SHAPE), net.input(SHAPE, scale=0.07)
    return net.unary("RELU6", net.add(x, y))


def _sum_and_tables(net: NetworkBuilder) -> int:
    x = net.add(net.input(SHAPE), net.input(SHAPE, scale=0.07))
    return net.logistic(_requantized(net, x))


def _reshaped(net: NetworkBuilder) -> int:
    x = net.reshape(net.max_pool(net.input(SHAPE), (2, 2)), (9, 8))
    return net.logistic(x)


def _floats(net: NetworkBuilder) -> int:
    x = net.input(SHAPE, "float32", None)
    each = net.constant(np.linspace(-2, 2, 8), "float32")
    y = net.apply("DIV", net.unary("ABS", x), each, fused_activation_function="RELU6")
    return net.unary("LEAKY_RELU", net.minimum(y, x), {"alpha": 0.1})


def _two_tensors(net: NetworkBuilder) -> int:
    x, y, z = (net.input(SHAPE, "int16", 0.0005, 0) for _ in range(3))
    return net.minimum(net.maximum(x, y), z)


def _packed_alone(net: NetworkBuilder) -> int:
    x, y, z = (net.input(SHAPE, scale=scale) for scale in (0.05, 0.03, 0.07))
    return net.relu(net.sub(net.mul(x, y), z))


def _by_channel(net: NetworkBuilder) -> int:
    x = net._pool("L2_POOL_2D", net.input(SHAPE, "float32", None), (2, 2), (2, 2))
    each = net.constant(np.linspace(-2, 2, 8), "float32")
    return net.apply("DIV", x, each, fused_activation_function="NONE")


def _narrowed(net: NetworkBuilder) -> int:
    y = net.apply("REVERSE_V2", net.input(SHAPE, "int16", 0.001, 0), [2])
    return net.quantize(y, "int8", 0.2, 1)


def _constant_by_place(net: NetworkBuilder) -> int:
    """One byte is read, but what becomes of it depends on where it stands: that is no table."""
    each = np.linspace(-100, 100, math.prod(SHAPE)).astype(np.int8).reshape(SHAPE)
    return net.logistic(net.add(net.input(SHAPE), net.constant(each, "int8", 0.02, 3)))


def _two_tables_behind_a_sum(net: NetworkBuilder) -> int:
    """An operator that reads the first lookup twice is also a function of one byte."""
    z = net.logistic(net.sub(net.input(SHAPE), net.input(SHAPE, scale=0.07)))
    return net.sub(net.unary("RELU6", z), z)


SEVEN = "QUANTIZE LOGISTIC QUANTIZE ADD TANH DEQUANTIZE QUANTIZE"
CHAINS: dict[str, tuple[Build, list[str], int]] = {
    "tables": (_chain_of_tables, ["CONV_2D " + SEVEN], 1),
    "clamp": (_clamp, ["CONV_2D RELU6"], 1),
    "clamp behind ADD": (_clamp_behind_add, ["ADD RELU6"], 1),
    "constant by place": (_constant_by_place, ["ADD LOGISTIC"], 1),
    "two tables": (_two_tables_behind_a_sum, ["SUB LOGISTIC RELU6 SUB"], 1),
    "sum and tables": (_sum_and_tables, ["ADD QUANTIZE LOGISTIC"], 1),
    "reshaped": (_reshaped, ["MAX_POOL_2D RESHAPE LOGISTIC"], 1),
    "floats": (_floats, ["ABS DIV MINIMUM LEAKY_RELU"], 1),
    "two tensors": (_two_tensors, ["MAXIMUM MINIMUM"], 1),
    "by channel": (_by_channel, ["L2_POOL_2D DIV"], 1),
    "narrowed": (_narrowed, ["REVERSE_V2 QUANTIZE"], 1),
}  # fmt: skip


def _plan(build: Build) -> Plan:
    net = NetworkBuilder("network", seed=4)
    return cpu_plan(net.build(build(net)))


def _codes(schedule: StepSchedule) -> list[str]:
    return [" ".join(op.code for op in (s.operator, *s.tail)) for s in schedule.steps]


def _arena(schedule: StepSchedule) -> int:
    kernels, _ = choose_kernels(schedule, "net", libraries())
    return plan_memory(schedule, workspace_bytes(kernels)).arena_bytes


@needs_gcc
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_is_one_function_with_the_same_bits(name: str, tmp_path: Path) -> None:
    build, wanted, functions = CHAINS[name]
    plan = _plan(build)
    for among in ((), libraries()):
        assert _codes(fuse_chains(make_schedule(plan), among)) == wanted
    program = compile_program(plan, "net")
    assert len(_functions(program)) == functions
    assert program.summary().fused == (wanted[0].replace(" ", " + "),)
    generated = GeneratedC(program, tmp_path)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(*samples_and_golden(plan.network, 3), strict=True):
        assert_equal(generated.run(sample)[1], golden)
        assert_equal(evaluate(sample, _unused), golden)


@needs_gcc
def test_what_has_a_micro_kernel_is_not_drawn_into_a_plain_loop(tmp_path: Path) -> None:
    """An ADD behind an ADD took 93 instructions an element on QEMU in one loop, and 20 apart."""
    plan = _plan(_packed_alone)
    assert _codes(fuse_chains(make_schedule(plan), libraries())) == ["MUL", "SUB RELU"]
    program = compile_program(plan, "net")
    assert {"ethosgen_add.c", "ethosgen_mul.c"} <= set(program.sources)
    generated = GeneratedC(program, tmp_path)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(*samples_and_golden(plan.network, 3), strict=True):
        assert_equal(generated.run(sample)[1], golden)
        assert_equal(evaluate(sample, _unused), golden)


def _functions(program: Program) -> list[str]:
    """Return the bodies of the static functions."""
    (text,) = (text for name, text in program.sources.items() if name.endswith("_graph.c"))
    return re.findall(r"^static void .*?^\}", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["floats", "two tensors"])
def test_elements_share_one_loop_and_store_nothing_between(name: str) -> None:
    (body,) = _functions(compile_program(_plan(CHAINS[name][0]), "net"))
    stores = re.findall(r"^\s*\w*(?:output)\w*\[[^\]]*\] = ", body, re.MULTILINE)
    assert len(stores) == 1
    assert len(re.findall(r"\bfor \(", body)) == (2 if name == "floats" else 1)  # by channel: two


@pytest.mark.slow
def test_functions_of_a_byte_become_one_table() -> None:
    program = compile_program(_plan(_chain_of_tables), "net")
    tables = [c for c in program.constants if len(c.data) == 256]
    assert len(tables) == 1
    assert "ethosgen_table.c" in program.sources


def test_one_element_of_many_is_no_function_of_the_first() -> None:
    """A SLICE of one element has no loops, so that its place looked like the output's."""
    net = NetworkBuilder("network", seed=4)
    x = net.apply("SLICE", net.input((9,)), [5], [1])
    plan = cpu_plan(net.build(net.relu(x)))
    samples, golden = samples_and_golden(plan.network)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, lambda *_: {}), wanted)


def test_a_clamp_costs_nothing() -> None:
    net = NetworkBuilder("network", seed=4)
    alone = compile_program(cpu_plan(net.build(net.conv2d(net.input(SHAPE), 8))), "net")
    fused = compile_program(_plan(_clamp), "net")
    assert len(fused.constants) == len(alone.constants)
    assert len(fused.sources) == len(alone.sources)


def test_what_is_never_stored_needs_no_memory() -> None:
    schedule = make_schedule(_plan(_narrowed))
    assert (_arena(schedule), _arena(fuse_chains(schedule, libraries()))) == (1152, 864)


@pytest.mark.slow
def test_no_chain_makes_the_arena_larger() -> None:
    for build, _, _ in CHAINS.values():
        schedule = make_schedule(_plan(build))
        assert _arena(fuse_chains(schedule, libraries())) <= _arena(schedule)


def test_what_somebody_else_reads_is_stored() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input(SHAPE), 8)
    y = net.relu(x)
    for outputs in ((y, x), (net.max_pool(x, (2, 2)), y)):
        schedule = fuse_chains(make_schedule(cpu_plan(net.build(*outputs))), libraries())
        assert "CONV_2D" in _codes(schedule)


def test_what_has_several_outputs_stays() -> None:
    net = NetworkBuilder("split", seed=7)
    x = net.relu(net.input((1, 4)))
    halves = net.apply_all("SPLIT", np.array(1), x, num_splits=2)
    assert not compile_program(cpu_plan(net.build(*halves)), "net").fused


def test_a_larger_result_is_not_made_while_what_it_comes_from_is_there() -> None:
    net = NetworkBuilder("network", seed=4)
    y = net.dequantize(net.max_pool(net.input((1, 12, 12, 8)), (4, 4)))
    schedule = fuse_chains(make_schedule(cpu_plan(net.build(y))), libraries())
    assert _codes(schedule) == ["MAX_POOL_2D", "DEQUANTIZE"]


def test_what_is_read_out_of_order_is_read_from_memory() -> None:
    """REVERSE_V2 is as large as what it reads, but does not read where it writes."""
    net = NetworkBuilder("network", seed=4)
    x = net.relu(net.input((4, 8)))
    y = net.apply("REVERSE_V2", x, [0])
    schedule = fuse_chains(make_schedule(cpu_plan(net.build(y))), libraries())
    assert _codes(schedule) == ["RELU", "REVERSE_V2"]
    assert [step.in_place for step in schedule.steps] == [True, False]


def _int8_network(net: NetworkBuilder) -> int:
    x = net.conv2d(net.input((1, 12, 12, 6)), 10, activation="RELU6")
    x = net.add(net.depthwise(x), x)
    x = net.max_pool(net.logistic(net.transpose(x, (0, 2, 1, 3))), (2, 2))
    x = net.reshape(net.average_pool(net.mul(x, x), (6, 6)), (1, 10))
    return net.softmax(net.fully_connected(x, 12))


def test_no_int8_tensor_is_ever_wider_in_memory() -> None:
    """Neither in the plan, nor on the stack, nor as a workspace with room for a tensor as int32."""
    schedule = fuse_chains(make_schedule(_plan(_int8_network)), libraries())
    kernels, _ = choose_kernels(schedule, "net", libraries())
    plan, tensors = plan_memory(schedule, workspace_bytes(kernels)), schedule.graph.tensors
    for block in plan.blocks:
        assert block.bytes == max((tensors[i].elements for i in block.values), default=block.bytes)
    for index, step in enumerate(schedule.steps):
        read = max(tensors[i].elements for i in schedule.reads(step))
        assert kernels[index].kernel.workspace_bytes < 4 * read
        assert _stack_elements(kernels[index].kernel.function) <= 16


def _stack_elements(function: Any) -> int:
    """Return the elements of all buffers that a PrimFunc allocates."""
    allocations: list[Any] = []
    tvm_ffi.structural_walk(function.body, (tirx.AllocBuffer, allocations.append))
    return sum(
        math.prod(int(size) for size in allocation.buffer.shape) for allocation in allocations
    )


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")


@pytest.mark.parametrize("activation", ["RELU", "RELU_N1_TO_1"])
def test_bounds_in_turn_need_not_overlap(activation: str) -> None:
    """A QUANTIZE that saturates everything became the bounds -128 to -128 after a RELU's."""
    net = NetworkBuilder("bounds", 3)
    x = net.depthwise(net.input((1, 8, 8, 4)), activation=activation, scale=0.066, zero_point=127)
    y = net.quantize(x, "int8", 0.0069, -128)
    network = parse_network(net.build(y), "bounds")
    samples, golden = samples_and_golden(network)
    run = make_evaluator(cpu_plan(network))
    for sample, wanted in zip(samples, golden, strict=True):
        ((name, value),) = wanted.items()
        assert np.array_equal(run(sample, lambda *_: {})[name], value)


def test_bounds_compose() -> None:
    assert compose_bounds((112, 127), (-128, -128)) == (-128, -128)
    assert compose_bounds((-20, 90), (0, 100)) == (0, 90)
    assert compose_bounds(compose_bounds((-128, 127), (-10, 50)), (60, 70)) == (60, 60)
