"""Repeated operators: which are shared, which are not, and that no bit changes."""

import numpy as np
import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder


def test_equal_operators_are_shared_through_a_chain() -> None:
    net = NetworkBuilder(seed=3)
    x = net.input((1, 4, 4, 8))
    ways = [net.logistic(net.max_pool(x, (2, 2), (2, 2))) for _ in range(2)]
    y = net.add(net.conv2d(ways[0], 4), net.conv2d(ways[1], 4))
    assert codes_after(net, y).count("LOGISTIC") == 1
    assert codes_after(net, y).count("MAX_POOL_2D") == 1


def test_equal_constants_are_one() -> None:
    net = NetworkBuilder(seed=3)
    x = net.input((1, 4, 4, 8))
    sums = [net.add(x, net.constant(np.full(8, 7, np.int8), None, 0.05, 3)) for _ in range(2)]
    y = net.mul(net.logistic(sums[0]), net.tanh(sums[1]))
    assert codes_after(net, y).count("ADD") == 1


@pytest.mark.parametrize("case", ["options", "constants", "scale", "the output"])
def test_what_differs_stays(case: str) -> None:
    net = NetworkBuilder(seed=3)
    x = net.input((1, 4, 4, 8))
    if case == "options":
        ways = [net.max_pool(x, (k, k), (2, 2), padding="SAME") for k in (2, 3)]
    elif case == "constants":
        ways = [net.add(x, net.constant(np.full(8, k, np.int8), None, 0.05, 3)) for k in (7, 9)]
    elif case == "scale":
        ways = [net.add(x, x, scale=scale) for scale in (0.1, 0.2)]
    else:
        ways = [net.max_pool(x, (2, 2), (2, 2)) for _ in range(2)]
    outputs = ways if case == "the output" else [net.add(net.logistic(ways[0]), net.tanh(ways[1]))]
    code = "ADD" if case in ("constants", "scale") else "MAX_POOL_2D"
    more = 1 if code == "ADD" else 0
    assert codes_after(net, *outputs).count(code) == 2 + more
