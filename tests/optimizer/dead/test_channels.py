"""Dead channels: what goes, what stays, and that no bit changes."""

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer import Optimized, optimize
from ethosgen.oracle.answers import Question, answer
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.network import Network
from ethosgen.values.outcome import equal_elements
from tests.support.needs import needs_models
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS
from tests.support.thinned_networks import thinned_network

FAR = 1 << 30
LOW: dict[str, Any] = {"activation": "RELU", "scale": 0.1, "zero_point": -128}
"""An output whose lowest value is zero."""
RAISED: dict[str, Any] = {"scale": 0.1, "zero_point": 0}
"""An output whose lowest value is not its zero point."""


def set_bias(net: NetworkBuilder, values: dict[int, int]) -> None:
    """Set biases of the layer that was added last, by output channel."""
    index = net.operators[-1].inputs[2]
    spec = net.tensors[index]
    assert spec.data is not None
    bias = np.frombuffer(spec.data, "int32").copy()
    bias[list(values)] = list(values.values())
    net.tensors[index] = dataclasses.replace(spec, data=bias.tobytes())


def set_weights(net: NetworkBuilder, where: Any, value: int) -> None:
    """Set weights of the layer that was added last."""
    index = net.operators[-1].inputs[1]
    spec = net.tensors[index]
    assert spec.data is not None
    weights = np.frombuffer(spec.data, spec.dtype).reshape(spec.shape).copy()
    weights[where] = value
    net.tensors[index] = dataclasses.replace(spec, data=weights.tobytes())


def dead_layer(net: NetworkBuilder, x: int, dead: dict[int, int], **output: Any) -> int:
    """Add a layer of four channels, some of which are constant by their bias."""
    y = net.conv2d(x, 4, (1, 1), **(LOW | output))
    set_bias(net, dead)
    return y


def optimized(net: NetworkBuilder, *outputs: int) -> Optimized | None:
    """Optimize a network; require that nothing differs."""
    network = decode_network(net.build(*outputs), "net")
    rewritten = optimize(network)
    if rewritten is not None:
        require_equal(network, rewritten.network)
    return rewritten


def require_equal(network: Network, changed: Network) -> None:
    """Require that outputs are equal for all samples drawn, and with each end of the inputs."""
    assert [t.name for t in changed.outputs] == [t.name for t in network.outputs]
    assert [t.shape for t in changed.outputs] == [t.shape for t in network.outputs]
    samples = draw_samples(network, 15, seed=4)
    for ours, theirs in zip(
        answer(Question(replace(changed, source=None), samples)).outputs,
        answer(Question(network, samples)).outputs,
        strict=True,
    ):
        for name, array in theirs.items():
            assert equal_elements(ours[name], array).all(), name


def channels(rewritten: Optimized | None) -> list[int]:
    """Return the channels of each layer's output."""
    assert rewritten is not None
    graph = rewritten.network.graph
    return [graph.tensors[op.outputs[0]].shape[-1] for op in graph.operators]


def said(rewritten: Optimized | None) -> list[str]:
    assert rewritten is not None
    return [change.text() for change in rewritten.facts.changes]


def test_a_constant_channel_is_folded_into_the_next_bias() -> None:
    net = NetworkBuilder()
    x = net.input((1, 3, 3, 2))
    x = dead_layer(net, x, {1: FAR, 3: -FAR}, **RAISED)
    rewritten = optimized(net, net.conv2d(x, 3, (3, 3), padding="VALID"))
    assert channels(rewritten) == [2, 3]
    assert said(rewritten) == ["2 constant channels removed"]


def test_a_layer_without_a_bias_gets_one() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), {1: FAR}, **RAISED)
    rewritten = optimized(net, net.conv2d(x, 3, (1, 1), bias=False))
    assert channels(rewritten) == [3, 3]
    assert rewritten is not None and len(rewritten.network.graph.operators[1].inputs) == 3


@pytest.mark.parametrize(("bias", "left"), [(-FAR, 3), (FAR, 4)])
def test_a_padded_border_sees_the_zero_point(bias: int, left: int) -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), {1: bias})
    rewritten = optimized(net, net.conv2d(x, 3, (3, 3), padding="SAME"))
    assert channels(rewritten) == [left, 3]


def test_a_constant_that_stays_loses_its_weights() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), {1: FAR}, **RAISED)
    rewritten = optimized(net, net.conv2d(x, 3, (3, 3), padding="SAME"))
    assert said(rewritten) == ["1 constant channel without weights"]


def test_a_bias_that_would_overflow_keeps_the_channel() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 2, 2, 2)), {0: FAR}, **RAISED)
    y = net.conv2d(x, 1, (1, 1), scale=1e6, zero_point=0)
    set_weights(net, ..., 127)
    set_bias(net, {0: (1 << 31) - 1})
    rewritten = optimized(net, y)
    assert channels(rewritten) == [4, 1]
    assert said(rewritten) == ["1 constant channel without weights"]


def test_channels_go_through_depthwise_layers_pools_and_reshapes() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 4, 4, 2)), {0: -FAR, 2: -FAR})
    x = net.depthwise(x, multiplier=2, **LOW)
    set_bias(net, {0: -FAR, 1: -FAR, 4: -FAR, 5: -FAR})
    x = net.average_pool(x, (2, 2))
    x = net.reshape(x, (1, 32))
    rewritten = optimized(net, net.fully_connected(x, 3))
    assert channels(rewritten) == [2, 4, 4, 16, 3]


def test_a_constant_goes_through_a_mean() -> None:
    net = NetworkBuilder()
    x = net.mean(dead_layer(net, net.input((1, 3, 3, 2)), {0: -FAR, 2: -FAR}), keep_dims=False)
    rewritten = optimized(net, net.fully_connected(x, 3))
    assert channels(rewritten) == [2, 2, 3]


def test_half_of_a_depthwise_block_keeps_it_whole() -> None:
    net = NetworkBuilder()
    x = net.conv2d(net.input((1, 4, 4, 2)), 4, (1, 1), **LOW)
    x = net.depthwise(x, multiplier=2, **LOW)
    set_bias(net, {0: -FAR, 2: -FAR, 3: -FAR})
    rewritten = optimized(net, net.conv2d(x, 3, (1, 1)))
    assert channels(rewritten) == [3, 6, 3]


def test_both_branches_of_a_sum_lose_a_channel_or_none() -> None:
    for dead, left in (({0: -FAR}, 3), ({}, 4)):
        net = NetworkBuilder()
        x = net.input((1, 3, 3, 2))
        a = dead_layer(net, x, {0: -FAR, 1: -FAR})
        b = dead_layer(net, x, dead)
        rewritten = optimized(net, net.conv2d(net.add(a, b, **LOW), 3, (3, 3)))
        assert channels(rewritten)[:3] == [left, left, left]


def test_concatenated_channels_go_from_their_own_part() -> None:
    net = NetworkBuilder()
    x = net.input((1, 3, 3, 2))
    a, b = dead_layer(net, x, {0: -FAR}), dead_layer(net, x, {2: -FAR, 3: -FAR})
    rewritten = optimized(net, net.conv2d(net.concat([a, b]), 3, (3, 3)))
    assert channels(rewritten) == [3, 2, 5, 3]


def test_channels_without_weights_are_not_computed() -> None:
    net = NetworkBuilder()
    x = net.conv2d(net.input((1, 3, 3, 2)), 4, (1, 1))
    y = net.conv2d(net.logistic(x), 3, (3, 3))
    set_weights(net, (..., [1, 2]), 0)
    rewritten = optimized(net, y)
    assert channels(rewritten) == [2, 2, 3]
    assert said(rewritten) == ["2 unread channels removed"]


def test_outputs_of_the_network_stay_whole() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), {0: -FAR})
    rewritten = optimized(net, net.conv2d(x, 3, (3, 3)), x)
    assert channels(rewritten) == [4, 3]
    assert said(rewritten) == ["1 constant channel without weights"]


def test_operators_that_mix_channels_keep_them() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), {0: -FAR})
    rewritten = optimized(net, net.conv2d(net.softmax(x), 3, (3, 3)))
    assert channels(rewritten) == [4, 4, 3]


def test_a_layer_that_is_dead_keeps_one_channel() -> None:
    net = NetworkBuilder()
    x = dead_layer(net, net.input((1, 3, 3, 2)), dict.fromkeys(range(4), -FAR))
    rewritten = optimized(net, net.conv2d(x, 3, (3, 3)))
    assert channels(rewritten) == [1, 3]


def test_nothing_is_found_where_nothing_is_dead() -> None:
    net = NetworkBuilder()
    x = net.conv2d(net.input((1, 5, 5, 3)), 4)
    assert optimized(net, net.conv2d(net.add(x, x), 4)) is None


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_networks_compute_the_same(start: int) -> None:
    changed = 0
    for seed in range(start, start + 10):
        network = decode_network(thinned_network(seed), f"thinned_{seed}")
        rewritten = optimize(network)
        if rewritten is not None:
            changed += 1
            require_equal(network, rewritten.network)
    assert changed > 4


@needs_models
def test_half_of_visual_wake_words_is_dead() -> None:
    network = read(SHARED_MODELS / "vww_mobilenet_int8.tflite")
    rewritten = optimize(network)
    assert rewritten is not None
    facts = rewritten.facts
    assert facts.macs_before == 7_489_664 and facts.macs_after <= 3_800_000
    assert sum(change.count for change in facts.changes) >= 1_641
    require_equal(network, rewritten.network)


@needs_models
@pytest.mark.parametrize("path", sorted(SHARED_MODELS.glob("*.tflite")), ids=lambda path: path.stem)
def test_public_networks_compute_the_same(path: Path) -> None:
    network = read(path)
    rewritten = optimize(network)
    if rewritten is not None:
        require_equal(network, rewritten.network)
