"""uint8 on the CPU against LiteRT's reference kernels, in C and through LLVM."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import can_run, compile_program, make_evaluator
from ethosgen.aot.arithmetic.rounding import once_multiplier
from ethosgen.aot.registry import registry
from ethosgen.aot.schedule.schedule import make_schedule
from ethosgen.aot.schedule.twins import TWINS, twin_builds
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT
from ethosgen.samples.drawing import random_samples
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from tests.support import unsigned_networks
from tests.support.aot_harness import GeneratedC, cpu_plan
from tests.support.catalogue.bench import Bench
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec

Build = Callable[[], tuple[Bench, list[int]]]
BUILDS: list[Build] = [
    unsigned_networks.movable,
    unsigned_networks.curves,
    unsigned_networks.layers,
]


def _drawn(build: Build) -> tuple[Network, list[Arrays]]:
    """Return a network with random samples, and with both ends of every input's range."""
    net, outputs = build()
    network = parse_network(net.build(*outputs), build.__name__)
    ends = [
        {t.name: np.full(t.shape, net.ranges[t.name][end], t.dtype) for t in network.inputs}
        for end in (0, 1)
    ]
    return network, [*net.samples(2), *ends]


def _golden(network: Network, samples: list[Arrays]) -> list[Arrays]:
    wanted = LITERT.run(network, samples)
    return wanted


def _compare(network: Network, samples: list[Arrays], folder: Path, io: IoStyle) -> None:
    plan = cpu_plan(network, io)
    generated = GeneratedC(compile_program(plan, "net"), folder)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(samples, _golden(network, samples), strict=True):
        generated_outputs = generated.outputs(sample)
        for how, outputs in (("C", generated_outputs), ("LLVM", evaluate(sample, _unused))):
            assert set(outputs) == set(golden)
            for name, wanted in golden.items():
                assert outputs[name].dtype == wanted.dtype
                np.testing.assert_array_equal(outputs[name], wanted, f"{how}: {name}")


def _unused(*_: object) -> dict[str, Any]:
    raise AssertionError("there is no partition")


@needs_gcc
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_operators_of_uint8_equal_litert(build: Build, tmp_path: Path) -> None:
    _compare(*_drawn(build), tmp_path, IoStyle.ARENA)


@needs_gcc
@pytest.mark.parametrize("io", IoStyle)
def test_a_network_of_uint8_equals_litert(io: IoStyle, tmp_path: Path) -> None:
    network = parse_network(unsigned_networks.mobile(), "mobile")
    _compare(network, random_samples(network, 4, seed=3), tmp_path, io)


@needs_gcc
def test_groups_of_uint8_equal_litert(tmp_path: Path) -> None:
    """The weights' zero point is far from 128, so each group's window is copied for both terms."""
    net = Bench(15)
    net.unsigned_weights_point = 20
    x = net.feed((1, 7, 6, 8), "uint8", scale=0.04, zero_point=131)
    y = net.conv2d(x, 12, (3, 2), groups=2, per_channel=False)
    network = parse_network(net.build(y), "groups")
    assert (
        "ethosgen_patch_part_s8("
        in compile_program(cpu_plan(network), "net").sources["net_graph.c"]
    )
    _compare(network, net.samples(3), tmp_path, IoStyle.ARENA)


def test_every_operator_of_uint8_is_compared() -> None:
    compared = {operator.code for build in BUILDS for operator in _drawn(build)[0].graph.operators}
    assert {code for code, _ in twin_builds()} <= compared
    assert {(code, "int8") for code in TWINS} <= set(registry())


def test_signs_are_flipped_at_the_ends_alone() -> None:
    network = parse_network(unsigned_networks.mobile(), "mobile")
    schedule = make_schedule(cpu_plan(network))
    flips = [i for i, s in enumerate(schedule.steps) if s.operator.code == "QUANTIZE"]
    assert flips == [0, len(schedule.steps) - 1]
    inner = {schedule.graph.tensors[i].dtype for s in schedule.steps for i in s.operator.inputs[:1]}
    assert inner == {"uint8", "int8"}
    between = schedule.steps[1:-1]
    assert all(schedule.graph.tensors[s.operator.outputs[0]].dtype == "int8" for s in between)


def test_bytes_that_are_only_moved_stay_uint8() -> None:
    net = NetworkBuilder("moved")
    x = net.input((2, 6), "uint8", None, 0)
    shape = net.constant(np.array([3, 4], np.int32))
    (y,) = net.operator("RESHAPE", [x, shape], [Spec((3, 4), "uint8")])
    network = parse_network(net.build(y), "moved")
    schedule = make_schedule(cpu_plan(network))
    assert [step.operator.code for step in schedule.steps] == ["RESHAPE"]


def test_a_type_that_litert_lacks_has_no_twin() -> None:
    net = NetworkBuilder("mixed")
    x, alpha = net.input((1, 2, 5), "uint8"), net.input((1, 1, 5), "int8")
    (y,) = net.operator("PRELU", [x, alpha], [Spec((1, 2, 5), "uint8", 0.1, 0)])
    graph = parse_network(net.build(y), "mixed").graph
    assert not can_run(graph.operators[0], graph)


@pytest.mark.parametrize("seed", range(4))
def test_one_rounding_in_integers_is_one_in_doubles(seed: int) -> None:
    random = np.random.default_rng(seed)
    for scale in (*10.0 ** random.uniform(-4, -0.4, 40), 0.25, 2.0**-9, 0.375):
        multiplier = once_multiplier(float(scale), -131, 124)
        assert multiplier is not None, scale
        near = np.unique(np.concatenate([
            np.floor((np.arange(-132, 126) + 0.5) / scale) + off for off in (-1, 0, 1, 2)
        ])).astype(np.int64)  # fmt: skip
        exact = near * scale
        wanted = np.copysign(np.floor(np.abs(exact) + 0.5), exact).astype(np.int64)
        places = 31 - multiplier.shift
        rescaled = (near * multiplier.mantissa + (1 << (places - 1))) >> places
        np.testing.assert_array_equal(np.clip(rescaled, -131, 124), np.clip(wanted, -131, 124))


def test_a_layer_whose_weights_have_a_zero_point_takes_the_micro_kernel() -> None:
    """Weights of 9 bits become sums of two int8 values."""
    for point in (77, 128, 151):
        net = NetworkBuilder("layer")
        net.unsigned_weights_point = point
        x = net.input((1, 6, 6, 8), "uint8")
        program = compile_program(cpu_plan(net.build(net.conv2d(x, 8, per_channel=False))), "net")
        assert "ethosgen_matrix.c" in program.sources
