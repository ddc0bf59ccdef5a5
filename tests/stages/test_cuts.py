"""Cutting: where it is possible, what crosses, and parts that together equal the whole."""

from itertools import combinations

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import write_network
from ethosgen.oracle import DEFAULT
from ethosgen.samples.drawing import draw_samples
from ethosgen.stages.cuts import Stage, crossing, cut, positions
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support import control_networks
from tests.support.catalogue.recurrent import lstm
from tests.support.networks import NetworkBuilder


def residual() -> Network:
    """Return layers with a sum that skips two of them, and an output that the second makes."""
    net = NetworkBuilder("residual", seed=3)
    first = net.conv2d(net.input((1, 6, 6, 4)), 4, scale=0.05, zero_point=3)
    second = net.conv2d(first, 4, scale=0.05, zero_point=3)
    third = net.conv2d(second, 4, scale=0.05, zero_point=3)
    total = net.add(first, third)
    return parse_network(net.build(net.relu(total), second), "residual")


def late_input() -> Network:
    """Return a network that reads its second input only at its end."""
    net = NetworkBuilder("late", seed=4)
    a = net.input((1, 4, 4, 8), name="early")
    b = net.input((1, 4, 4, 8), name="late")
    x = net.conv2d(net.conv2d(a, 8), 8, scale=0.05, zero_point=3)
    return parse_network(net.build(net.add(x, b)), "late")


def with_state() -> Network:
    """Return layers around an LSTM, which keeps a state."""
    net = NetworkBuilder("state", seed=5)
    x = net.reshape(net.fully_connected(net.input((1, 12)), 8), (1, 1, 8))
    return parse_network(net.build(net.relu(net.fully_connected(lstm(net, x, 6), 5))), "state")


def run_stages(network: Network, stages: list[Stage], samples: list[Arrays]) -> list[Arrays]:
    """Run stages one after the other on what those before have made."""
    tensors = network.graph.tensors
    live = [dict(sample) for sample in samples]
    for stage in stages:
        inputs = [{tensors[i].name: have[tensors[i].name] for i in stage.reads} for have in live]
        for have, out in zip(live, DEFAULT.run(stage.network, inputs), strict=True):
            assert out.keys() == {tensors[i].name for i in stage.makes}
            have.update(out)
    names = [tensor.name for tensor in network.outputs]
    return [{name: have[name] for name in names} for have in live]


@pytest.mark.parametrize("make", [residual, late_input, with_state])
def test_every_way_to_cut_gives_the_whole_networks_outputs(make) -> None:  # type: ignore[no-untyped-def]
    network = make()
    samples = draw_samples(network, 4, 0)
    golden = DEFAULT.run(network, samples)
    inner = positions(network.graph)[1:-1]
    assert inner
    ways = [chosen for count in (1, 2, len(inner)) for chosen in combinations(inner, count)]
    for chosen in ways:
        stages = cut(network, (0, *chosen, len(network.graph.operators)))
        for out, want in zip(run_stages(network, stages, samples), golden, strict=True):
            assert out.keys() == want.keys()
            assert all(np.array_equal(out[name], want[name]) for name in want)


def test_what_is_read_later_crosses_each_cut_before() -> None:
    graph = residual().graph
    names = [[graph.tensors[i].name for i in crossing(graph, p)] for p in range(6)]
    first, second = (graph.tensors[graph.operators[k].outputs[0]].name for k in (0, 1))
    assert names[0] == ["input_0"]
    assert names[1] == [first]
    assert names[2] == [first, second]
    assert set(names[3]) >= {first, second}  # the output of the second is handed on to the end
    assert len(names[5]) == 2
    assert sum(graph.tensors[i].bytes for i in crossing(graph, 2)) == 2 * 6 * 6 * 4


def test_resources_stay_within_one_stage() -> None:
    net = NetworkBuilder("accumulator", seed=1)
    network = parse_network(net.build(*control_networks.accumulator(net)), "accumulator")
    graph = network.graph
    members = [
        op.index
        for op in graph.operators
        if op.code in ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
    ]
    inner = positions(graph)[1:-1]
    assert not any(min(members) < p <= max(members) for p in inner)


def test_a_state_stays_within_its_stage() -> None:
    network = with_state()
    boundaries = tuple(positions(network.graph))
    holders = [
        stage
        for stage in cut(network, boundaries)
        if any(tensor.is_variable for tensor in stage.network.graph.tensors)
    ]
    assert len(holders) == 1


def test_a_stage_has_no_constants_of_others() -> None:
    network = residual()
    stages = cut(network, tuple(positions(network.graph)))
    whole = sum(len(t.data) for t in network.graph.tensors if t.data)
    parts = [sum(len(t.data) for t in s.network.graph.tensors if t.data) for s in stages]
    assert sum(parts) == whole
    for stage in stages:
        again = parse_network(write_network(stage.network), stage.network.name)
        assert [t.name for t in again.inputs] == [t.name for t in stage.network.inputs]
        for ours, other in zip(again.outputs, stage.network.outputs, strict=True):
            assert (ours.dtype, ours.quantization) == (other.dtype, other.quantization)
