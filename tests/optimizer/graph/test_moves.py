"""Moves behind moves: what is merged, what goes, what stays, and that no bit changes."""

import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.control_networks import accumulator
from tests.support.networks import NetworkBuilder

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


def test_a_transpose_back_is_nothing() -> None:
    net = NetworkBuilder(seed=3)
    x = net.max_pool(net.input((1, 6, 4, 3)), (2, 2), (2, 2))
    y = net.conv2d(net.transpose(net.transpose(x, FIRST), LAST), 4)
    assert codes_after(net, y) == ["MAX_POOL_2D", "CONV_2D"]


def test_two_orders_are_one() -> None:
    net = NetworkBuilder(seed=3)
    x = net.input((2, 3, 4, 5))
    y = net.logistic(net.transpose(net.transpose(x, (1, 0, 3, 2)), (3, 1, 0, 2)))
    assert codes_after(net, y) == ["TRANSPOSE", "LOGISTIC"]


def test_shapes_behind_shapes_are_one() -> None:
    net = NetworkBuilder(seed=3)
    x = net.max_pool(net.input((1, 4, 4, 6)), (2, 2), (2, 2))
    y = net.reshape(net.reshape(net.reshape(x, (24,)), (2, 12)), (1, 24))
    assert codes_after(net, net.fully_connected(y, 3)) == [
        "MAX_POOL_2D",
        "RESHAPE",
        "FULLY_CONNECTED",
    ]


def test_a_shape_back_is_nothing() -> None:
    net = NetworkBuilder(seed=3)
    x = net.max_pool(net.input((1, 4, 4, 6)), (2, 2), (2, 2))
    y = net.reshape(net.reshape(x, (4, 6)), (1, 2, 2, 6))
    assert codes_after(net, net.conv2d(y, 3)) == ["MAX_POOL_2D", "CONV_2D"]


def test_another_reader_keeps_the_first_move() -> None:
    net = NetworkBuilder(seed=3)
    x = net.max_pool(net.input((1, 6, 4, 3)), (2, 2), (2, 2))
    moved = net.transpose(x, FIRST)
    left = codes_after(net, net.logistic(moved), net.conv2d(net.transpose(moved, LAST), 4))
    assert left == ["MAX_POOL_2D", "TRANSPOSE", "LOGISTIC", "CONV_2D"]


def test_the_output_of_the_network_needs_no_copy() -> None:
    net = NetworkBuilder(seed=3)
    x = net.max_pool(net.input((1, 6, 4, 3)), (2, 2), (2, 2))
    assert codes_after(net, net.transpose(net.transpose(x, FIRST), LAST)) == ["MAX_POOL_2D"]


@pytest.mark.parametrize("case", ["an operator between", "a shape between", "an input"])
def test_what_is_no_pair_stays(case: str) -> None:
    net = NetworkBuilder(seed=3)
    x = net.input((1, 6, 4, 3))
    if case != "an input":
        x = net.max_pool(x, (2, 2), (2, 2))
    y = net.transpose(x, FIRST)
    if case == "an operator between":
        y = net.softmax(y)
    if case == "a shape between":
        y = net.reshape(y, (1, 3, 2, 3))
    z = net.transpose(y, LAST)
    outputs = [z] if case == "an input" else [net.tanh(z)]
    assert codes_after(net, *outputs).count("TRANSPOSE") == (1 if case == "an input" else 2)


def test_operators_without_outputs_are_passed_by() -> None:
    net = NetworkBuilder(seed=3)
    kept = codes_after(net, *accumulator(net))
    assert {"CALL_ONCE", "ASSIGN_VARIABLE"} <= {*kept}
