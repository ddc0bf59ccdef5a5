"""Operators of constants: which are folded, which stay, and that no bit changes."""

import numpy as np
import pytest

from tests.optimizer.dead.test_operators import codes_after
from tests.support.networks import NetworkBuilder


def random_constant(net: NetworkBuilder, shape: tuple[int, ...], scale: float = 0.05) -> int:
    return net.constant(net.random_integers(shape), None, scale, 3)


@pytest.mark.parametrize("way", ["RELU", "add", "mul", "sub", "quantize", "MAXIMUM"])
def test_elementwise_operators_of_constants(way: str) -> None:
    net = NetworkBuilder(seed=3)
    a, b = random_constant(net, (1, 1, 8)), random_constant(net, (8,))
    if way == "RELU":
        c = net.unary("RELU", a)
    elif way == "quantize":
        c = net.quantize(a, "int8", 0.07, -5)
    elif way == "MAXIMUM":
        c = net.maximum(a, b)
    else:
        c = getattr(net, way)(a, b, scale=0.11, zero_point=1)
    assert codes_after(net, net.add(net.input((1, 4, 4, 8)), c)) == ["ADD"]


def test_a_chain_of_moves() -> None:
    net = NetworkBuilder(seed=3)
    c = net.transpose(random_constant(net, (4, 6)), (1, 0))
    c = net.apply("SLICE", c, (1, 0), (2, 4))
    c = net.pad(net.reshape(c, (1, 2, 4)), ((0, 0), (1, 0), (0, 0)))
    c = net.concat([c, net.apply("GATHER", c, (2, 0, 1), axis=1)], axis=1)
    y = net.add(net.input((1, 6, 4)), c)
    assert codes_after(net, y) == ["ADD"]


def test_what_grows_stays() -> None:
    net = NetworkBuilder(seed=3)
    c = net.add(random_constant(net, (1, 16, 1)), random_constant(net, (1, 1, 16)))
    assert codes_after(net, net.add(net.input((1, 16, 16)), c)) == ["ADD", "ADD"]


def test_an_output_of_the_network_stays() -> None:
    net = NetworkBuilder(seed=3)
    c = net.unary("RELU", random_constant(net, (1, 8)))
    assert codes_after(net, net.add(net.input((1, 8)), c), c) == ["RELU", "ADD"]


def test_a_rounding_on_which_oracles_differ_stays() -> None:
    """1.5 in units of the output is 2 by one rounding, and 1 or 2 by another."""
    net = NetworkBuilder(seed=3)
    values = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    c = net.quantize(net.constant(values, None, 0.5, 0), "int8", 1.0, 0)
    assert codes_after(net, net.add(net.input((1, 256)), c)) == ["QUANTIZE", "ADD"]
