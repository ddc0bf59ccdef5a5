# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Layers with weights: convolutions and FULLY_CONNECTED, from TFLite's reference_integer_ops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, operator
from ethosgen.aot.operators.quantization import (
    Multiplier,
    activation_range,
    clamp,
    divide,
    multiply,
    quantize_multiplier,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.operators.window import make_window
from ethosgen.errors import UnsupportedError
from ethosgen.model import ABSENT, Operator, Tensor


@operator("CONV_2D", dtypes=("int8",))
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve NHWC with weights of (output channel, row, column, input channel), in groups too."""
    layer = read_layer(op, tensors)
    source, target, shape = layer.source, layer.target, layer.weights.shape
    vertical, horizontal = make_window(op, (shape[1], shape[2]), source, target)
    depth = shape[3]
    groups = source.shape[3] // depth
    per_group = target.shape[3] // groups
    offset = zero_point_of(source)

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        bias: T.handle("int32"),
        mantissas: T.handle("int32"),
        left_shifts: T.handle("uint8"),
        right_shifts: T.handle("uint8"),
        output: T.handle("int8"),
    ):
        x = T.decl_buffer(source.shape, "int8", data=input)
        w = T.decl_buffer(shape, "int8", data=weights)
        b = T.decl_buffer((layer.channels,), "int32", data=bias)
        m = T.decl_buffer((layer.channels,), "int32", data=mantissas)
        left = T.decl_buffer((layer.channels,), "uint8", data=left_shifts)
        right = T.decl_buffer((layer.channels,), "uint8", data=right_shifts)
        y = T.decl_buffer(target.shape, "int8", data=output)
        total = T.alloc_buffer((1,), "int32")
        for n, oy, ox, oc in T.grid(*target.shape):
            rows = T.meta_var(vertical.inside(oy))
            columns = T.meta_var(horizontal.inside(ox))
            total[0] = layer.bias(b, oc)
            for dy in T.serial(rows[0], rows[1]):
                for dx in T.serial(columns[0], columns[1]):
                    for ic in T.serial(depth):
                        iy = T.meta_var(vertical.position(oy, dy))
                        ix = T.meta_var(horizontal.position(ox, dx))
                        group = T.meta_var(T.truncdiv(oc, per_group) if groups > 1 else 0)
                        value = T.meta_var(
                            T.cast(x[n, iy, ix, group * depth + ic], "int32") - offset
                        )
                        total[0] += T.cast(w[oc, dy, dx, ic], "int32") * value
            product: T.let[T.int32] = layer.product(total[0], m, left, oc)
            y[n, oy, ox, oc] = layer.output(product, right, oc)

    return layer.kernel(function)


@operator("DEPTHWISE_CONV_2D", dtypes=("int8",))
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve each channel of NHWC by itself, with weights of (1, row, column, output channel)."""
    layer = read_layer(op, tensors)
    source, target, shape = layer.source, layer.target, layer.weights.shape
    vertical, horizontal = make_window(op, (shape[1], shape[2]), source, target)
    per_input = layer.channels // source.shape[3]
    offset = zero_point_of(source)

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        bias: T.handle("int32"),
        mantissas: T.handle("int32"),
        left_shifts: T.handle("uint8"),
        right_shifts: T.handle("uint8"),
        output: T.handle("int8"),
    ):
        x = T.decl_buffer(source.shape, "int8", data=input)
        w = T.decl_buffer(shape, "int8", data=weights)
        b = T.decl_buffer((layer.channels,), "int32", data=bias)
        m = T.decl_buffer((layer.channels,), "int32", data=mantissas)
        left = T.decl_buffer((layer.channels,), "uint8", data=left_shifts)
        right = T.decl_buffer((layer.channels,), "uint8", data=right_shifts)
        y = T.decl_buffer(target.shape, "int8", data=output)
        total = T.alloc_buffer((1,), "int32")
        for n, oy, ox, oc in T.grid(*target.shape):
            rows = T.meta_var(vertical.inside(oy))
            columns = T.meta_var(horizontal.inside(ox))
            total[0] = layer.bias(b, oc)
            for dy in T.serial(rows[0], rows[1]):
                for dx in T.serial(columns[0], columns[1]):
                    iy = T.meta_var(vertical.position(oy, dy))
                    ix = T.meta_var(horizontal.position(ox, dx))
                    ic = T.meta_var(T.truncdiv(oc, per_input))
                    value = T.meta_var(T.cast(x[n, iy, ix, ic], "int32") - offset)
                    total[0] += T.cast(w[0, dy, dx, oc], "int32") * value
            product: T.let[T.int32] = layer.product(total[0], m, left, oc)
            y[n, oy, ox, oc] = layer.output(product, right, oc)

    return layer.kernel(function)


@operator("FULLY_CONNECTED", dtypes=("int8",))
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply rows of the input by weights of (output channel, input channel)."""
    layer = read_layer(op, tensors)
    channels, depth = layer.weights.shape[-2:]
    batches = layer.target.elements // channels
    offset = zero_point_of(layer.source)

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        bias: T.handle("int32"),
        mantissas: T.handle("int32"),
        left_shifts: T.handle("uint8"),
        right_shifts: T.handle("uint8"),
        output: T.handle("int8"),
    ):
        x = T.decl_buffer((batches, depth), "int8", data=input)
        w = T.decl_buffer((channels, depth), "int8", data=weights)
        b = T.decl_buffer((channels,), "int32", data=bias)
        m = T.decl_buffer((channels,), "int32", data=mantissas)
        left = T.decl_buffer((channels,), "uint8", data=left_shifts)
        right = T.decl_buffer((channels,), "uint8", data=right_shifts)
        y = T.decl_buffer((batches, channels), "int8", data=output)
        total = T.alloc_buffer((1,), "int32")
        for n, oc in T.grid(batches, channels):
            total[0] = layer.bias(b, oc)
            for ic in T.serial(depth):
                value = T.meta_var(T.cast(x[n, ic], "int32") - offset)
                total[0] += T.cast(w[oc, ic], "int32") * value
            product: T.let[T.int32] = layer.product(total[0], m, left, oc)
            y[n, oc] = layer.output(product, right, oc)

    return layer.kernel(function)


@dataclass(frozen=True)
class Layer:
    """What the three have in common: bias, scales by channel, and bounds of the output.

    `multipliers` has one entry for all channels or one for each.
    """

    source: Tensor
    weights: Tensor
    target: Tensor
    biases: Tensor | None
    multipliers: tuple[Multiplier, ...]
    bounds: tuple[int, int]

    @property
    def channels(self) -> int:
        """Number of output channels."""
        return self.target.shape[-1]

    def bias(self, buffer: Any, channel: Any) -> Any:
        """Return what the sum of a channel begins with."""
        return tirx.const(0, "int32") if self.biases is None else buffer[channel]

    def product(self, total: Any, mantissas: Any, left_shifts: Any, channel: Any) -> Any:
        """Return a channel's sum times the mantissa of its multiplier."""
        if len(self.multipliers) == 1:
            return multiply(total, self.multipliers[0])
        if any(multiplier.shift > 0 for multiplier in self.multipliers):
            left = tirx.Cast("int32", left_shifts[channel])
            total = total * (tirx.const(1, "int32") << left)
        return saturating_rounding_doubling_high_mul(total, mantissas[channel])

    def output(self, product: Any, right_shifts: Any, channel: Any) -> Any:
        """Return the int8 output for a product."""
        if len(self.multipliers) == 1:
            scaled = divide(product, self.multipliers[0])
        else:
            right = tirx.Cast("int32", right_shifts[channel])
            scaled = rounding_divide_by_pot(product, right)
        return tirx.Cast("int8", clamp(scaled + zero_point_of(self.target), *self.bounds))

    def kernel(self, function: Any) -> Kernel:
        """Return the kernel; what the function does not use of its parameters is dropped later."""
        inputs = [self.source.index, self.weights.index]
        constants: list[np.ndarray[Any, Any]] = [
            np.array([m.mantissa for m in self.multipliers], np.int32),
            np.array([max(m.shift, 0) for m in self.multipliers], np.uint8),
            np.array([max(-m.shift, 0) for m in self.multipliers], np.uint8),
        ]
        if self.biases is None:
            constants.insert(0, np.zeros(1, np.int32))
        else:
            inputs.append(self.biases.index)
        return Kernel(function, tuple(inputs), tuple(constants))


def read_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer:
    """Return what an operator with weights has; UnsupportedError if it is not int8 as TFLite's."""
    scales = _dense_multipliers if op.code == "FULLY_CONNECTED" else _multipliers
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    has_bias = len(op.inputs) > 2 and op.inputs[2] != ABSENT
    biases = tensors[op.inputs[2]] if has_bias else None
    if weights.dtype != "int8" or (biases and biases.dtype != "int32") or target.dtype != "int8":
        raise UnsupportedError("only int8 weights and output and an int32 bias are covered")
    if weights.quantization is None:
        raise UnsupportedError(f"the weights '{weights.name}' have no scale")
    if any(weights.quantization.zero_point):
        raise UnsupportedError(f"the weights '{weights.name}' have a zero point other than 0")
    multipliers = scales(source, weights, target)
    if len(multipliers) not in (1, target.shape[-1]):
        raise UnsupportedError(f"the scales of '{weights.name}' do not run along its channels")
    return Layer(source, weights, target, biases, multipliers, activation_range(op, target))


def _multipliers(source: Tensor, weights: Tensor, target: Tensor) -> tuple[Multiplier, ...]:
    """Return input scale * weight scale / output scale (PopulateConvolutionQuantizationParams)."""
    scales = weights.quantization.scale if weights.quantization else ()
    return tuple(
        quantize_multiplier(scale_of(source) * scale / scale_of(target)) for scale in scales
    )


def _dense_multipliers(source: Tensor, weights: Tensor, target: Tensor) -> tuple[Multiplier, ...]:
    """Return the same, but with one scale the product is rounded to a single float.

    TFLite does so for FULLY_CONNECTED only (GetQuantizedConvolutionMultipler).
    """
    scales = weights.quantization.scale if weights.quantization else ()
    if len(scales) > 1:
        return _multipliers(source, weights, target)
    product = float(np.float32(scale_of(source)) * np.float32(scales[0]))
    return (quantize_multiplier(product / scale_of(target)),)
