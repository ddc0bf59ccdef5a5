"""Results that C++ leaves undefined: no verdict depends on them, and the report counts them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.junit_suites import make_suites
from ethosgen.commands.wording import report_text
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.pieces import undefined_outputs
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, LeftOut, OutputComparison, compare
from ethosgen.values.plan import PlanSummary
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.bisection import diagnose
from ethosgen.verdict.judgement import judge
from tests.support.needs import needs_qemu
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder
from tests.support.stream_networks import network_of, stackers

WHY = "C++ leaves the result of QUANTIZE with output 'made' undefined for a float that does not fit"


def from_floats(then_pool: bool = False) -> bytes:
    """Return QUANTIZE of a float input of 4 elements; then MAX_POOL_2D of all four."""
    net = NetworkBuilder("floats", seed=1)
    x = net.input((1, 2, 2, 1), "float32", None, name="x")
    (quantized,) = net.operator(
        "QUANTIZE", (x,), (Spec((1, 2, 2, 1), "int8", 0.5, 3, name="made"),)
    )
    return net.build(net.max_pool(quantized, (2, 2)) if then_pool else quantized)


def floats(*values: float) -> Arrays:
    return {"x": np.array(values, np.float32).reshape(1, 2, 2, 1)}


def other_processor(model: Network, samples: Sequence[Arrays], place: int) -> list[Arrays]:
    """Return the golden outputs, with another value at one element of each sample."""
    outputs = [
        {name: a.copy() for name, a in golden.items()} for golden in golden_outputs(model, samples)
    ]
    for output in outputs:
        for array in output.values():
            array.flat[place] ^= 1
    return list(outputs)


def judged(model: Network, samples: Sequence[Arrays], outputs: Sequence[Arrays]) -> Report:
    golden, second = judge(model, samples, outputs, Watch())
    plan = PlanSummary("none", 0, 0, (), 0, 0)
    return Report("net", None, "simulate", plan, len(samples), golden, second, ended=True)


@pytest.mark.slow
@pytest.mark.parametrize("far", [1e12, -3e38, np.nan, np.inf])
def test_an_undefined_element_is_left_out_and_counted(far: float) -> None:
    model = parse_network(from_floats(), "floats")
    samples = [floats(1.0, far, 2.0, 3.0), floats(1.0, 5.0, 2.0, 3.0)]
    outputs = other_processor(model, samples[:1], 1) + list(golden_outputs(model, samples[1:]))
    report = judged(model, samples, outputs)
    assert report.passed
    assert report.golden is not None
    assert (report.golden.elements, report.golden.left_out) == (7, 1)
    assert f"left out  1 output: {WHY}" in report_text(report)
    answer = json.loads(json.dumps(report.as_json()))["oracles"]["tflm"]
    assert (answer["left_out"], answer["left_out_why"]) == (1, WHY)
    (suite,) = make_suites("p", report, None)
    texts = [case.system_out for case in suite]
    assert any(WHY in (text or "") for text in texts)


@pytest.mark.slow
def test_a_defined_element_beside_it_is_compared() -> None:
    model = parse_network(from_floats(), "floats")
    samples = [floats(1.0, 1e12, 2.0, 3.0)]
    report = judged(model, samples, other_processor(model, samples, 2))
    assert report.verdict == "FAIL"
    assert report.golden is not None and report.golden.mismatches == 1
    assert report.golden.first is not None and report.golden.first.index == (0, 1, 0, 0)


@pytest.mark.slow
def test_what_is_computed_from_it_is_left_out_too_and_nothing_compared_is_no_success() -> None:
    model = parse_network(from_floats(then_pool=True), "floats")
    samples = [floats(1.0, 1e12, 2.0, 3.0)]
    report = judged(model, samples, other_processor(model, samples, 0))
    assert report.verdict == "FAIL" and not report.passed
    assert report.golden is not None
    assert (report.golden.elements, report.golden.left_out) == (0, 1)
    text = report_text(report)
    assert "nothing was compared: pass other values with --input" in text and WHY in text
    (suite,) = make_suites("p", report, None)
    (message,) = [result.message for case in suite for result in case.result]
    assert WHY in message


def test_equal_outputs_are_all_compared() -> None:
    model = parse_network(from_floats(), "floats")
    samples = [floats(1.0, 1e12, 2.0, 3.0)]
    report = judged(model, samples, golden_outputs(model, samples))
    assert report.golden is not None
    assert (report.golden.elements, report.golden.left_out) == (4, 0)


def test_a_power_that_overflows_is_left_out() -> None:
    net = NetworkBuilder("powers")
    base, exponent = (net.input((3,), "int32", None, name=name) for name in ("base", "exponent"))
    (power,) = net.operator("POW", (base, exponent), (Spec((3,), "int32", name="made"),))
    network = parse_network(net.build(power), "powers")
    sample = {"base": np.int32([2, -2, 46341]), "exponent": np.int32([31, 31, 2])}
    left_out = undefined_outputs(network, [sample])
    assert left_out is not None
    assert left_out.masks[0]["made"].tolist() == [True, False, True]
    assert left_out.why.startswith("C++ leaves the result of POW with output 'made' undefined")


def test_a_stack_without_enough_data_is_left_out() -> None:
    network = network_of(lambda net: stackers(net, [(2, 3, 0, 4)]))
    samples = random_samples(network, 9, seed=1)
    golden = golden_outputs(network, samples)
    stack, is_valid = (tensor.name for tensor in network.outputs)
    left_out = undefined_outputs(network, samples)
    assert left_out is not None and "SignalStacker" in left_out.why
    awaits = [not wanted[is_valid].item() for wanted in golden]
    assert {*awaits} == {True, False}
    assert [bool(mask) and bool(mask[stack].all()) for mask in left_out.masks] == awaits


def test_a_missing_output_is_no_undefined_one() -> None:
    mask = LeftOut([{"y": np.array([True, False])}], "why")
    wanted: list[Arrays] = [{"y": np.array([1, 2], np.int8)}]
    compared = compare("tflm", [{}], wanted, left_out=mask)
    assert (compared.mismatches, compared.elements, compared.left_out) == (1, 1, 1)


def test_no_layer_is_blamed_for_what_is_left_out() -> None:
    equal = OutputComparison("tflm", 0, 3, 0.0, left_out=1, left_out_why="why")
    model = parse_network(from_floats(), "floats")
    assert diagnose(model, [], equal, lambda _: pytest.fail("planned"), Watch()) is None


@needs_qemu
def test_verify_on_a_processor_that_saturates(tmp_path: Path) -> None:
    """Arm's conversion saturates; x86's, on which the oracle runs, gives the smallest integer."""
    (tmp_path / "floats.tflite").write_bytes(from_floats())
    np.savez(tmp_path / "x.npz", x=np.stack([floats(1.0, 1e12, -2.0, 3.0)["x"]]))
    command = ["verify", str(tmp_path / "floats.tflite"), "--board", "corstone300"]
    done = CliRunner().invoke(cli, [*command, "--input", str(tmp_path / "x.npz")])
    assert done.exit_code == 0, done.output
    assert f"left out  1 output: {WHY}" in done.stdout
