"""TRANSPOSEs behind elementwise operators: which are moved, which stay, and that no bit changes."""

import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


@pytest.mark.parametrize(("codes", "left"), [
    (["RELU"], []), (["RELU", "LOGISTIC"], ["LOGISTIC"]),
    (["QUANTIZE", "RELU6"], ["QUANTIZE", "RELU6"]),
], ids=str)  # fmt: skip
def test_two_transposes_around_elementwise_operators_cancel(
    codes: list[str], left: list[str]
) -> None:
    """The layer then applies the activation behind it."""
    net = NetworkBuilder(seed=3)
    y = net.transpose(net.conv2d(net.input((1, 6, 4, 3)), 5), FIRST)
    for code in codes:
        if code == "LOGISTIC":
            y = net.logistic(y)
        elif code == "QUANTIZE":
            y = net.quantize(y, "int8", 0.03, 4)
        else:
            y = net.unary(code, y)
    assert codes_after(net, net.softmax(net.transpose(y, LAST))) == ["CONV_2D", *left, "SOFTMAX"]


@pytest.mark.parametrize("shape", [(5, 1, 1), (1, 6, 1), (4,), (1,), (1, 5, 6, 4)], ids=str)
def test_constants_are_transposed_too(shape: tuple[int, ...]) -> None:
    net = NetworkBuilder(seed=3)
    y = net.transpose(net.conv2d(net.input((1, 6, 4, 3)), 5), (0, 3, 1, 2))
    y = net.add(y, net.constant(net.random_integers(shape), None, 0.02, 3))
    assert codes_after(net, net.softmax(net.transpose(y, LAST))) == ["CONV_2D", "ADD", "SOFTMAX"]


def test_two_orders_are_one_behind_the_operator() -> None:
    net = NetworkBuilder(seed=3)
    y = net.tanh(net.transpose(net.input((2, 3, 4, 5)), (1, 0, 3, 2)))
    y = net.softmax(net.transpose(y, (3, 1, 0, 2)))
    assert codes_after(net, y) == ["TANH", "TRANSPOSE", "SOFTMAX"]


def test_a_sum_of_two_transposes_is_transposed_once() -> None:
    net = NetworkBuilder(seed=3)
    ways = [net.transpose(net.conv2d(net.input((1, 6, 4, 3)), 5), FIRST) for _ in range(2)]
    left = codes_after(net, net.softmax(net.add(*ways)))
    assert left == ["CONV_2D", "CONV_2D", "ADD", "TRANSPOSE", "SOFTMAX"]


@pytest.mark.parametrize("case", ["orders", "another reader", "nothing behind", "rows", "output"])
def test_what_would_save_nothing_stays(case: str) -> None:
    net = NetworkBuilder(seed=3)
    x = net.conv2d(net.input((1, 4, 4, 4)), 4)
    first = net.transpose(x, FIRST)
    outputs = []
    if case == "orders":
        y = net.add(first, net.transpose(x, (0, 3, 2, 1)))
    elif case == "rows":
        y = net.transpose(net.softmax(first), LAST)
    else:
        y = net.logistic(first)
    if case == "another reader":
        outputs, y = [net.softmax(first)], net.transpose(y, LAST)
    if case == "output":
        outputs, y = [y], net.transpose(y, LAST)
    left = codes_after(net, net.softmax(y), *outputs)
    assert left[:2] == ["CONV_2D", "TRANSPOSE"]
    assert left.count("TRANSPOSE") == (1 if case == "nothing behind" else 2)
