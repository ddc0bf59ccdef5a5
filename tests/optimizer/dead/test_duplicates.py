"""Equal channels: which are joined, which are not, and that no bit changes."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer.dead.duplicates import EQUAL_CHANNELS
from tests.optimizer.dead.test_channels import channels, optimized, said, set_weights
from tests.support.networks import NetworkBuilder


def twins(net: NetworkBuilder, x: int, *, bias: int = 0, depthwise: bool = False) -> int:
    """Add a layer whose channels 0 and 2 are equal, but for a difference of their biases."""
    if depthwise:
        y = net.depthwise(x, activation="RELU", per_channel=False)
    else:
        y = net.conv2d(x, 4, (1, 1), activation="RELU", per_channel=False)
    for index, axis in zip(net.operators[-1].inputs[1:], (3 if depthwise else 0, 0), strict=True):
        spec = net.tensors[index]
        assert spec.data is not None
        values = np.moveaxis(
            np.frombuffer(spec.data, spec.dtype).reshape(spec.shape).copy(), axis, 0
        )
        values[2] = values[0] + (bias if spec.dtype == "int32" else 0)
        data = np.ascontiguousarray(np.moveaxis(values, 0, axis)).tobytes()
        net.tensors[index] = dataclasses.replace(spec, data=data)
    return y


def read_by(net: NetworkBuilder, x: int, where: Any = (..., [0, 2]), value: int = 40) -> int:
    """Add a layer with small weights for both channels."""
    y = net.conv2d(x, 3, (3, 3))
    set_weights(net, where, value)
    return y


def test_a_reader_takes_the_sum_of_both_weights() -> None:
    net = NetworkBuilder()
    x = twins(net, net.input((1, 4, 4, 3)))
    rewritten = optimized(net, read_by(net, x))
    assert channels(rewritten) == [3, 3]
    assert said(rewritten) == ["1 equal channel joined with another"]


@pytest.mark.parametrize(("value", "is_joined"), [(63, True), (64, False)])
def test_the_sum_must_be_a_weight(value: int, *, is_joined: bool) -> None:
    net = NetworkBuilder()
    x = twins(net, net.input((1, 4, 4, 3)))
    rewritten = optimized(net, read_by(net, x, value=value))
    assert (rewritten is not None) == is_joined


def test_weights_of_4_bits_stay_in_4_bits() -> None:
    for value, is_joined in ((3, True), (4, False)):
        net = NetworkBuilder()
        x = twins(net, net.input((1, 4, 4, 3)))
        y = read_by(net, x, where=..., value=value)
        index = net.operators[-1].inputs[1]
        net.tensors[index] = dataclasses.replace(net.tensors[index], is_packed=True)
        network = decode_network(net.build(y), "packed")
        assert (EQUAL_CHANNELS.apply(network) is not None) == is_joined


def test_another_bias_is_another_channel() -> None:
    net = NetworkBuilder()
    x = twins(net, net.input((1, 4, 4, 3)), bias=1)
    assert optimized(net, read_by(net, x)) is None


def test_equal_channels_stay_equal_through_operators() -> None:
    net = NetworkBuilder()
    x = twins(net, twins(net, net.input((1, 4, 4, 3))), depthwise=True)
    x = net.max_pool(net.add(x, x), (2, 2))
    rewritten = optimized(net, read_by(net, x))
    assert channels(rewritten) == [3, 3, 3, 3, 3]


def test_other_weights_behind_them_make_them_different() -> None:
    net = NetworkBuilder()
    x = net.depthwise(twins(net, net.input((1, 4, 4, 3))), per_channel=False)
    assert optimized(net, read_by(net, x)) is None


def test_places_of_a_flattened_channel_are_different() -> None:
    net = NetworkBuilder()
    x = twins(net, net.input((1, 2, 1, 3)))
    x = net.reshape(x, (1, 8))
    y = net.fully_connected(x, 3)
    set_weights(net, (..., [0, 2, 4, 6]), 30)
    rewritten = optimized(net, y)
    assert channels(rewritten) == [3, 6, 3]


def test_a_reader_that_keeps_both_stops_it() -> None:
    net = NetworkBuilder()
    x = twins(net, net.input((1, 4, 4, 3)))
    y = read_by(net, x)
    assert optimized(net, y, net.softmax(x)) is None
    assert "equal weights" in EQUAL_CHANNELS.condition


def test_a_constant_without_elements_has_no_channels() -> None:
    net = NetworkBuilder("network", seed=4)
    x = net.conv2d(net.input((1, 1, 1, 2)), 1, (1, 1))
    network = decode_network(net.build(net.logistic(net.reshape(x, ()))), "network")
    graph = network.graph
    (empty,) = (tensor for tensor in graph.tensors if tensor.shape == (0,))
    tensors = list(graph.tensors)
    tensors[empty.index] = dataclasses.replace(empty, data=b"")  # as the ONNX front end makes it
    assert EQUAL_CHANNELS.apply(network.edited(dataclasses.replace(graph, tensors=tensors))) is None
