"""Networks of public definitions as ONNX, with random weights."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tests.support.onnx_networks import OnnxNetwork

Build = Callable[[OnnxNetwork], list[str]]


def _conv(
    net: OnnxNetwork, x: str, depths: tuple[int, int], size: int, stride: int = 1, group: int = 1
) -> str:
    inside, outside = depths
    weights = net.weights(outside, inside // group, size, size), net.weights(outside)
    pads = [size // 2] * 4
    return net.add("Conv", [x, *weights], pads=pads, strides=[stride, stride], group=group)


def _relu(net: OnnxNetwork, x: str, most: float | None = None) -> str:
    if most is None:
        return net.add("Relu", [x])
    return net.add("Clip", [x, net.constant(0.0), net.constant(most)])


def _head(net: OnnxNetwork, x: str, depth: int, classes: int) -> list[str]:
    flat = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    weights = net.weights(classes, depth), net.weights(classes)
    return [net.add("Gemm", [flat, *weights], "scores", transB=1)]


def mobilenet_v2(net: OnnxNetwork, size: int = 32, width: float = 0.35) -> list[str]:
    """MobileNetV2 (Sandler et al., 2018), at 0.35 of its width and for a small image."""

    def wide(depth: int) -> int:
        return max(8, int(depth * width + 4) // 8 * 8)

    depth = wide(32)
    x = _relu(net, _conv(net, net.add_input("image", 1, 3, size, size), (3, depth), 3, 2), 6.0)
    stages = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
    for factor, channels, count, first_stride in stages:
        for number in range(count):
            inner, out = depth * factor, wide(channels)
            stride = first_stride if number == 0 else 1
            y = x if factor == 1 else _relu(net, _conv(net, x, (depth, inner), 1), 6.0)
            y = _relu(net, _conv(net, y, (inner, inner), 3, stride, inner), 6.0)
            y = _conv(net, y, (inner, out), 1)
            x = net.add("Add", [x, y]) if stride == 1 and depth == out else y
            depth = out
    return _head(net, _relu(net, _conv(net, x, (depth, 1280), 1), 6.0), 1280, 100)


def ds_cnn(net: OnnxNetwork) -> list[str]:
    """DS-CNN for keywords (Zhang et al., 2017), the small one, as MLPerf Tiny has it."""
    x = net.add_input("features", 1, 1, 49, 10)
    weights = net.weights(64, 1, 10, 4), net.weights(64)
    x = _relu(net, net.add("Conv", [x, *weights], pads=[4, 1, 5, 1], strides=[2, 2]))
    for _ in range(4):
        x = _relu(net, _conv(net, x, (64, 64), 3, 1, 64))
        x = _relu(net, _conv(net, x, (64, 64), 1))
    (scores,) = _head(net, x, 64, 12)
    return [net.add("Softmax", [scores], "probabilities")]


def resnet_8(net: OnnxNetwork) -> list[str]:
    """ResNet-8 for CIFAR-10, as MLPerf Tiny has it."""
    x = _relu(net, _conv(net, net.add_input("image", 1, 3, 32, 32), (3, 16), 3))
    for depth, out, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        y = _relu(net, _conv(net, x, (depth, out), 3, stride))
        y = _conv(net, y, (out, out), 3)
        kept = x if stride == 1 else _conv(net, x, (depth, out), 1, stride)
        x = _relu(net, net.add("Add", [kept, y]))
    return _head(net, x, 64, 10)


def autoencoder(net: OnnxNetwork) -> list[str]:
    """The deep autoencoder for anomalies in sound, as MLPerf Tiny has it."""
    x = net.add_input("frames", 1, 640)
    sizes = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128, 640]
    for number, (inside, outside) in enumerate(pairwise(sizes)):
        weights = net.weights(outside, inside), net.weights(outside)
        x = net.add("Gemm", [x, *weights], transB=1)
        if number < len(sizes) - 2:
            x = _relu(net, x)
    return [x]


def transformer(net: OnnxNetwork, tokens: int = 16, width: int = 32, heads: int = 4) -> list[str]:
    """One encoder block of a transformer (Vaswani et al., 2017) with GELU, norms first."""

    def dense(x: str, inside: int, outside: int) -> str:
        weights = net.constant(net.random.standard_normal((inside, outside)) * inside**-0.5)
        return net.add("Add", [net.add("MatMul", [x, weights]), net.weights(outside)])

    def norm(x: str) -> str:
        gain = net.constant(net.random.random(width) + 0.5)
        return net.add("LayerNormalization", [x, gain, net.weights(width)])

    def split(x: str, order: list[int]) -> str:
        shape = net.constant([1, tokens, heads, width // heads], np.int64)
        return net.add("Transpose", [net.add("Reshape", [x, shape])], perm=order)

    x = net.add_input("tokens", 1, tokens, width)
    y = norm(x)
    query, value = (split(dense(y, width, width), [0, 2, 1, 3]) for _ in range(2))
    key = split(dense(y, width, width), [0, 2, 3, 1])
    scores = net.add("Mul", [net.add("MatMul", [query, key]), net.constant((heads / width) ** 0.5)])
    mixed = net.add("MatMul", [net.add("Softmax", [scores]), value])
    joined = net.add("Transpose", [mixed], perm=[0, 2, 1, 3])
    joined = net.add("Reshape", [joined, net.constant([1, tokens, width], np.int64)])
    x = net.add("Add", [x, dense(joined, width, width)])
    inner = net.add("Gelu", [dense(norm(x), width, 4 * width)])
    return [net.add("Add", [x, dense(inner, 4 * width, width)], "encoded")]


def lstm(net: OnnxNetwork, steps: int = 8, depth: int = 10, hidden: int = 16) -> list[str]:
    """An LSTM over a sequence and a classifier, the recurrent part by ONNX's operator."""
    x = net.add_input("sequence", steps, 1, depth)
    weights = [net.weights(1, 4 * hidden, depth), net.weights(1, 4 * hidden, hidden)]
    net.add_node("LSTM", [x, *weights, net.weights(1, 8 * hidden)], ["all", "last"],
                 hidden_size=hidden)  # fmt: skip
    flat = net.add("Reshape", ["last", net.constant([1, hidden], np.int64)])
    return [net.add("Gemm", [flat, net.weights(5, hidden), net.weights(5)], "scores", transB=1)]


def lstm_unrolled(net: OnnxNetwork, steps: int = 8, depth: int = 10, hidden: int = 16) -> list[str]:
    """An LSTM like the above, from plain operators for each step, and a classifier."""
    x = net.add_input("sequence", steps, depth)
    sizes = net.constant([1] * steps, np.int64)
    parts = [f"step_{index}" for index in range(steps)]
    net.add_node("Split", [x, sizes], parts, axis=0)
    weights = {gate: (net.weights(hidden, depth), net.weights(hidden, hidden)) for gate in "ifgo"}
    biases = {gate: net.weights(hidden) for gate in "ifgo"}
    state, cell = "", ""

    def gate(name: str, function: str, part: str) -> str:
        of_input, of_state = weights[name]
        total = net.add("Gemm", [part, of_input, biases[name]], transB=1)
        if state:
            total = net.add("Add", [total, net.add("Gemm", [state, of_state], transB=1)])
        return net.add(function, [total])

    for part in parts:
        new = net.add("Mul", [gate("i", "Sigmoid", part), gate("g", "Tanh", part)])
        if cell:
            new = net.add("Add", [new, net.add("Mul", [gate("f", "Sigmoid", part), cell])])
        out, cell = gate("o", "Sigmoid", part), new
        state = net.add("Mul", [out, net.add("Tanh", [cell])])
    return [net.add("Gemm", [state, net.weights(5, hidden), net.weights(5)], "scores", transB=1)]


def gru_cell(net: OnnxNetwork, depth: int = 10, hidden: int = 16) -> list[str]:
    """One step of a GRU from ONNX's plain operators, all of which the quantizer quantizes."""
    x, state = net.add_input("value", 1, depth), net.add_input("state", 1, hidden)

    def gate(function: str, value: str, inside: str) -> str:
        left = net.add("Gemm", [value, net.weights(hidden, depth), net.weights(hidden)], transB=1)
        right = net.add("Gemm", [inside, net.weights(hidden, hidden)], transB=1)
        return net.add(function, [net.add("Add", [left, right])])

    update, reset = gate("Sigmoid", x, state), gate("Sigmoid", x, state)
    new = gate("Tanh", x, net.add("Mul", [reset, state]))
    change = net.add("Mul", [update, net.add("Sub", [state, new])])
    return [net.add("Add", [new, change], "next")]


NETWORKS: dict[str, Build] = {
    "MobileNetV2": mobilenet_v2,
    "DS-CNN": ds_cnn,
    "ResNet-8": resnet_8,
    "autoencoder": autoencoder,
    "transformer block": transformer,
    "LSTM": lstm,
    "LSTM, unrolled": lstm_unrolled,
    "GRU cell": gru_cell,
}

_GATES = ["Gemm", "Add", "Mul", "Sigmoid", "Tanh"]
ALSO = {"GRU cell": [*_GATES, "Sub"], "LSTM, unrolled": [*_GATES, "Split"]}
"""The operators to quantize where they are more than the quantizer's own choice."""
