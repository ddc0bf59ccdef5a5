"""Activations behind operators: which are fused, which stay, and that no bit changes."""

from collections.abc import Callable

import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder

RANGE = {"scale": 0.05, "zero_point": 0}
MAKERS: dict[str, Callable[[NetworkBuilder, int], int]] = {
    "CONV_2D": lambda net, x: net.conv2d(x, 5, **RANGE),
    "DEPTHWISE_CONV_2D": lambda net, x: net.depthwise(x, **RANGE),
    "FULLY_CONNECTED": lambda net, x: net.fully_connected(x, 5, **RANGE),
    "ADD": lambda net, x: net.add(x, net.input((1, 6, 6, 4), net.tensors[x].dtype), **RANGE),
    "SUB": lambda net, x: net.sub(x, net.input((1, 6, 6, 4), net.tensors[x].dtype), **RANGE),
    "MUL": lambda net, x: net.mul(x, net.input((1, 6, 6, 4), net.tensors[x].dtype), **RANGE),
    "AVERAGE_POOL_2D": lambda net, x: net.average_pool(x, (2, 2)),
    "MAX_POOL_2D": lambda net, x: net.max_pool(x, (2, 2)),
}


def _made(code: str, dtype: str = "int8") -> tuple[NetworkBuilder, int]:
    net = NetworkBuilder(seed=4)
    x = net.input((1, 6, 6, 4), dtype, 0.05, 0)
    return net, MAKERS[code](net, x)


@pytest.mark.parametrize(("dtype", "activation"), [
    ("int8", "RELU"), ("int8", "RELU6"), ("int8", "RELU_N1_TO_1"), ("int16", "RELU"),
    ("int16", "RELU6"),
])  # fmt: skip
@pytest.mark.parametrize("code", MAKERS)
def test_an_operator_applies_the_activation_behind_it(
    code: str, activation: str, dtype: str
) -> None:
    net, y = _made(code, dtype)
    assert codes_after(net, net.unary(activation, y)) == [code]


@pytest.mark.parametrize("change", [{"scale": 0.04}, {"zero_point": 3}])
def test_another_range_keeps_the_activation(change: dict[str, float]) -> None:
    net, y = _made("CONV_2D")
    assert codes_after(net, net.unary("RELU", y, **change)) == ["CONV_2D", "RELU"]


@pytest.mark.parametrize("case", ["another reader", "an output", "an activation before"])
def test_what_others_need_stays(case: str) -> None:
    net, y = _made("CONV_2D")
    if case == "an activation before":
        z = net.unary("RELU_N1_TO_1", net.conv2d(y, 5, activation="RELU6", **RANGE))
        assert codes_after(net, z) == ["CONV_2D", "CONV_2D", "RELU_N1_TO_1"]
        return
    outputs = [net.unary("RELU", y), y if case == "an output" else net.tanh(y)]
    assert "RELU" in codes_after(net, *outputs)


@pytest.mark.parametrize("code", ["LOGISTIC", "MINIMUM"])
def test_operators_without_the_option_stay(code: str) -> None:
    net = NetworkBuilder(seed=4)
    x = net.input((1, 6, 6, 4), scale=0.05, zero_point=0)
    y = (
        net.logistic(x)
        if code == "LOGISTIC"
        else net.minimum(x, net.input((1, 6, 6, 4), "int8", 0.05, 0))
    )
    assert codes_after(net, net.unary("RELU6", y))[0] == code


def test_floats_stay() -> None:
    net = NetworkBuilder(seed=4)
    y = net.conv2d(net.input((1, 6, 6, 4), "float32"), 5)
    assert codes_after(net, net.unary("RELU", y)) == ["CONV_2D", "RELU"]
