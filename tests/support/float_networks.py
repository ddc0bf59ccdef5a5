"""Float networks to quantize: small random ones, and the demo's, trained for a few seconds."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

EPOCHS = 12
"""Enough for 97% of the digits; the demo's 80 take half a minute."""


# ---- ONNX ----------------------------------------------------------------------------------------


class OnnxBuilder:
    """A float .onnx network under construction; methods return the name of their result."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, array: Array) -> str:
        """Add a constant."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, code: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add an operator with one output."""
        from onnx import helper

        self.nodes.append(helper.make_node(code, inputs, [output], output, **attributes))
        return output

    def conv(self, x: str, output: str, weights: Array, group: int = 1) -> str:
        """Add a convolution with SAME padding; weights are [out, in, k, k]."""
        names = [
            self.constant(f"{output}_weights", weights.astype(np.float32)),
            self.constant(f"{output}_bias", self.drawn(len(weights)) * 0.1),
        ]
        pads = [weights.shape[2] // 2] * 4
        return self.node("Conv", [x, *names], output, pads=pads, group=group)

    def drawn(self, *shape: int) -> Array:
        """Return float32 numbers with a standard deviation of 1."""
        return self.random.standard_normal(shape).astype(np.float32)

    def save(
        self,
        path: Path,
        inputs: dict[str, list[Any]],
        outputs: dict[str, list[Any]],
        opset: int = 17,
    ) -> Path:
        """Write the network; sizes may be names."""
        import onnx
        from onnx import TensorProto, helper

        ports = [
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in named]
            for named in (inputs.items(), outputs.items())
        ]
        graph = helper.make_graph(self.nodes, "network", *ports, self.constants)
        opsets = [helper.make_opsetid("", opset)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return path


def small_onnx(path: Path, batch: Any = "N") -> Path:
    """Write convolution, batch norm, ReLU, residual ADD, mean and GEMM: (batch, 3, 8, 8) to 5."""
    net = OnnxBuilder(seed=1)
    x = net.conv("image", "first", net.drawn(8, 3, 3, 3) * 0.3)
    scales = [net.constant(f"norm_{i}", np.abs(net.drawn(8)) + 0.5) for i in range(4)]
    x = net.node("BatchNormalization", [x, *scales], "norm")
    x = net.node("Relu", [x], "rectified")
    y = net.conv(x, "second", net.drawn(8, 8, 3, 3) * 0.15)
    x = net.node("Add", [x, y], "sum")
    x = net.node("GlobalAveragePool", [x], "mean")
    x = net.node("Flatten", [x], "flat")
    weights = [net.constant("w", net.drawn(5, 8) * 0.4), net.constant("b", net.drawn(5) * 0.1)]
    net.node("Gemm", [x, *weights], "scores", transB=1)
    return net.save(path, {"image": [batch, 3, 8, 8]}, {"scores": [batch, 5]})


def lopsided_onnx(path: Path) -> Path:
    """Write two convolutions between which one channel is 3,000 times as large as the others.

    One scale for all channels rounds the others away, and the second convolution needs them.
    """
    net = OnnxBuilder(seed=2)
    first, second = net.drawn(8, 3, 1, 1), net.drawn(4, 8, 1, 1)
    first[0] *= 3000
    second[:, 0] /= 3000
    x = net.conv("image", "wide", first)
    x = net.conv(x, "narrow", second)
    net.node("Relu", [x], "result")
    return net.save(path, {"image": [1, 3, 8, 8]}, {"result": [1, 4, 8, 8]})


# ---- the demo's digits ---------------------------------------------------------------------------


@functools.cache
def trained_digits(epochs: int = EPOCHS) -> Any:
    """Return the demo's trained float network, its calibration images and its held-out digits."""
    from digits import CALIBRATION, load_split
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    from train_digits import console, train

    training, held_out = load_split()
    console.quiet = True
    with threadpool_limits(1):
        layers = train(training, epochs)
    return layers, training.images[:CALIBRATION], held_out


def digits_tflite(path: Path, layers: Any, images: Array) -> Path:
    """Write the demo's float network as .tflite: the int8 one with the trained floats in it."""
    from quantize import NetworkSpec, TensorSpec, quantize_network
    from tflite_writer import write_tflite

    made = quantize_network(layers, images)
    trained = iter([p.value for layer in layers for p in layer.parameters()])

    def plain(tensor: TensorSpec) -> TensorSpec:
        if tensor.name.endswith("_shape"):
            return tensor
        data = None if tensor.data is None else next(trained).astype(np.float32)
        return replace(tensor, dtype="float32", scale=(), zero_point=(), data=data)

    tensors = list(map(plain, made.tensors))
    network = NetworkSpec(tensors, made.operators, made.inputs, made.outputs)
    path.write_bytes(write_tflite(network))
    return path


def digits_onnx(path: Path, layers: Any) -> Path:
    """Write the demo's float network as .onnx, with images in NCHW."""
    net = OnnxBuilder()
    x = "image"
    for number, layer in enumerate(layers):
        x = _add_layer(net, layer, x, f"{type(layer).__name__.lower()}_{number}")
    net.node("Softmax", [x], "digit")
    return net.save(path, {"image": ["N", 1, 8, 8]}, {"digit": ["N", 10]})


def _add_layer(net: OnnxBuilder, layer: Any, x: str, name: str) -> str:
    from convnet import Dense, Depthwise, Flatten, Pool, Residual, Weighted

    if isinstance(layer, Residual):
        y = _add_layer(net, layer.conv, x, f"{name}_conv")
        return net.node("Relu", [net.node("Add", [x, y], f"{name}_sum")], name)
    if isinstance(layer, Pool):
        code = "MaxPool" if layer.kind == "max" else "AveragePool"
        return net.node(code, [x], name, kernel_shape=[2, 2], strides=[2, 2])
    if isinstance(layer, Flatten):  # the demo's order of elements is that of NHWC
        x = net.node("Transpose", [x], f"{name}_nhwc", perm=[0, 2, 3, 1])
        return net.node("Flatten", [x], name)
    if not isinstance(layer, Weighted):
        raise TypeError(f"no ONNX operator for a {type(layer).__name__}")
    weights, bias = layer.weights.value.astype(np.float32), layer.bias.value.astype(np.float32)
    inputs = [x, f"{name}_weights", net.constant(f"{name}_bias", bias)]
    if isinstance(layer, Dense):
        net.constant(inputs[1], weights)
        return net.node("Gemm", inputs, name, transB=1)
    is_depthwise = isinstance(layer, Depthwise)
    net.constant(inputs[1], weights.transpose((3, 0, 1, 2) if is_depthwise else (0, 3, 1, 2)))
    pads = [weights.shape[1] // 2] * 4
    raw = net.node(
        "Conv",
        inputs,
        f"{name}_raw" if layer.relu else name,
        pads=pads,
        group=len(bias) if is_depthwise else 1,
    )
    return net.node("Relu", [raw], name) if layer.relu else raw
