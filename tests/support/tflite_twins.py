"""The networks of the other formats as int8 .tflite files, to compare what runs on the NPU.

Each has the operators that TFLite's converter writes for the architecture, random weights, and
integers at its ends. Sizes are parameters, since the formats' tests have sizes of their own.
"""

from itertools import pairwise

import numpy as np

from tests.support.catalogue.recurrent import lstm as lstm_operator
from tests.support.networks import NetworkBuilder

SCALE = 0.05
"""The scale of most feature maps, so that scales do not grow with the depth."""


def mobilenet_v2(size: int, width: float, classes: int) -> bytes:
    """Return MobileNetV2 (Sandler et al., 2018) for square images."""

    def wide(depth: int) -> int:
        return depth if width == 1 else max(8, int(depth * width + 4) // 8 * 8)

    net = NetworkBuilder("mobilenet_v2", 1)
    x = net.conv2d(
        net.input((1, size, size, 3)), wide(32), (3, 3), (2, 2), activation="RELU6", scale=SCALE
    )
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for factor, channels, count, first in stages:
        for stride in (first, *[1] * (count - 1)):
            depth = net.tensors[x].shape[3]
            y = x
            if factor > 1:
                y = net.conv2d(y, depth * factor, (1, 1), activation="RELU6", scale=SCALE)
            y = net.depthwise(y, (3, 3), (stride, stride), activation="RELU6", scale=SCALE)
            y = net.conv2d(y, wide(channels), (1, 1), scale=SCALE)
            x = net.add(x, y, scale=SCALE) if stride == 1 and depth == wide(channels) else y
    x = net.conv2d(x, 1280, (1, 1), activation="RELU6", scale=SCALE)
    net.fully_connected(net.mean(x, keep_dims=False), classes)
    return net.build()


def ds_cnn(depth: int = 64, columns: int = 10, kernel: tuple[int, int] = (10, 4), blocks: int = 4,
           softmax: bool = True) -> bytes:  # fmt: skip
    """Return the DS-CNN for keywords of MLPerf Tiny: 49 frames."""
    net = NetworkBuilder("ds_cnn", 1)
    x = net.input((1, 49, columns, 1))
    x = net.conv2d(x, depth, kernel, (2, 2), activation="RELU")
    for _ in range(blocks):
        x = net.conv2d(net.depthwise(x, activation="RELU"), depth, (1, 1), activation="RELU")
    scores = net.fully_connected(net.mean(x, keep_dims=False), 12)
    return net.build(net.softmax(scores) if softmax else scores)


def resnet_8(size: int = 32, depth: int = 16, softmax: bool = False) -> bytes:
    """Return the ResNet-8 of MLPerf Tiny."""
    net = NetworkBuilder("resnet_8", 1)
    x = net.conv2d(net.input((1, size, size, 3)), depth, activation="RELU")
    for channels, stride in ((depth, 1), (2 * depth, 2), (4 * depth, 2)):
        y = net.conv2d(x, channels, (3, 3), (stride, stride), activation="RELU")
        y = net.conv2d(y, channels, (3, 3))
        kept = x if stride == 1 else net.conv2d(x, channels, (1, 1), (stride, stride))
        x = net.add(kept, y, "RELU")
    scores = net.fully_connected(net.mean(x, keep_dims=False), 10)
    return net.build(net.softmax(scores) if softmax else scores)


def autoencoder() -> bytes:
    """Return the autoencoder of MLPerf Tiny for anomalies in sounds."""
    net = NetworkBuilder("autoencoder", 1)
    x = net.input((1, 640))
    for units, after in pairwise((128, 128, 128, 128, 8, 128, 128, 128, 128, 640, 0)):
        x = net.fully_connected(x, units, "RELU" if after else "NONE")
    return net.build()


def _norm(net: NetworkBuilder, x: int) -> int:
    """Add a layer norm as converters write it, in integers."""
    width = net.tensors[x].shape[-1]
    mean = net.mean(x, (-1,))
    square = net.apply("SQUARED_DIFFERENCE", x, mean, scale=SCALE, zero_point=-128)
    variance = net.mean(square, (-1,))
    small = net.constant(np.ones(1, np.int8), "int8", 0.01)
    total = net.add(variance, small, scale=SCALE, zero_point=-128)
    root = net.unary("RSQRT", total, scale=SCALE, zero_point=-128)
    centred = net.sub(x, mean)
    gain = net.constant(net.random_integers((width,)), "int8", 0.01)
    offset = net.constant(net.random_integers((width,)), "int8", 0.01)
    return net.add(net.mul(net.mul(centred, root), gain), offset, scale=SCALE)


def transformer(tokens: int, width: int, heads: int, norm_first: bool) -> bytes:
    """Return one encoder block with GELU, its layer norms before or after the two parts."""
    net = NetworkBuilder("transformer", 1)

    def dense(x: int, units: int) -> int:
        return net.fully_connected(x, units, keep_num_dims=True, scale=SCALE)

    def split(x: int, order: tuple[int, ...]) -> int:
        return net.transpose(net.reshape(x, (1, tokens, heads, width // heads)), order)

    def product(x: int, y: int) -> int:
        return net.apply("BATCH_MATMUL", x, y, scale=SCALE, zero_point=1)

    x = net.input((1, tokens, width))
    y = _norm(net, x) if norm_first else x
    query, value = (split(dense(y, width), (0, 2, 1, 3)) for _ in range(2))
    key = split(dense(y, width), (0, 2, 3, 1))
    scores = net.mul(product(query, key), net.constant(np.full(1, 90, np.int8), "int8", 0.004))
    mixed = net.transpose(product(net.softmax(scores), value), (0, 2, 1, 3))
    x = net.add(x, dense(net.reshape(mixed, (1, tokens, width)), width))
    x = x if norm_first else _norm(net, x)
    inner = dense(_norm(net, x) if norm_first else x, 4 * width)
    x = net.add(x, dense(net.unary("GELU", inner, {"approximate": False}), width))
    return net.build(x if norm_first else _norm(net, x))


def lstm(steps: int, features: int, cells: int) -> bytes:
    """Return an LSTM by TFLite's operator, and a classifier of its last output."""
    net = NetworkBuilder("lstm", 1)
    states = lstm_operator(net, net.input((1, steps, features), scale=0.02), cells)
    limits = (0, steps - 1, 0), (1, steps, cells), (1, 1, 1)
    net.fully_connected(net.apply("STRIDED_SLICE", states, *limits, shrink_axis_mask=2), 5)
    return net.build()


def gru_cell(features: int, cells: int) -> bytes:
    """Return one step of a GRU."""
    net = NetworkBuilder("gru_cell", 1)
    x, state = net.input((1, features)), net.input((1, cells), scale=1 / 128)

    def gate(inside: int) -> int:
        left, right = net.fully_connected(x, cells), net.fully_connected(inside, cells, bias=False)
        return net.add(left, right, scale=SCALE)

    update, reset = net.logistic(gate(state)), net.logistic(gate(state))
    new = net.tanh(gate(net.mul(reset, state, scale=1 / 128)))
    change = net.mul(update, net.sub(state, new), scale=1 / 64)
    return net.build(net.add(new, change, scale=1 / 64))
