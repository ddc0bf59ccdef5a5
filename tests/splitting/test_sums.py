"""Layers cut along input channels: int32 sums, added and rescaled once, equal the whole layer."""

import random

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.answers import Question, answer
from ethosgen.splitting.sums import most_depth, with_sums
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder
from tests.support.split_sums import computed


def layer(seed: int) -> Network:
    """Return a layer with random sizes, scales and a fused activation."""
    rng = random.Random(seed)
    net = NetworkBuilder("layer", seed)
    activation = rng.choice(("NONE", "RELU", "RELU6"))
    per_channel, bias = rng.random() < 0.7, rng.random() < 0.8
    if seed % 2:
        x = net.input((rng.randint(1, 4), rng.randint(8, 300)))
        y = net.fully_connected(x, rng.randint(1, 20), activation, bias, per_channel)
    else:
        x = net.input((1, rng.randint(4, 9), rng.randint(4, 9), rng.randint(8, 40)))
        y = net.conv2d(
            x, rng.randint(1, 12), (rng.randint(1, 3), rng.randint(1, 3)),
            (rng.randint(1, 2), rng.randint(1, 2)), rng.choice(("SAME", "VALID")), activation,
            bias=bias, per_channel=per_channel,
        )  # fmt: skip
    return parse_network(net.build(y), "layer")


@pytest.mark.parametrize("seed", range(24))
def test_sums_over_input_channels_equal_the_whole_layer(seed: int) -> None:
    network, rng = layer(seed), random.Random(seed)
    (source,), (target,) = network.inputs, network.outputs
    most = most_depth(network.graph, network.graph.operators[0])
    assert most == source.shape[-1]
    draw = np.random.default_rng(seed).integers(-128, 128, source.shape)
    inputs = [draw, np.full(source.shape, -128), np.full(source.shape, 127)]
    samples = [{source.name: each.astype(np.int8)} for each in inputs]
    golden = answer(Question(network, samples, "tflm")).outputs
    for values, outputs in zip(inputs, golden, strict=True):
        ours = computed(network.graph, values, rng.randint(2, min(8, most)), rng)
        assert np.array_equal(ours, outputs[target.name])


def test_only_int8_layers_with_constant_weights_have_sums() -> None:
    net = NetworkBuilder("layers")
    x = net.input((1, 8, 8, 4), "int16")
    y = net.depthwise(net.conv2d(x, 8), (3, 3))
    network = parse_network(net.build(y), "layers")
    assert [most_depth(network.graph, op) for op in network.graph.operators] == [1, 1]


def test_other_operators_stay() -> None:
    net = NetworkBuilder("layers")
    x = net.relu(net.fully_connected(net.relu(net.input((1, 16))), 4))
    network = parse_network(net.build(x), "layers")
    cut, became = with_sums(network.graph, {1: 3})
    assert [len(became[i]) for i in range(3)] == [1, 4, 1]
    assert [op.index for op in cut.operators] == list(range(6))
    assert cut.outputs == network.graph.outputs
