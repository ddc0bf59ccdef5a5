"""The check of an optimized network: an oracle runs it and the original."""

import dataclasses
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from ethosgen.commands.wording import plan_lines
from ethosgen.flow import PlanSettings, make_plan, optimizing
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer import Optimized, optimize
from ethosgen.values.network import Compression, Network
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.equality import difference, samples_for
from tests.support.networks import NetworkBuilder
from tests.support.thinned_networks import thinned_network


def layers() -> Network:
    net = NetworkBuilder("layers", seed=3)
    x = net.conv2d(net.input((1, 4, 4, 2), name="picture"), 4, (3, 3), activation="RELU")
    return decode_network(net.build(net.fully_connected(x, 3)), "layers")


def with_another_weight(network: Network) -> Network:
    """Change one weight of the last layer that a rare sample reads."""
    graph = network.graph
    index = graph.operators[-1].inputs[1]
    values = graph.tensors[index].array().copy()
    values[0, 5] ^= 64
    tensors = list(graph.tensors)
    tensors[index] = dataclasses.replace(tensors[index], data=values.tobytes())
    changed = dataclasses.replace(graph, tensors=tuple(tensors))
    return dataclasses.replace(network, graphs=(changed,), is_as_given=False)


def test_an_equal_network_does_not_differ() -> None:
    network = layers()
    assert difference(network, dataclasses.replace(network, is_as_given=False), None) == ""


def test_a_wrong_weight_is_found() -> None:
    network = layers()
    assert "outputs differ" in difference(network, with_another_weight(network), None)


def test_a_source_that_is_compressed_does_not_stand_for_the_changed_network() -> None:
    network = replace(layers(), compression=Compression(1, 2, 3))
    assert "outputs differ" in difference(network, with_another_weight(network), None)


def test_samples_drive_the_first_sums_to_their_ends() -> None:
    network = layers()
    samples = samples_for(network)
    assert len(samples) > 15
    assert all({*sample} == {"picture"} for sample in samples)
    weights = network.graph.tensors[network.graph.operators[0].inputs[1]].array()
    signs = np.where(weights[0, 1, 1] > 0, 127, -128)
    assert any((np.abs(s["picture"][0, 1, 1] - signs) <= 1).all() for s in samples)


def test_a_wrong_rewrite_is_not_used() -> None:
    network = layers()
    optimized = optimize(decode_network(thinned_network(3), "other"))
    assert optimized is not None
    facts = dataclasses.replace(optimized.facts, weights_after=0)
    wrong = Optimized(with_another_weight(network), facts)
    with patch.object(optimizing, "optimize", lambda _network: wrong):
        plan = make_plan(network, PlanSettings(None, OffloadOptions()), Watch())
    assert plan.network is network and plan.optimization is not None
    assert "a defect of ethosgen" in plan.optimization.kept
    assert any("a defect of ethosgen" in line for line in plan_lines(plan.summary()))
    dearer = dataclasses.replace(plan.optimization, kept="an inference would take 5 cycles more")
    usual = dataclasses.replace(plan, optimization=dearer).summary()
    assert not any("optimizer" in line for line in plan_lines(usual))
    assert any("optimizer" in line for line in plan_lines(usual, verbose=True))
    assert plan.check is not None and plan.check.oracle == "tflm"
