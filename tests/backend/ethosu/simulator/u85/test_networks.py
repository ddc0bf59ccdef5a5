"""Small random networks, compiled by Vela for U85, bit for bit equal to TFLite Micro.

The NPU sizes take turns; `python -m tests.corpus run --product u85` draws more.
"""

from collections.abc import Callable

import pytest

from tests.backend.ethosu.simulator.test_npu_networks import BUILDS, INT8_ONLY, SHAPE
from tests.support.networks import NetworkBuilder
from tests.support.npu_networks import assert_exact

SIZES = (256, 128, 512, 1024, 2048)
CASES = [
    *((name, "int8", BUILDS[name]) for name in BUILDS),
    *((name, "int8", INT8_ONLY[name]) for name in INT8_ONLY),
    *((name, "int16", BUILDS[name]) for name in ("conv2d", "depthwise", "tanh", "logistic", "add")),
]


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}")
def test_a_network_is_exact(index: int) -> None:
    name, dtype, build = CASES[index]
    net = NetworkBuilder(name, seed=len(name))
    output = build(net, dtype)
    assert_exact(net.build(output), (f"ethos-u85-{SIZES[index % len(SIZES)]}",))


def greater(net: NetworkBuilder) -> int:
    x, y = net.input(SHAPE, "int8", 0.05), net.input(SHAPE, "int8", 0.07)
    return net.apply("GREATER", x, y)


def select(net: NetworkBuilder) -> int:
    """Vela makes bitwise operations of it, which need -1 for a comparison that holds."""
    x, y = net.input(SHAPE, "int8", 0.05), net.input(SHAPE, "int8", 0.05)
    return net.apply("SELECT_V2", greater(net), x, y)


def gather(net: NetworkBuilder) -> int:
    return net.apply("GATHER", net.input((6, 8), "int8", 0.05), [3, 1, 5, 0], axis=0)


def stretch(net: NetworkBuilder) -> int:
    x = net.input((1, 5, 4, 9), "int8", 0.05)
    return net.apply("RESIZE_BILINEAR", x, (10, 16), half_pixel_centers=True)


def turned(net: NetworkBuilder) -> int:
    x = net.transpose(net.input((1, 6, 5, 20), "int16", 0.05), (0, 3, 2, 1))
    return net.apply("REVERSE_V2", x, [2])


def product(net: NetworkBuilder) -> int:
    """Products of 32-bit operands that need 63 bits wrap around, as in TFLite."""
    x, y = net.input(SHAPE, "int32", None), net.input(SHAPE, "int32", None)
    return net.apply("MUL", x, y, fused_activation_function="NONE")


@pytest.mark.parametrize(
    "build", [select, gather, stretch, turned, product], ids=lambda b: b.__name__
)
def test_what_only_u85_does_is_exact(build: Callable[[NetworkBuilder], int]) -> None:
    net = NetworkBuilder(build.__name__, seed=3)
    output = build(net)
    assert_exact(net.build(output), ("ethos-u85-256",))
