"""Layers in parts: their outputs lie over their inputs, bit for bit, and only where that helps."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.aot.libraries.framework.parts import IN_PLACE, PART_ROWS
from ethosgen.aot.rows import parts, planning
from ethosgen.values.extension import Extension
from ethosgen.values.plan import Plan
from ethosgen.values.schedule import Streaming
from tests.aot.libraries.firmware import check_firmware
from tests.support.aot_harness import GeneratedC, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder

PICTURE = 25, 12


def pixels(depth: int, channels: int, layers: int = 3) -> bytes:
    """Return a network of convolutions of pixels."""
    net = NetworkBuilder("network", seed=7)
    x = net.input((1, *PICTURE, depth))
    for _ in range(layers):
        x = net.conv2d(x, channels, (1, 1))
    return net.build(net.max_pool(x, PICTURE))


def columns() -> bytes:
    """Return a network as for keyword spotting, whose depthwise layers compute columns."""
    net = NetworkBuilder("network", seed=7)
    x = net.conv2d(net.input((1, 49, 10, 1)), 64, (10, 4), (2, 2), activation="RELU")
    for _ in range(3):
        x = net.depthwise(x, (3, 3), activation="RELU")
        x = net.conv2d(x, 64, (1, 1), activation="RELU")
    return net.build(net.max_pool(x, (25, 5)))


NETWORKS = {
    "equal rows": pixels(32, 32),
    "rows that are no vectors": pixels(20, 20),
    "rows of one vector": pixels(8, 8),
    "few channels": pixels(3, 12),
    "fewer channels": pixels(64, 24, 1),
    "more channels": pixels(16, 48, 1),
    "depthwise layers": columns(),
}

ONE_VECTOR = ("rows of one vector", "few channels", "more channels")


def helium(network: bytes) -> Plan:
    return replace(cpu_plan(network), extension=Extension.HELIUM)


def used(plan: Plan, option: str) -> list[int]:
    """Return the values of an option in a plan's schedule."""
    steps = planning.ready_schedule(plan, "net").steps
    options = (step.operator.options for step in steps)
    return [some[option] for some in options if option in some]


@pytest.fixture
def freely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the smallest parts, whatever they cost."""
    monkeypatch.setattr(planning, "FREELY", parts.AT_ANY_COST)


@needs_gcc
@pytest.mark.usefixtures("freely")
@pytest.mark.parametrize("name", NETWORKS)
def test_layers_in_parts_are_exact(name: str, tmp_path: Path) -> None:
    plan = helium(NETWORKS[name])
    GeneratedC(compile_program(plan, "net"), tmp_path).check(*samples_and_golden(plan.network))


@needs_qemu
@pytest.mark.loose_stack("few rows take the function of single ones", sometimes=True)
@pytest.mark.usefixtures("freely")
@pytest.mark.parametrize("name", NETWORKS)
def test_layers_in_parts_are_exact_with_helium(name: str, tmp_path: Path) -> None:
    plan = helium(NETWORKS[name])
    assert used(plan, PART_ROWS), "nothing is in parts"
    form = "parts_short" if name in ONE_VECTOR else "parts"
    assert f"ethosgen_matrix_{form}_s8(" in compile_program(plan, "net").sources["net_graph.c"]
    check_firmware(NETWORKS[name], tmp_path)


def _with_stream(plan: Plan, stream: Streaming) -> Plan:
    asked = replace(plan.options, schedule=replace(plan.options.schedule, stream=stream))
    return replace(plan, options=asked)


def test_the_arena_has_the_largest_tensor_and_little_more() -> None:
    plan = helium(columns())

    def arena(stream: Streaming) -> int:
        return compile_program(_with_stream(plan, stream), "net").arena_bytes

    tensor = 25 * 5 * 64
    assert arena(Streaming.OFF) > 2 * tensor
    assert arena(Streaming.AUTO) < 1.52 * tensor
    assert arena(Streaming.ALWAYS) < 1.47 * tensor


@pytest.mark.usefixtures("freely")
def test_every_other_layer_begins_at_its_end() -> None:
    signs = [part > 0 for part in used(helium(pixels(32, 32)), PART_ROWS)]
    assert signs == [True, False, True]


def test_depthwise_layers_take_their_inputs_place() -> None:
    assert used(helium(columns()), IN_PLACE)


def test_parts_cost_at_most_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = helium(pixels(32, 32))
    assert used(plan, PART_ROWS)
    monkeypatch.setattr(planning, "FREELY", 0.001)
    assert not used(plan, PART_ROWS)


def test_a_layer_that_does_not_decide_stays_whole() -> None:
    net = NetworkBuilder("network", seed=7)
    large = net.conv2d(net.input((1, 40, 40, 8)), 64, (5, 5), (1, 1))
    small = net.conv2d(net.max_pool(large, (4, 4), (4, 4)), 32, (1, 1))
    assert not used(helium(net.build(small)), PART_ROWS)
