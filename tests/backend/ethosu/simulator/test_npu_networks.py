"""Small random networks, compiled by Vela, bit for bit equal to TFLite Micro.

Left out are those where Vela 5.2 asks the NPU for something else than TFLite Micro computes, each
off by one at most: MUL of int16 with scales that are no powers of two (Vela rounds the factor to
float, TFLite Micro does not), LEAKY_RELU of int16 (the other way round), SUM of int16 (Vela rounds
once, TFLite Micro twice), SOFTMAX of int16 (Vela's reciprocal table is made in double, TFLite
Micro's in float: entries 160 and 294 differ).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.ops import conv
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder
from tests.support.npu_networks import assert_exact

NPUS = ("ethos-u55-128", "ethos-u65-512")
DTYPES = ("int8", "int16")
SHAPE = (1, 9, 11, 20)

Build = Callable[[NetworkBuilder, str], int]


def source(
    net: NetworkBuilder, dtype: str, shape: tuple[int, ...] = SHAPE, scale: float = 0.05
) -> int:
    return net.input(shape, dtype, scale)


def quantized(dtype: str) -> dict[str, Any]:
    return {"scale": 0.037, "zero_point": 0 if dtype == "int16" else -9}


def two(net: NetworkBuilder, dtype: str, shape: tuple[int, ...] = SHAPE) -> tuple[int, int]:
    return source(net, dtype), source(net, dtype, shape, 0.08)


def multiply(net: NetworkBuilder, dtype: str) -> int:
    x, y = source(net, dtype, scale=1 / 16), source(net, dtype, scale=1 / 32)
    return net.mul(x, y, scale=32.0 if dtype == "int16" else 1 / 8)


def shared(net: NetworkBuilder, dtype: str) -> tuple[int, int]:
    """Two inputs of one quantization, the second broadcast along height."""
    return source(net, dtype), source(net, dtype, (1, 1, 11, 20))


def ints(net: NetworkBuilder, values: Any) -> int:
    return net.constant(np.array(values), "int32")


def resize(net: NetworkBuilder, x: int, code: str, **options: Any) -> int:
    _, height, width, _ = net.tensors[x].shape
    return net.apply(code, x, (height * 2, width * 2), **options)


def transpose_conv(net: NetworkBuilder, dtype: str) -> int:
    x = source(net, dtype, (1, 5, 4, 9))
    shape = (1, 10, 8, 6)
    weights = net.constant(net.random_integers((6, 3, 3, 9)), "int8", (0.006,) * 6, (0,) * 6, 0)
    inputs = [ints(net, shape), weights, x]
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    return net.operator("TRANSPOSE_CONV", inputs, [net._scaled(x, shape, 3.0, {})], options)[0]


def batch_matmul(net: NetworkBuilder, dtype: str) -> int:
    x, y = source(net, dtype, (1, 2, 5, 12)), source(net, dtype, (1, 2, 12, 7))
    return net.apply("BATCH_MATMUL", x, y, scale=0.7)


def strided_slice(net: NetworkBuilder, dtype: str) -> int:
    corners = (0, 1, 2, 3), (1, 9, 11, 17), (1, 2, 2, 1)
    return net.apply("STRIDED_SLICE", source(net, dtype), *corners)


def block(net: NetworkBuilder, dtype: str) -> int:
    """A residual block, as in real networks."""
    x = net.conv2d(source(net, dtype, (1, 20, 20, 3)), 24, (3, 3), (2, 2), activation="RELU6")
    y = net.conv2d(net.depthwise(x, (3, 3)), 24, (1, 1))
    return net.average_pool(net.add(x, y), (2, 2), padding="SAME")


BUILDS: dict[str, Build] = {
    "conv2d": lambda n, d: n.conv2d(source(n, d), 19, (3, 3), activation="RELU"),
    "conv2d_stride_dilation": lambda n, d: n.conv2d(
        source(n, d, (1, 20, 20, 5)), 9, (3, 2), (2, 3), "VALID", "RELU6", (2, 2), per_channel=False
    ),
    "conv2d_1x1": lambda n, d: n.conv2d(source(n, d, (1, 8, 8, 40)), 33, (1, 1), bias=False),
    "conv2d_5x5": lambda n, d: n.conv2d(source(n, d, (1, 12, 12, 3)), 8, (5, 5), (2, 2)),
    "depthwise": lambda n, d: n.depthwise(source(n, d), (3, 3), (2, 2)),
    "depthwise_dilation": lambda n, d: n.depthwise(source(n, d), (3, 3), dilation=(2, 2)),
    "fully_connected": lambda n, d: n.fully_connected(source(n, d, (3, 70)), 33),
    "average_pool": lambda n, d: n.average_pool(source(n, d), (3, 3), (2, 2), padding="SAME"),
    "average_pool_valid": lambda n, d: n.average_pool(source(n, d), (4, 5), (1, 2)),
    "max_pool": lambda n, d: n.max_pool(source(n, d), (3, 2), (2, 2), padding="SAME"),
    "mean": lambda n, d: n.mean(source(n, d), (1, 2), **quantized(d)),
    "add": lambda n, d: n.add(*two(n, d)),
    "add_broadcast": lambda n, d: n.add(*two(n, d, (1, 1, 1, 20)), activation="RELU"),
    "add_scalar": lambda n, d: n.add(source(n, d), n.constant([[[[9]]]], d, 0.2)),
    "sub": lambda n, d: n.sub(*two(n, d)),
    "sub_reversed": lambda n, d: n.sub(*two(n, d, (1, 9, 1, 20))[::-1]),
    "mul": lambda n, d: n.mul(
        source(n, d, scale=1 / 16),
        source(n, d, scale=1 / 32),
        scale=32.0 if d == "int16" else 1 / 8,
    ),
    "minimum": lambda n, d: n.minimum(*shared(n, d)),
    "maximum": lambda n, d: n.maximum(*shared(n, d)),
    "abs": lambda n, d: n.unary("ABS", source(n, d), **quantized(d)),
    "logistic": lambda n, d: n.logistic(source(n, d)),
    "tanh": lambda n, d: n.tanh(source(n, d)),
    "quantize": lambda n, d: n.quantize(source(n, d), d, 0.11, 0),
    "requantize": lambda n, d: n.quantize(source(n, d), "int16" if d == "int8" else "int8", 0.1, 0),
    "pad": lambda n, d: n.pad(source(n, d), ((0, 0), (1, 2), (0, 3), (2, 1))),
    "concat": lambda n, d: n.concat([source(n, d), source(n, d), source(n, d)]),
    "transpose": lambda n, d: n.transpose(source(n, d), (0, 2, 1, 3)),
    "transpose_channels": lambda n, d: n.transpose(source(n, d, (1, 5, 6, 7)), (0, 3, 1, 2)),
    "strided_slice": strided_slice,
    "transpose_conv": transpose_conv,
    "resize_nearest": lambda n, d: resize(n, source(n, d), "RESIZE_NEAREST_NEIGHBOR"),
    "block": block,
}

INT8_ONLY: dict[str, Build] = {
    "softmax": lambda n, d: n.softmax(source(n, d, (4, 30))),
    "relu": lambda n, d: n.relu(source(n, d)),
    "hard_swish": lambda n, d: n.unary("HARD_SWISH", source(n, d), **quantized(d)),
    "leaky_relu": lambda n, d: n.unary("LEAKY_RELU", source(n, d), {"alpha": 0.2}, **quantized(d)),
    "elu": lambda n, d: n.unary("ELU", source(n, d), **quantized(d)),
    "resize_bilinear": lambda n, d: resize(
        n, source(n, d), "RESIZE_BILINEAR", align_corners=False, half_pixel_centers=True
    ),
    "batch_matmul": batch_matmul,
    "reduce_max": lambda n, d: n.operator(
        "REDUCE_MAX",
        [source(n, d), ints(n, (1, 2))],
        [Spec((1, 1, 1, 20), d, 0.05, 3)],
        {"keep_dims": True},
    )[0],
}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BUILDS)
def test_a_network_is_exact(name: str, dtype: str) -> None:
    net = NetworkBuilder(name, seed=len(name))
    output = BUILDS[name](net, dtype)
    assert_exact(net.build(output), NPUS)


@pytest.mark.parametrize("name", INT8_ONLY)
def test_an_int8_network_is_exact(name: str) -> None:
    net = NetworkBuilder(name, seed=len(name))
    output = INT8_ONLY[name](net, "int8")
    assert_exact(net.build(output), NPUS)


@pytest.mark.parametrize("npu", ["ethos-u55-32", "ethos-u55-64", "ethos-u55-256", "ethos-u65-256"])
def test_other_configurations(npu: str) -> None:
    net = NetworkBuilder("block", seed=3)
    output = net.softmax(net.reshape(block(net, "int8"), (1, 600)))
    assert_exact(net.build(output), (npu,))


@pytest.mark.parametrize("name", ["depthwise", "depthwise_dilation", "block"])
def test_depthwise_weights_that_are_too_large_to_repeat(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conv, "_WIDE_BYTES", 0)
    net = NetworkBuilder(name, seed=3)
    build = BUILDS.get(name, block)
    assert_exact(net.build(build(net, "int8")), ("ethos-u55-128", "ethos-u85-256"))
