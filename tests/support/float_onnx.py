"""Float .onnx networks to quantize: small random ones, and the demo's digits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.support.onnx_networks import OnnxNetwork

Array = np.ndarray[Any, Any]


def drawn(net: OnnxNetwork, *shape: int) -> Array:
    """Return float32 numbers with a standard deviation of 1."""
    return net.random.standard_normal(shape).astype(np.float32)


def add_conv(net: OnnxNetwork, x: str, output: str, weights: Array) -> str:
    """Add a convolution with SAME padding; weights are [out, in, k, k]."""
    bias = drawn(net, len(weights)) * 0.1
    inputs = [x, net.constant(weights, name=f"{output}_weights")]
    inputs.append(net.constant(bias, name=f"{output}_bias"))
    return net.add("Conv", inputs, output, pads=[weights.shape[2] // 2] * 4)


def write(net: OnnxNetwork, path: Path, outputs: Sequence[str], opset: int = 17) -> Path:
    """Write a network."""
    onnx.save(net.model(outputs, opset), path)
    return path


def small_onnx(path: Path, batch: Any = "N") -> Path:
    """Write convolution, batch norm, ReLU, residual ADD, mean and GEMM: (batch, 3, 8, 8) to 5."""
    net = OnnxNetwork(1)
    image = net.add_input("image", batch, 3, 8, 8)
    x = add_conv(net, image, "first", drawn(net, 8, 3, 3, 3) * 0.3)
    scales = [net.constant(np.abs(drawn(net, 8)) + 0.5, name=f"norm_{i}") for i in range(4)]
    x = net.add("BatchNormalization", [x, *scales], "norm")
    x = net.add("Relu", [x], "rectified")
    y = add_conv(net, x, "second", drawn(net, 8, 8, 3, 3) * 0.15)
    x = net.add("Add", [x, y], "sum")
    x = net.add("GlobalAveragePool", [x], "mean")
    x = net.add("Flatten", [x], "flat")
    weights = net.constant(drawn(net, 5, 8) * 0.4, name="w")
    bias = net.constant(drawn(net, 5) * 0.1, name="b")
    net.add("Gemm", [x, weights, bias], "scores", transB=1)
    return write(net, path, ["scores"])


def lopsided_onnx(path: Path) -> Path:
    """Write two convolutions between which one channel is 3,000 times as large as the others.

    One scale for all channels rounds the others away, and the second convolution needs them.
    """
    net = OnnxNetwork(2)
    first, second = drawn(net, 8, 3, 1, 1), drawn(net, 4, 8, 1, 1)
    first[0] *= 3000
    second[:, 0] /= 3000
    x = add_conv(net, net.add_input("image", 1, 3, 8, 8), "wide", first)
    x = add_conv(net, x, "narrow", second)
    net.add("Relu", [x], "result")
    return write(net, path, ["result"])


def digits_onnx(path: Path, layers: Any) -> Path:
    """Write the demo's float network as .onnx, with images in NCHW."""
    net = OnnxNetwork()
    x = net.add_input("image", "N", 1, 8, 8)
    for number, layer in enumerate(layers):
        x = _add_layer(net, layer, x, f"{type(layer).__name__.lower()}_{number}")
    net.add("Softmax", [x], "digit")
    return write(net, path, ["digit"])


def _add_layer(net: OnnxNetwork, layer: Any, x: str, name: str) -> str:
    from convnet import Dense, Depthwise, Flatten, Pool, Residual, Weighted

    if isinstance(layer, Residual):
        y = _add_layer(net, layer.conv, x, f"{name}_conv")
        return net.add("Relu", [net.add("Add", [x, y], f"{name}_sum")], name)
    if isinstance(layer, Pool):
        code = "MaxPool" if layer.kind == "max" else "AveragePool"
        return net.add(code, [x], name, kernel_shape=[2, 2], strides=[2, 2])
    if isinstance(layer, Flatten):  # the demo's order of elements is that of NHWC
        x = net.add("Transpose", [x], f"{name}_nhwc", perm=[0, 2, 3, 1])
        return net.add("Flatten", [x], name)
    if not isinstance(layer, Weighted):
        raise TypeError(f"no ONNX operator for a {type(layer).__name__}")
    weights, bias = layer.weights.value.astype(np.float32), layer.bias.value.astype(np.float32)
    inputs = [x, f"{name}_weights", net.constant(bias, name=f"{name}_bias")]
    if isinstance(layer, Dense):
        net.constant(weights, name=inputs[1])
        return net.add("Gemm", inputs, name, transB=1)
    is_depthwise = isinstance(layer, Depthwise)
    order = (3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2)
    net.constant(weights.transpose(order), name=inputs[1])
    pads = [weights.shape[1] // 2] * 4
    raw = net.add(
        "Conv",
        inputs,
        f"{name}_raw" if layer.relu else name,
        pads=pads,
        group=len(bias) if is_depthwise else 1,
    )
    return net.add("Relu", [raw], name) if layer.relu else raw


def lopsided_classifier(path: Path, bias: Array | None = None, ratio: float = 300) -> Path:
    """Write a classifier of (1, 3, 8, 8) that needs what int8 rounds away between two layers.

    One channel of `wide` is `ratio` times as large as the others, and `narrow` needs only those;
    before and behind them are harmless layers.
    """
    net = OnnxNetwork(4)
    x = add_conv(net, net.add_input("image", 1, 3, 8, 8), "before", drawn(net, 6, 3, 3, 3) * 0.3)
    first, second = drawn(net, 8, 6, 1, 1), drawn(net, 8, 8, 1, 1)
    first[0] *= ratio
    second[:, 0] = 0
    x = add_conv(net, add_conv(net, x, "wide", first), "narrow", second)
    x = net.add("Relu", [x], "rectified")
    x = add_conv(net, x, "behind", drawn(net, 6, 8, 3, 3) * 0.2)
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x], "mean")], "flat")
    constant = np.zeros(6, np.float32) if bias is None else bias
    inputs = [x, net.constant(drawn(net, 6, 6), name="w"), net.constant(constant, name="b")]
    net.add("Gemm", inputs, "scores", transB=1)
    return write(net, path, ["scores"])
