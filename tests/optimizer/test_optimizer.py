"""The optimizer's frame: rounds of rewrites, and what it says about them."""

import dataclasses

from ethosgen.flow import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer import optimize
from ethosgen.optimizer.rewrites import Rewrite, Rewritten
from ethosgen.values.network import Network
from ethosgen.values.optimization import Change, Optimization
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder


def three_relus() -> Network:
    net = NetworkBuilder("three")
    x = net.input((1, 2, 2, 3))
    for _ in range(3):
        x = net.apply("RELU", x)
    return decode_network(net.build(x), "three")


def without_last(network: Network) -> Rewritten | None:
    *others, last = network.graph.operators
    if not others:
        return None
    graph = dataclasses.replace(
        network.graph, operators=tuple(others), outputs=(others[-1].outputs[0],)
    )
    changed = dataclasses.replace(network, graphs=(graph,), is_as_given=False)
    return Rewritten(changed, (Change("shorten", last.code, "removed", 1),))


def test_rewrites_are_applied_until_none_finds_anything() -> None:
    network = three_relus()
    shorten = Rewrite("shorten", "never: this is for a test", without_last)
    optimized = optimize(network, [shorten])
    assert optimized is not None
    assert len(optimized.network.graph.operators) == 1
    assert optimized.facts.changes == (Change("shorten", "RELU", "removed", 2),)
    assert (optimized.network.name, optimized.network.source) == (network.name, network.source)
    assert optimize(network, []) is None


def test_what_it_did_is_one_line() -> None:
    changes = (
        Change("dead", "constant channel", "removed", 1641),
        Change("alike", "equal channel", "joined", 1),
    )
    facts = Optimization(changes, 7_490_000, 3_800_000, 207_600, 32_099)
    assert facts.text() == (
        "1,641 constant channels removed, 1 equal channel joined: "
        "-49 % multiplications, -85 % weights"
    )
    same = Optimization(changes[1:], 5, 5, 7, 7)
    assert same.text() == "1 equal channel joined"
    kept = dataclasses.replace(facts, changes=changes[1:], kept="the NPU needs 5 cycles more")
    assert kept.text() == (
        "not changed: the NPU needs 5 cycles more (found: 1 equal channel joined)"
    )


def test_a_network_in_which_nothing_is_dead_is_planned_as_it_is() -> None:
    net = NetworkBuilder("one")
    network = decode_network(net.build(net.conv2d(net.input((1, 2, 2, 3)), 3)), "one")
    for optimizes in (True, False):
        options = OffloadOptions(check=False, optimize=optimizes)
        plan = make_plan(network, PlanSettings(None, options), Watch())
        assert plan.network is network
        assert (plan.optimization, plan.original) == (None, network)
