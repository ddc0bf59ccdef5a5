"""Builders of TRANSPOSE_CONV and of BATCH_MATMUL, of int8, int16 and floats."""

import math

import numpy as np

from tests.support.networks import NetworkBuilder

_STEP = 0.05


def transposed(
    net: NetworkBuilder,
    source: int,
    size: tuple[int, int],
    channels: int,
    kernel: tuple[int, int] = (3, 3),
    stride: tuple[int, int] = (1, 1),
    *,
    padding: str = "SAME",
    activation: str = "NONE",
    bias: bool = True,
    scale: float | None = None,
) -> int:
    """Add a TRANSPOSE_CONV to an output of height and width `size`; weights have many scales."""
    batch, _, _, depth = net.tensors[source].shape
    dtype, shape = net.tensors[source].dtype, (channels, *kernel, depth)
    target = net.constant((batch, *size, channels), "int32")
    if dtype == "float32":
        weights = net.constant(net.random.normal(size=shape).astype(np.float32))
        parts = [net.constant(net.random.normal(size=channels).astype(np.float32))] if bias else []
        output = {}
    else:
        scales = tuple(map(float, net.random.uniform(0.004, 0.008, channels).astype(np.float32)))
        points = (0,) * channels
        weights = net.constant(net.random_integers(shape), None, scales, points)
        parts = []
        if bias:
            values = net.random.integers(-2000, 2000, channels)
            steps = tuple(_STEP * s for s in scales)
            wide = "int64" if dtype == "int16" else "int32"
            parts.append(net.constant(values, wide, steps, points))
        spread = _STEP * math.sqrt(math.prod(kernel) * depth)
        output = {"scale": scale or spread, "zero_point": 3 if dtype == "int8" else 0}
    return net.apply(
        "TRANSPOSE_CONV", target, weights, source, *parts, stride_h=stride[0], stride_w=stride[1],
        padding=padding, fused_activation_function=activation, version=3, **output,
    )  # fmt: skip


def product(
    net: NetworkBuilder,
    first: int,
    second: int,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    scale: float | None = None,
) -> int:
    """Add a BATCH_MATMUL of two tensors."""
    dtype, shape = net.tensors[first].dtype, net.tensors[first].shape
    output = {}
    if dtype != "float32":
        # The values of int16 are 256 times as large.
        spread = _STEP * math.sqrt(shape[-2 if adj_x else -1]) * (1 if dtype == "int8" else 256)
        output = {"scale": scale or spread, "zero_point": 3 if dtype == "int8" else 0}
    return net.apply("BATCH_MATMUL", first, second, adj_x=adj_x, adj_y=adj_y, **output)
