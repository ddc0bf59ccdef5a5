"""Post-training quantization of the demo networks, by TFLite's rules.

Activations are int8, asymmetric, with one scale for each tensor from its range in calibration.
Weights are int8 in -127..127, symmetric, with one scale for each output channel (one for the whole
matrix of a fully connected layer). A bias is int32 at the product of both scales. Pools and
reshapes keep their input's scale. SOFTMAX's output is fixed at 1/256, zero point -128. Source:
TFLite's "8-bit quantization specification".
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from convnet import Array, Conv, Dense, Depthwise, Layer, Pool, Reshape, Residual, Weighted


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of the file: `data` is None unless it is a constant."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: tuple[float, ...] = ()
    zero_point: tuple[int, ...] = ()
    axis: int = 0
    data: Array | None = field(default=None, repr=False)


@dataclass(frozen=True)
class OperatorSpec:
    """An operator of the file: builtin code, tensor indices, options by the dialect's names."""

    code: str
    inputs: tuple[int, ...]
    output: int
    options: dict[str, Any]


@dataclass
class NetworkSpec:
    """The content of a .tflite: tensors and operators in order."""

    tensors: list[TensorSpec] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def add(self, tensor: TensorSpec) -> int:
        """Append a tensor and return its index."""
        self.tensors.append(tensor)
        return len(self.tensors) - 1


def quantize_network(
    layers: list[Layer],
    calibration: Array,
    source: TensorSpec | None = None,
    output: str | None = "digit",
    name: str = "image",
) -> NetworkSpec:
    """Return the int8 network.

    `calibration` is float32 [n, ...], for the digits [n, 8, 8, 1] in 0..1. `source` is the input if
    its quantization is given, else `name` is its name. `output` is the name of the SOFTMAX at the
    end; with None there is none.
    """
    network = NetworkSpec()
    quantizer = Quantizer(network)
    current = network.add(source or activation(name, calibration))
    network.inputs = (current,)
    x = calibration
    for number, layer in enumerate(layers):
        own = f"{type(layer).__name__.lower()}_{number}"
        y = layer.forward(x)
        current = quantizer.add(layer, own, current, x, y)
        x = y
    if output is None:
        network.outputs = (current,)
        return network
    probabilities = TensorSpec(output, network.tensors[current].shape, "int8", (1 / 256,), (-128,))
    quantizer.operator("SOFTMAX", (current,), probabilities, {"beta": 1.0})
    network.outputs = (len(network.tensors) - 1,)
    return network


class Quantizer:
    """Converts layers, one after another, to operators of `network`."""

    def __init__(self, network: NetworkSpec) -> None:
        self.network = network

    def add(self, layer: Layer, name: str, source: int, x: Array, y: Array) -> int:
        """Append the operators of one layer; x and y are its calibrated input and output."""
        if isinstance(layer, Residual):
            inner = self.add(layer.conv, f"{name}_conv", source, x, layer.conv.forward(x))
            relu = {"fused_activation_function": "RELU"}
            return self.operator("ADD", (source, inner), activation(name, y), relu)
        if isinstance(layer, Weighted):
            return self._weighted(layer, name, source, y)
        here = self.network.tensors[source]
        kept = TensorSpec(name, (1, *y.shape[1:]), "int8", here.scale, here.zero_point)
        if isinstance(layer, Pool):
            code = "MAX_POOL_2D" if layer.kind == "max" else "AVERAGE_POOL_2D"
            rows, columns = layer.cell
            cell = {"filter_height": rows, "filter_width": columns}
            stride = {"stride_h": rows, "stride_w": columns}
            return self.operator(code, (source,), kept, {**cell, **stride, "padding": "VALID"})
        if isinstance(layer, Reshape):
            shape = constant(f"{name}_shape", np.array(kept.shape, np.int32), np.empty(0), 0)
            return self.operator("RESHAPE", (source, self.network.add(shape)), kept, {})
        raise TypeError(f"no rule quantizes a {type(layer).__name__}")

    def operator(
        self,
        code: str,
        inputs: tuple[int, ...],
        output: TensorSpec,
        options: dict[str, Any],
    ) -> int:
        """Append one operator and its output; return the output's index."""
        index = self.network.add(output)
        self.network.operators.append(OperatorSpec(code, inputs, index, options))
        return index

    def _weighted(self, layer: Weighted, name: str, source: int, y: Array) -> int:
        weights, bias = self._constants(layer, name, source)
        inputs = (source, weights, bias)
        output = activation(name, y)
        options: dict[str, Any] = {"fused_activation_function": "RELU" if layer.relu else "NONE"}
        if isinstance(layer, Dense):
            return self.operator("FULLY_CONNECTED", inputs, output, options)
        options |= {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
        if isinstance(layer, Depthwise):
            options["depth_multiplier"] = 1
            return self.operator("DEPTHWISE_CONV_2D", inputs, output, options)
        return self.operator("CONV_2D", inputs, output, options)

    def _constants(self, layer: Weighted, name: str, source: int) -> tuple[int, int]:
        values = layer.weights.value.astype(np.float64)
        axis = {Conv: 0, Depthwise: 3}.get(type(layer))
        others = None if axis is None else tuple(i for i in range(values.ndim) if i != axis)
        scale = np.abs(values).max(axis=others, keepdims=True) / 127
        scale = np.where(scale == 0, 1.0, scale).astype(np.float32).astype(np.float64)
        quantized = np.clip(np.rint(values / scale), -127, 127).astype(np.int8)
        bias_scale = scale.reshape(-1) * self.network.tensors[source].scale[0]
        bias = np.rint(layer.bias.value / bias_scale).astype(np.int32)
        return (
            self.network.add(constant(f"{name}_weights", quantized, scale.reshape(-1), axis or 0)),
            self.network.add(constant(f"{name}_bias", bias, bias_scale, 0)),
        )


def activation(name: str, values: Array) -> TensorSpec:
    """Return an int8 tensor for one sample of `values`, scaled to their range."""
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    scale = float(np.float32((high - low) / 255))
    zero_point = int(np.clip(np.rint(-128 - low / scale), -128, 127))
    return TensorSpec(name, (1, *values.shape[1:]), "int8", (scale,), (zero_point,))


def constant(name: str, data: Array, scale: Array, axis: int) -> TensorSpec:
    """Return a constant tensor; its zero points are 0."""
    scales = tuple(float(s) for s in scale)
    return TensorSpec(name, data.shape, str(data.dtype), scales, (0,) * len(scales), axis, data)
