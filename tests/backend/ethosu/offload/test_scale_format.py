"""Scales that Regor holds as other numbers, and the operators whose results they decide."""

import pytest

from ethosgen.aot import table_of
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import CompileTarget, find_errata, offload
from ethosgen.backend.ethosu.offload.scale_format import held_scale
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.network import Network
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from ethosgen.verdict.judgement import golden_answer
from tests.support.networks import NetworkBuilder

NPU = "ethos-u55-128"
ODD = 1 + 2.0**-23
"""A float that needs all 24 bits of its mantissa."""


@pytest.mark.parametrize("scale", [0.0, 0.75 * ODD, 2.0**31 - 128, 2.0**32, 2.0**100, 2.0**-63])
def test_regor_holds_most_scales_as_they_are(scale: float) -> None:
    assert held_scale(scale) == scale


@pytest.mark.parametrize(
    ("scale", "held"),
    [
        (2.0**31, -(2.0**31)),
        (3e9, 3e9 - 2.0**32),
        (2.0**32 - 256, -256.0),
        (2.0**-40 * ODD, 2.0**-40 * ODD),
        (2.0**-41 * ODD, 2.0**-41),
        (2.0**-63 * 1.5, 2.0**-63),
        (2.0**-64, 0.0),
    ],
)
def test_regor_holds_no_scale_of_other_bits(scale: float, held: float) -> None:
    assert held_scale(scale) == held


def requantized(scale: float) -> Network:
    net = NetworkBuilder("requantized", seed=1)
    net.quantize(net.input((1, 8, 8, 8), "int8", scale, 0), "int8", scale * 1.25, 3)
    return parse_network(net.build(), net.name)


@pytest.mark.parametrize(
    ("scale", "is_lost"), [(1.7e9, False), (1.8e9, True), (1e-10, False), (1.3e-17, True)]
)
def test_a_scale_that_regor_loses_changes_results(scale: float, is_lost: bool) -> None:
    network = requantized(scale)
    kept = find_errata(network, CompileTarget(NPU, table_of=table_of))
    assert [why.erratum for why in kept.values()] == ["scale-range"] * is_lost
    samples = draw_samples(network, 2, 1)
    golden = golden_answer(network, samples)
    outputs = simulate_samples(offload(network, find_accelerator(NPU)), samples, Watch())
    assert bool(golden.compared(outputs).mismatches) == is_lost


@pytest.mark.parametrize(("weights", "is_lost"), [(1e-16, False), (3e9, True)])
def test_dead_channels_stay_on_the_npu(weights: float, is_lost: bool) -> None:
    net = NetworkBuilder("dead_channel", seed=1)
    x = net.input((1, 2, 2, 8), "int16", 3e-5, 0)
    values = net.random_integers((2, 1, 1, 8))
    values[1] = 0
    w = net.constant(values, None, (0.01, weights), (0, 0))
    bias = net.constant([0, 0], "int64", (3e-7, 3e-5 * weights), (0, 0))
    options = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
    net.operator("CONV_2D", (x, w, bias), (net.like(x, (1, 2, 2, 2), scale=1e-4),), options)
    network = parse_network(net.build(), net.name)
    assert bool(find_errata(network, CompileTarget(NPU, table_of=table_of))) == is_lost
