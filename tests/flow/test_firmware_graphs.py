"""Graphs of every form through the firmware on QEMU: ends, chains, control flow, one operator."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.control_networks import accumulator, branch, is_positive, no_turn_or_many
from tests.support.needs import needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.stream_networks import waiting

Build = Callable[[NetworkBuilder], list[int]]
THREE_SAMPLES = Inputs(None, 3, 9)


def verify(build: Build, folder: Path, inputs: Inputs = THREE_SAMPLES, **options: object) -> Report:
    net = NetworkBuilder(build.__name__.strip("_"), seed=5)
    path = folder / f"{net.name}.tflite"
    path.write_bytes(net.build(*build(net)))
    return flow.verify(recipe(path, **options), flow.RunOptions(inputs), watch=Watch())  # type: ignore[arg-type]


def _ends_and_chains(net: NetworkBuilder) -> list[int]:
    """CPU, NPU, CPU, NPU, CPU; an input and a constant that are outputs, beside computed ones."""
    x, other = net.input((1, 8, 8, 4)), net.input((1, 4, 4, 8), scale=0.02)
    x = net.conv2d(net.average_pool(x, (2, 2)), 8)
    middle = net.average_pool(x, (3, 3), (1, 1), padding="SAME")
    x = net.average_pool(net.conv2d(middle, 4), (2, 2))
    constant = net.constant(np.arange(12).reshape(3, 4), "int8", 0.1, name="constant")
    return [x, other, net.average_pool(other, (2, 2)), middle, constant]


def _control(net: NetworkBuilder) -> list[int]:
    """A variable that CALL_ONCE sets, IF between layers, WHILE over floats."""
    kept = accumulator(net)
    chosen = branch(net, is_positive(net), kept[1], (3, 1))
    return [*kept, net.conv2d(chosen, 4), *no_turn_or_many(net)]


def _kept_operand(net: NetworkBuilder) -> list[int]:
    """Attention whose values one partition prepares, and the next but one multiplies.

    With these scales an erratum holds the first product on the CPU.
    """
    wide = net.quantize(net.input((4, 21, 9), "int8", 0.002665157, 0), "int8", 0.012437931, -104)
    x = net.apply("SLICE", wide, [2, 10, 1], [1, 5, 8])
    values = net.quantize(x, "int8", 0.015511926, 89)
    operands = x, net.input((1, 5, 8), "int8", 0.005869867, -26)
    scores = net.apply("BATCH_MATMUL", *operands, adj_y=True, scale=0.015074547, zero_point=0)
    to = {"scale": 0.015511926, "zero_point": 89}
    return [x, scores, net.apply("BATCH_MATMUL", net.softmax(scores), values, **to)]


def _one(net: NetworkBuilder) -> list[int]:
    return [net.softmax(net.input((1, 10)))]


def test_litert_decides_where_tflite_micro_cannot_run_a_network(tmp_path: Path) -> None:
    net = NetworkBuilder("repeated", seed=1)
    y = net.apply("TILE", net.input((1, 4, 4, 8)), [1, 2, 1, 1])
    path = tmp_path / "repeated.tflite"
    path.write_bytes(net.build(net.relu(y)))
    inputs = Inputs(None, 2, 9)
    report = flow.simulate(path, npu="none", inputs=inputs, watch=Watch())
    assert report.passed and report.golden is not None and report.golden.oracle == "litert"
    assert report.second is None


@needs_qemu
@pytest.mark.parametrize("io", ["arena", "caller"])
def test_ends_and_chains(io: str, tmp_path: Path) -> None:
    report = verify(_ends_and_chains, tmp_path, io=io, cpu_ops=["AVERAGE_POOL_2D"])
    assert report.passed and report.plan.partitions == 2
    assert report.golden is not None and report.golden.elements == 3 * (16 + 128 + 32 + 128 + 12)


@needs_qemu
def test_a_partition_without_outputs_keeps_its_result_for_another(tmp_path: Path) -> None:
    """Vela transposes `values` in the first, and leaves the result in the scratch memory."""
    report = verify(_kept_operand, tmp_path, npu="ethos-u55-64")
    assert report.passed and report.plan.partitions == 3
    assert [operator.code for operator in report.plan.cpu_operators] == ["SLICE", "BATCH_MATMUL"]


@needs_qemu
@pytest.mark.parametrize(("npu", "io"), [("ethos-u55-128", "arena"), ("none", "caller")])
def test_control_flow_and_variables(npu: str, io: str, tmp_path: Path) -> None:
    """The samples are a sequence: what one leaves in a variable the next one finds."""
    report = verify(_control, tmp_path, npu=npu, io=io)
    assert report.passed and report.plan.partitions == (0 if npu == "none" else 2)
    assert npu == "none" or report.plan.npu_operators == 4


@needs_qemu
@pytest.mark.parametrize(("npu", "io"), [("ethos-u55-128", "arena"), ("none", "caller")])
def test_a_network_that_waits_for_inputs(npu: str, io: str, tmp_path: Path) -> None:
    """The network has outputs in every sixth inference, as in TFLite Micro."""
    inputs = Inputs(None, 13, 9)
    report = verify(waiting, tmp_path, npu=npu, io=io, inputs=inputs)
    assert report.passed and report.samples == 13
    assert report.golden is not None and report.golden.elements == 2 * 8 * 6


@needs_qemu
def test_one_operator_that_no_npu_gets(tmp_path: Path) -> None:
    report = verify(_one, tmp_path, cpu_ops=["SOFTMAX"])
    assert report.passed and report.plan.partitions == 0
