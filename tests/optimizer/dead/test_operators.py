"""Operators that go: those that give back their input, and those that nobody reads."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer import optimize
from ethosgen.oracle.answers import Question, answer
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.outcome import equal_elements
from tests.support.networks import NetworkBuilder

FULL: dict[str, Any] = {"scale": 0.05, "zero_point": -128}


def codes_after(net: NetworkBuilder, *outputs: int) -> list[str]:
    """Optimize a network, require that nothing differs, and return the operators that are left."""
    network = decode_network(net.build(*outputs), "net")
    optimized = optimize(network)
    if optimized is None:
        return [operator.code for operator in network.graph.operators]
    changed = dataclasses.replace(optimized.network, source=None)
    assert [t.name for t in changed.outputs] == [t.name for t in network.outputs]
    samples = draw_samples(network, 12, seed=2)
    ours, theirs = (answer(Question(each, samples)).outputs for each in (changed, network))
    for our, their in zip(ours, theirs, strict=True):
        assert all(equal_elements(our[name], array).all() for name, array in their.items())
    return [operator.code for operator in changed.graph.operators]


def layer(net: NetworkBuilder, activation: str, **output: Any) -> int:
    return net.conv2d(net.input((1, 3, 3, 2)), 4, (1, 1), activation=activation, **output)


def constant(net: NetworkBuilder, values: list[int], scale: float, point: int) -> int:
    return net.constant(np.array(values, np.int8), None, scale, point)


@pytest.mark.parametrize(
    ("activation", "code", "is_idle"),
    [
        ("RELU", "RELU", True),
        ("NONE", "RELU", True),  # the zero point is the type's lowest value
        ("RELU6", "RELU6", True),
        ("RELU", "RELU6", False),
    ],
)
def test_a_clamp_that_never_clips(activation: str, code: str, *, is_idle: bool) -> None:
    net = NetworkBuilder()
    x = net.unary(code, layer(net, activation, **FULL))
    left = codes_after(net, net.conv2d(x, 2, (1, 1)))
    assert left == (["CONV_2D", "CONV_2D"] if is_idle else ["CONV_2D", code, "CONV_2D"])


@pytest.mark.parametrize(
    ("code", "values", "is_idle"),
    [
        ("MAXIMUM", [-20, -20, -20, -20], True),
        ("MAXIMUM", [-20, -20, -20, -19], False),
        ("MINIMUM", [127, 127, 127, 127], True),
        ("MINIMUM", [127, -15, 127, 127], False),
    ],
)
def test_a_bound_that_decides_nothing(code: str, values: list[int], *, is_idle: bool) -> None:
    net = NetworkBuilder()
    x = layer(net, "RELU", scale=0.05, zero_point=-20)
    x = net.apply(code, x, constant(net, values, 0.05, -20))
    left = codes_after(net, net.conv2d(x, 2, (1, 1)))
    assert (code not in left) == is_idle


@pytest.mark.parametrize(("way", "value", "is_idle"), [
    ("mul", 20, True), ("mul", 19, False), ("add", 0, True), ("add", 9, False), ("sub", 0, True),
])  # fmt: skip
def test_one_and_zero(way: str, value: int, *, is_idle: bool) -> None:
    net = NetworkBuilder()
    x = layer(net, "NONE", scale=0.05, zero_point=3)
    other = constant(net, [value], 0.05, 0)
    x = getattr(net, way)(x, other, scale=0.05, zero_point=3)
    left = codes_after(net, net.conv2d(x, 2, (1, 1)))
    assert (way.upper() not in left) == is_idle


STILL: dict[str, Callable[[NetworkBuilder, int], int]] = {
    "SLICE": lambda net, x: net.apply("SLICE", x, (0, 0, 0, 0), (1, 3, 3, 4)),
    "PAD": lambda net, x: net.pad(x, ((0, 0),) * 4),
    "CONCATENATION": lambda net, x: net.concat([x]),
    "TILE": lambda net, x: net.apply("TILE", x, (1, 1, 1, 1)),
    "RESHAPE": lambda net, x: net.reshape(x, (1, 3, 3, 4)),
    "TRANSPOSE": lambda net, x: net.transpose(x, (0, 1, 2, 3)),
    "MAX_POOL_2D": lambda net, x: net.max_pool(x, (1, 1), activation="RELU"),
    "AVERAGE_POOL_2D": lambda net, x: net.average_pool(x, (1, 1)),
    "MAXIMUM": lambda net, x: net.maximum(x, x),
    "MINIMUM": lambda net, x: net.minimum(x, x),
}


@pytest.mark.parametrize("code", STILL)
def test_a_move_of_nothing(code: str) -> None:
    net = NetworkBuilder()
    x = STILL[code](net, layer(net, "RELU", scale=0.05, zero_point=-20))
    assert codes_after(net, net.conv2d(x, 2, (1, 1))) == ["CONV_2D", "CONV_2D"]


MOVING: dict[str, Callable[[NetworkBuilder, int], int]] = {
    "REVERSE_V2": lambda net, x: net.apply("REVERSE_V2", x, (1,)),
    "TRANSPOSE": lambda net, x: net.transpose(x, (0, 2, 1, 3)),
    "MAX_POOL_2D": lambda net, x: net.max_pool(x, (1, 1), activation="RELU6"),
    "AVERAGE_POOL_2D": lambda net, x: net.average_pool(x, (3, 3), (1, 1), padding="SAME"),
    "STRIDED_SLICE": lambda net, x: net.apply(
        "STRIDED_SLICE", x, (0, -1, 0, 0), (1, -4, 3, 4), (1, -1, 1, 1)
    ),
    "PAD": lambda net, x: net.pad(
        net.apply("SLICE", x, (0, 0, 0, 0), (1, 2, 3, 4)), ((0, 0), (0, 1), (0, 0), (0, 0))
    ),
}


@pytest.mark.parametrize("code", MOVING)
def test_a_move_of_something_stays(code: str) -> None:
    net = NetworkBuilder()
    x = MOVING[code](net, layer(net, "RELU", scale=0.05, zero_point=-20))
    assert code in codes_after(net, net.conv2d(x, 2, (1, 1)))


def test_another_scale_is_a_change() -> None:
    net = NetworkBuilder()
    x = net.unary("RELU", layer(net, "RELU", **FULL), scale=0.06)
    assert codes_after(net, net.conv2d(x, 2, (1, 1))) == ["CONV_2D", "RELU", "CONV_2D"]


def test_the_output_of_the_network_keeps_its_name() -> None:
    net = NetworkBuilder()
    x = layer(net, "RELU", **FULL)
    assert codes_after(net, net.unary("RELU", x)) == ["CONV_2D"]
    net = NetworkBuilder()
    x = layer(net, "RELU", **FULL)
    assert codes_after(net, net.unary("RELU", x), x) == ["CONV_2D", "RELU"]


def test_an_input_that_is_an_output_is_still_copied() -> None:
    net = NetworkBuilder()
    x = net.input((1, 4), scale=0.05, zero_point=-128)
    assert codes_after(net, net.unary("RELU", x)) == ["RELU"]


def test_what_nobody_reads_goes() -> None:
    net = NetworkBuilder()
    x = layer(net, "NONE")
    net.logistic(net.conv2d(x, 2, (1, 1)))
    assert codes_after(net, net.conv2d(x, 3, (1, 1))) == ["CONV_2D", "CONV_2D"]


def test_16_bit_layers_lose_channels_without_weights() -> None:
    net = NetworkBuilder()
    x = net.input((1, 3, 3, 2), "int16", 0.001, 0)
    x = net.conv2d(x, 4, (1, 1))
    y = net.conv2d(x, 2, (3, 3))
    spec = net.tensors[net.operators[-1].inputs[1]]
    assert spec.data is not None
    weights = np.frombuffer(spec.data, np.int8).reshape(spec.shape).copy()
    weights[..., 1] = 0
    net.tensors[net.operators[-1].inputs[1]] = dataclasses.replace(spec, data=weights.tobytes())
    network = decode_network(net.build(y), "wide")
    optimized = optimize(network)
    assert optimized is not None
    assert [change.text() for change in optimized.facts.changes] == ["1 unread channel removed"]
    assert codes_after(net, y) == ["CONV_2D", "CONV_2D"]
