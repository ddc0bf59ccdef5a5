"""PAD in front of a convolution: it disappears where that is the same, and only there."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.schedule.schedule import make_schedule
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

SPATIAL = [(0, 0), (1, 2), (3, 0), (0, 0)]


def _codes(net: NetworkBuilder, *outputs: int) -> list[str]:
    plan = cpu_plan(net.build(*outputs))
    return [step.operator.code for step in make_schedule(plan).steps]


@needs_gcc
@pytest.mark.parametrize("kernel", [(3, 3), (1, 1)])
@pytest.mark.parametrize("code", ["conv2d", "depthwise"])
def test_a_padding_is_fused_and_the_result_the_same(
    code: str, kernel: tuple[int, int], tmp_path: Path
) -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.pad(net.input((2, 6, 5, 8)), SPATIAL)
    more = {"kernel": kernel, "stride": (2, 1), "padding": "VALID"}
    y = net.conv2d(x, 6, **more) if code == "conv2d" else net.depthwise(x, **more)  # type: ignore[arg-type]
    plan = cpu_plan(net.build(y))
    assert len(make_schedule(plan).steps) == 1
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)
        assert_equal(evaluate(sample, _unused), wanted)


@needs_gcc
def test_paddings_of_int16_by_value_and_before_several_are_fused(tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.pad(net.input((1, 6, 5, 8), "int16", 0.001, 0), SPATIAL)
    pixels = net.input((1, 6, 5, 4), zero_point=3)
    padded = net.pad(pixels, SPATIAL)
    outputs = [net.conv2d(x, 6, padding="VALID"), net.depthwise(padded, padding="VALID")]
    outputs += [net.conv2d(padded, 3, (2, 2), padding="VALID")]
    outputs += [net.conv2d(_padded_by(net, pixels, 3), 5, padding="VALID")]
    assert _codes(net, *outputs) == ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D", "CONV_2D"]
    plan = cpu_plan(net.build(*outputs))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(generated.run(sample)[1], wanted)


def test_a_padding_by_another_value_stays() -> None:
    net = NetworkBuilder("network", seed=4)
    x = _padded_by(net, net.input((1, 6, 5, 4), zero_point=3), 2)
    assert _codes(net, net.conv2d(x, 5, padding="VALID")) == ["PADV2", "CONV_2D"]


def _padded_by(net: NetworkBuilder, x: int, value: int) -> int:
    """Add a PADV2."""
    shape = [n + sum(pair) for n, pair in zip(net.tensors[x].shape, SPATIAL, strict=True)]
    amounts = net.constant(np.array(SPATIAL, np.int32))
    number = net.constant(np.array([value], np.int8), None, 0.05, net.tensors[x].zero_point)
    return net.operator("PADV2", [x, amounts, number], [net.like(x, shape)])[0]


def test_a_padding_that_somebody_else_reads_stays() -> None:
    net = NetworkBuilder("network")
    x = net.pad(net.input((1, 6, 5, 8)), SPATIAL)
    y = net.conv2d(x, 6, padding="VALID")
    assert _codes(net, x, y) == ["PAD", "CONV_2D"]


def test_a_padding_of_channels_or_in_front_of_a_padding_window_stays() -> None:
    net = NetworkBuilder("network")
    x = net.conv2d(net.pad(net.input((1, 6, 5, 8)), [*SPATIAL[:3], (0, 1)]), 6, padding="VALID")
    y = net.conv2d(net.pad(x, SPATIAL), 6, padding="SAME")
    assert _codes(net, y) == ["PAD", "CONV_2D", "PAD", "CONV_2D"]


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")
