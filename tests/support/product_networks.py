"""Builders of TRANSPOSE_CONV of int8 and of BATCH_MATMUL of int8 and int16."""

import numpy as np

from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder


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
    out = [batch, *size, channels]
    scales = tuple(map(float, net.random.uniform(0.004, 0.008, channels).astype(np.float32)))
    points = (0,) * channels
    taken = (channels, *kernel, depth)
    inputs = [
        net.constant(out, "int32"),
        net.constant(net.random_integers(taken), None, scales, points),
    ]
    inputs.append(source)
    if bias:
        values = net.random.integers(-2000, 2000, channels)
        inputs.append(net.constant(values, "int32", tuple(0.05 * s for s in scales), points))
    options = {
        "stride_h": stride[0], "stride_w": stride[1], "padding": padding,
        "fused_activation_function": activation,
    }  # fmt: skip
    spread = 0.05 * float(np.prod(kernel) * depth) ** 0.5
    spec = Spec(tuple(out), "int8", scale or spread, 3)
    return net.operator("TRANSPOSE_CONV", inputs, [spec], options, version=3)[0]


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
    one, other = (net.tensors[i].shape for i in (first, second))
    rows, depth = one[:-3:-1] if adj_x else one[-2:]
    columns = other[-2] if adj_y else other[-1]
    shape = (*np.broadcast_shapes(one[:-2], other[:-2]), rows, columns)
    dtype = net.tensors[first].dtype
    # The values of int16 are 256 times as large.
    spread = 0.05 * float(depth) ** 0.5 * (1 if dtype == "int8" else 256)
    spec = Spec(shape, dtype, scale or spread, 3 if dtype == "int8" else 0)
    options = {"adj_x": adj_x, "adj_y": adj_y}
    return net.operator("BATCH_MATMUL", [first, second], [spec], options)[0]
