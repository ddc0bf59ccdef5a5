"""When the optimizer's network is planned, and where its facts are."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ethosgen.aot import ProcessorSide
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.flow import PlanSettings, create_project, make_plan, optimizing, planning
from ethosgen.frontend import read
from ethosgen.project import open_project
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.extension import Extension
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadOptions, Plan
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

UNCHECKED = OffloadOptions(check=False)


def with_unread(count: int, folder: Path) -> Path:
    """Write a network with so many channels of 32 that nobody reads."""
    net = NetworkBuilder("dead", seed=2)
    x = net.conv2d(net.input((1, 6, 6, 4), name="picture"), 32, activation="RELU")
    y = net.conv2d(net.conv2d(x, 8), 160)
    index = net.operators[-2].inputs[1]
    weights = net.tensors[index]
    values = net.random_integers(weights.shape)
    values[..., 32 - count :] = 0
    net.tensors[index] = replace(weights, data=values.tobytes())
    path = folder / "dead.tflite"
    path.write_bytes(net.build(y))
    return path


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """A network with 24 channels of 32 that nobody reads."""
    return with_unread(24, tmp_path)


def plan_for(network: Path, npu: str | None, options: OffloadOptions = UNCHECKED) -> Plan:
    settings = PlanSettings(find_accelerator(npu) if npu else None, options)
    return make_plan(read(network), settings, Watch())


@pytest.mark.parametrize("npu", [None, "ethos-u55-128"])
def test_a_plan_is_of_the_optimized_network(network: Path, npu: str | None) -> None:
    plan = plan_for(network, npu)
    assert [t.shape[-1] for t in plan.network.graph.tensors if "conv_2d" in t.name] == [8, 8, 160]
    assert plan.original.graph.tensors != plan.network.graph.tensors
    facts = plan.summary().optimization
    assert facts is not None and not facts.kept
    assert facts.text().startswith("24 unread channels removed: -")
    same = plan_for(network, npu, replace(UNCHECKED, optimize=False))
    assert same.summary().optimization is None and same.network is same.original


def test_an_npu_runs_it_faster(network: Path) -> None:
    cycles = [
        plan_for(network, "ethos-u55-128", replace(UNCHECKED, optimize=optimizes)).npu_cycles or 0
        for optimizes in (True, False)
    ]
    assert cycles[0] < cycles[1]


def test_what_costs_more_is_not_used(network: Path) -> None:
    costs = iter([(0, 1000), (0, 1016)])
    with patch.object(optimizing, "estimate", lambda *_: next(costs)):
        plan = plan_for(network, None)
    assert plan.network is plan.original and plan.optimization is not None
    assert plan.optimization.kept == "an inference would take 16 cycles more"


@pytest.mark.parametrize(("count", "cycles", "is_used"), [(1, 995, 0), (1, 985, 1), (24, 995, 1)])
def test_what_saves_next_to_nothing_is_not_used(
    count: int, cycles: int, is_used: int, tmp_path: Path
) -> None:
    costs = iter([(0, 1000), (0, cycles)])
    with patch.object(optimizing, "estimate", lambda *_: next(costs)):
        plan = plan_for(with_unread(count, tmp_path), None)
    assert plan.optimization is not None
    assert (plan.network is not plan.original) == is_used
    saves = "it would save less than 1 % of the cycles and of the weights"
    assert plan.optimization.kept == ("" if is_used else saves)


def test_what_is_refused_is_not_used(network: Path) -> None:
    plan_it, seen = optimizing.estimate, list[Network]()

    def refuse_the_second(plan: Plan, *more: Any) -> tuple[int, int]:
        seen.append(plan.network)
        if len(seen) == 2:
            raise UnsupportedError("no")
        return plan_it(plan, *more)

    with patch.object(optimizing, "estimate", refuse_the_second):
        plan = plan_for(network, None)
    assert plan.network is plan.original and plan.optimization is not None
    assert plan.optimization.kept == "it would be refused"


def project_of(asked: Recipe, folder: Path) -> bytes:
    """Create a project and return its manifest."""
    create_project(asked, directory=folder, watch=Watch())
    return (folder / "model" / "ethosgen.json").read_bytes()


def test_a_project_stores_the_original_and_is_made_again(network: Path, tmp_path: Path) -> None:
    asked = recipe(network, check=False)
    first = project_of(asked, tmp_path / "first")
    (info,) = open_project(tmp_path / "first").networks
    assert info.source.read_bytes() == network.read_bytes()
    assert info.options.optimize and info.summary.optimization is not None
    assert project_of(replace(asked, networks=(info.source,)), tmp_path / "again") == first


def test_a_project_remembers_no_optimize(network: Path, tmp_path: Path) -> None:
    options = OffloadOptions(check=False, optimize=False)
    project_of(replace(recipe(network), options=options), tmp_path / "plain")
    (info,) = open_project(tmp_path / "plain").networks
    assert not info.options.optimize and info.summary.optimization is None


def test_weights_apart_are_not_optimized(network: Path, tmp_path: Path) -> None:
    project_of(recipe(network, check=False, apart=True), tmp_path / "apart")
    (info,) = open_project(tmp_path / "apart").networks
    assert not info.options.optimize and info.summary.optimization is None


@pytest.mark.parametrize(
    ("arenas", "cycles", "is_kept"),
    [
        ((1000, 1065), (10_000, 9_980), True),  # MCUNet: 0.2 % of the cycles for 6.5 % of the arena
        ((1000, 1008), (10_000, 9_500), False),
        ((1000, 1000), (10_000, 9_980), False),
        ((1000, 900), (10_000, 9_990), False),
    ],
)
def test_an_arena_grows_by_no_larger_part_than_the_cycles_shrink(
    network: Path, arenas: tuple[int, int], cycles: tuple[int, int], is_kept: bool
) -> None:
    plans = plan_for(network, None, replace(UNCHECKED, optimize=False)), plan_for(network, None)
    sizes = dict(zip(map(id, plans), arenas, strict=True))
    costing = optimizing.Costing(ProcessorSide(Extension.HELIUM), 0, lambda plan: sizes[id(plan)])
    why = optimizing._larger(costing, plans, (0, cycles[0]), (0, cycles[1]))
    assert bool(why) == is_kept
    assert not is_kept or why == "the arena would have 65 bytes more"


def test_the_arena_is_that_of_the_compiled_plan(network: Path) -> None:
    """Of a network whose channels go, both plans are compiled for it."""
    seen: list[int] = []
    real = optimizing.Costing.of

    def watched(cpu: Any, npu: Any, arena_bytes: Callable[[Plan], int]) -> optimizing.Costing:
        def ask(plan: Plan) -> int:
            seen.append(arena_bytes(plan))
            return 100 * len(seen) ** 2  # the changed network's seems to be four times larger

        return real(cpu, npu, ask)

    with patch.object(planning.Costing, "of", watched):
        plan = plan_for(network, None)
    facts = plan.summary().optimization
    assert len(seen) == 2 and min(seen) > 0
    assert facts is not None and facts.kept == "the arena would have 300 bytes more"
