"""Small quantized networks, built in a test through TFLite's flatbuffer schema.

    net = NetworkBuilder("two_layers", seed=1)
    x = net.input((1, 8, 8, 4))
    x = net.conv2d(x, channels=8, kernel=(3, 3), activation="RELU")
    x = net.average_pool(x, (2, 2), (2, 2))
    data = net.build()              # or net.build(x, y) to choose the outputs

Every method returns the index of the tensor that it adds. Weights are random from the network's
seed, and the output scale of a layer is chosen so that most values neither saturate nor vanish;
`scale=` and `zero_point=` override it. `apply` adds what has no method of its own, and `operator`
what no rule of `catalogue.results` describes.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.catalogue import results
from tests.support.catalogue.results import window
from tests.support.network_file import Layout, OperatorSpec, write
from tests.support.network_file import Spec as Spec  # noqa: PLC0414 - exported

Array = np.ndarray[Any, Any]
Pair = tuple[int, int]

WEIGHTED = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""The axis of the weights for an operator's scales."""

_FIELDS = ("dtype", "scale", "zero_point", "name")


class NetworkBuilder:
    """One network under construction; see the module's docstring."""

    def __init__(self, name: str = "network", seed: int = 0) -> None:
        self.name = name
        self.random = np.random.default_rng(seed)
        self.tensors: list[Spec] = []
        self.operators: list[OperatorSpec] = []
        self.inputs: list[int] = []
        self.metadata: dict[str, bytes] = {}
        self.others: list[Layout] = []
        self.unsigned_weights_point = 128
        """The zero point of the weights in uint8 layers."""

    # ---- tensors -------------------------------------------------------------------------------

    def tensor(self, spec: Spec) -> int:
        """Add a tensor."""
        self.tensors.append(spec)
        return len(self.tensors) - 1

    def input(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | None = 0.05,
        zero_point: int | None = None,
        name: str | None = None,
    ) -> int:
        """Add an input of the network; the zero point is 3 for int8, 0 if TFLite requires 0."""
        point = _default_zero_point(dtype) if zero_point is None else zero_point
        index = self.tensor(
            Spec(tuple(shape), dtype, scale, point, name=name or self._next("input"))
        )
        self.inputs.append(index)
        return index

    def constant(
        self,
        values: Array | Sequence[Any],
        dtype: str | None = None,
        scale: float | tuple[float, ...] | None = None,
        zero_point: int | tuple[int, ...] = 0,
        axis: int = 0,
        name: str | None = None,
    ) -> int:
        """Add a constant; `scale` as a tuple is per channel along `axis`."""
        array = np.ascontiguousarray(values, dtype) if dtype else np.ascontiguousarray(values)
        shape = np.shape(values)  # ascontiguousarray makes a scalar one-dimensional
        spec = Spec(shape, str(array.dtype), scale, zero_point, axis, name, array.tobytes())
        return self.tensor(spec)

    def integers(self, values: Any, stem: str = "") -> int:
        """Add a constant of int32 for parameters."""
        return self.constant(np.array(values), "int32", name=self._next(stem) if stem else None)

    def variable(self, spec: Spec) -> int:
        """Add a state tensor (SVDF, LSTM), which TFLite keeps between calls."""
        return self.tensor(dataclasses.replace(spec, is_variable=True))

    def random_integers(self, shape: Sequence[int], dtype: str = "int8") -> Array:
        """Return full-range integers, without the most negative one, as TFLite's converter does."""
        info = np.iinfo(dtype)
        low = info.min + 1 if info.min < 0 else 0
        return self.random.integers(low, info.max, tuple(shape), np.int64, endpoint=True).astype(
            dtype
        )

    # ---- the generic operator ------------------------------------------------------------------

    def operator(
        self,
        code: str,
        inputs: Sequence[int],
        outputs: Sequence[Spec],
        options: Mapping[str, Any] | None = None,
        *,
        custom_code: str | None = None,
        custom_options: bytes = b"",
        version: int = 1,
        intermediates: Sequence[int] = (),
    ) -> tuple[int, ...]:
        """Add an operator by TFLite's name and return its outputs.

        `options` has the schema's field names in snake case (stride_w); activations, paddings and
        dtypes are given by name. -1 in `inputs` is an optional input that is absent.
        """
        indices = tuple(
            self.tensor(dataclasses.replace(spec, name=spec.name or self._next(code.lower())))
            for spec in outputs
        )
        self.operators.append(OperatorSpec(
            code, tuple(inputs), indices, dict(options or {}), custom_code, custom_options, version,
            tuple(intermediates),
        ))  # fmt: skip
        return indices

    def apply(self, code: str, *operands: int | Array | Sequence[Any], **more: Any) -> int:
        """Add an operator and return its first output; see `apply_all`."""
        return self.apply_all(code, *operands, **more)[0]

    def apply_all(
        self, code: str, *operands: int | Array | Sequence[Any], **more: Any
    ) -> tuple[int, ...]:
        """Add an operator whose outputs have the shapes, types and quantization that follow.

        An operand is a tensor's index, or the integers of a constant. In `more`, dtype, scale,
        zero_point and name describe the output, version is the operator's; the rest are options.
        """
        inputs = [x if isinstance(x, int) else self.integers(x) for x in operands]
        specs = [self.tensors[i] for i in inputs if i >= 0]
        fields = {key: more.pop(key) for key in _FIELDS if key in more}
        version = more.pop("version", 1)
        plain = results.plain_type(code, more)
        if plain:
            fields = {"dtype": plain, "scale": None, "zero_point": 0} | fields
        source = inputs[results.data_operand(code)]
        shapes = results.shapes(code, specs, more)
        outputs = [self.like(source, shape, **fields) for shape in shapes]
        return self.operator(code, inputs, outputs, more, version=version)

    def _next(self, stem: str) -> str:
        return f"{stem}_{len(self.tensors)}"

    def like(self, x: int, shape: Sequence[int] | None = None, **changes: Any) -> Spec:
        """Describe a tensor with x's dtype and quantization."""
        source = self.tensors[x]
        clean = Spec(source.shape, source.dtype, source.scale, source.zero_point)
        return dataclasses.replace(
            clean, shape=tuple(source.shape if shape is None else shape), **changes
        )

    def _scaled(self, x: int, shape: Sequence[int], gain: float, changes: dict[str, Any]) -> Spec:
        """Describe a tensor with x's dtype, whose real values are about `gain` times as large."""
        source = self.tensors[x]
        if source.scale is None:
            return self.like(x, shape, **changes)
        defaults = {
            "scale": _first(source.scale) * gain,
            "zero_point": _default_zero_point(source.dtype, -5),
        }
        return self.like(x, shape, **(defaults | changes))

    # ---- layers with weights -------------------------------------------------------------------

    def conv2d(
        self,
        x: int,
        channels: int,
        kernel: Pair = (3, 3),
        stride: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
        dilation: Pair = (1, 1),
        bias: bool = True,
        per_channel: bool = True,
        groups: int = 1,
        **output: Any,
    ) -> int:
        """Add CONV_2D over NHWC; kernel, stride and dilation are (height, width)."""
        batch, height, width, depth = self.tensors[x].shape
        weights = self._weights(x, (channels, *kernel, depth // groups))
        rows, columns = window((height, width), kernel, stride, padding, dilation)
        return self._weighted(
            "CONV_2D", x, weights, (batch, rows, columns, channels), channels, bias, per_channel,
            _conv_options(stride, padding, activation, dilation), output,
        )  # fmt: skip

    def depthwise(
        self,
        x: int,
        kernel: Pair = (3, 3),
        stride: Pair = (1, 1),
        padding: str = "SAME",
        activation: str = "NONE",
        dilation: Pair = (1, 1),
        multiplier: int = 1,
        bias: bool = True,
        per_channel: bool = True,
        **output: Any,
    ) -> int:
        """Add DEPTHWISE_CONV_2D over NHWC."""
        batch, height, width, depth = self.tensors[x].shape
        channels = depth * multiplier
        weights = self._weights(x, (1, *kernel, channels))
        rows, columns = window((height, width), kernel, stride, padding, dilation)
        options = _conv_options(stride, padding, activation, dilation)
        options["depth_multiplier"] = multiplier
        return self._weighted(
            "DEPTHWISE_CONV_2D", x, weights, (batch, rows, columns, channels), channels, bias,
            per_channel, options, output,
        )  # fmt: skip

    def fully_connected(
        self,
        x: int,
        units: int,
        activation: str = "NONE",
        bias: bool = True,
        per_channel: bool = False,
        keep_num_dims: bool = False,
        **output: Any,
    ) -> int:
        """Add FULLY_CONNECTED over the last dimension (all but the first, unless keep_num_dims)."""
        shape = self.tensors[x].shape
        depth = shape[-1] if keep_num_dims else math.prod(shape[1:])
        weights = self._weights(x, (units, depth))
        out_shape = (*shape[:-1], units) if keep_num_dims else (shape[0], units)
        options = {"fused_activation_function": activation, "keep_num_dims": keep_num_dims}
        return self._weighted(
            "FULLY_CONNECTED", x, weights, out_shape, units, bias, per_channel, options, output
        )

    def _weights(self, x: int, shape: Sequence[int]) -> Array:
        """Draw the weights of a layer over x: floats for floats, else integers of 8 bits."""
        dtype = self.tensors[x].dtype
        if dtype == "float32":
            return self.random.normal(size=tuple(shape)).astype(np.float32)
        return self.random_integers(shape, "uint8" if dtype == "uint8" else "int8")

    def _weighted(
        self,
        code: str,
        x: int,
        weights: Array,
        out_shape: Sequence[int],
        channels: int,
        bias: bool,
        per_channel: bool,
        options: Mapping[str, Any],
        output: dict[str, Any],
    ) -> int:
        """Add weights, bias and the operator; see `output` in `_scaled`."""
        source = self.tensors[x]
        if source.dtype == "float32":
            parts = [x, self.constant(weights, name=self._next("weights"))]
            if bias:
                parts.append(self.constant(self.random.normal(size=channels), source.dtype))
            return self.operator(code, parts, [self.like(x, out_shape, **output)], options)[0]
        in_scale = _first(source.scale)
        count = channels if per_channel else 1
        scales = tuple(float(np.float32(s)) for s in self.random.uniform(0.004, 0.008, count))
        point = self.unsigned_weights_point if weights.dtype == np.uint8 else 0
        w = self.constant(
            weights, None, scales, (point,) * count, WEIGHTED[code], self._next("weights")
        )
        inputs = [x, w]
        if bias:
            values = self.random.integers(-2000, 2000, channels)
            bias_scales = tuple(float(np.float32(in_scale * s)) for s in scales)
            dtype = "int64" if source.dtype == "int16" else "int32"
            inputs.append(
                self.constant(values, dtype, bias_scales, (0,) * count, 0, self._next("bias"))
            )
        taps = weights.size // channels
        gain = math.sqrt(taps) * 73 * 0.006 * 1.5
        (out,) = self.operator(code, inputs, [self._scaled(x, out_shape, gain, output)], options)
        return out

    # ---- pools, reductions, activations --------------------------------------------------------

    def average_pool(self, x: int, kernel: Pair, stride: Pair | None = None, **more: Any) -> int:
        """Add AVERAGE_POOL_2D; `padding=` and `activation=` as for conv2d."""
        return self._pool("AVERAGE_POOL_2D", x, kernel, stride or kernel, **more)

    def max_pool(self, x: int, kernel: Pair, stride: Pair | None = None, **more: Any) -> int:
        """Add MAX_POOL_2D; `padding=` and `activation=` as for conv2d."""
        return self._pool("MAX_POOL_2D", x, kernel, stride or kernel, **more)

    def _pool(
        self,
        code: str,
        x: int,
        kernel: Pair,
        stride: Pair,
        padding: str = "VALID",
        activation: str = "NONE",
        **output: Any,
    ) -> int:
        (height, width), (rows, columns) = kernel, stride
        return self.apply(
            code, x, padding=padding, stride_h=rows, stride_w=columns, filter_height=height,
            filter_width=width, fused_activation_function=activation, **output,
        )  # fmt: skip

    def mean(
        self, x: int, axes: Sequence[int] = (1, 2), keep_dims: bool = True, **output: Any
    ) -> int:
        """Add MEAN over `axes`."""
        return self.apply("MEAN", x, self.integers(axes, "axes"), keep_dims=keep_dims, **output)

    def unary(
        self, code: str, x: int, options: Mapping[str, Any] | None = None, **output: Any
    ) -> int:
        """Add any operator with one input that keeps the shape: RELU, RELU6, ABS, HARD_SWISH, …"""
        return self.operator(code, [x], [self.like(x, **output)], options)[0]

    def relu(self, x: int, **output: Any) -> int:
        """Add RELU as a separate operator."""
        return self.unary("RELU", x, **output)

    def logistic(self, x: int) -> int:
        """Add LOGISTIC; TFLite fixes the output's quantization."""
        int16 = self.tensors[x].dtype == "int16"
        return self.unary("LOGISTIC", x, **_fixed(1 / 32768 if int16 else 1 / 256, self._floor(x)))

    def tanh(self, x: int) -> int:
        """Add TANH; TFLite fixes the output's quantization."""
        dtype = self.tensors[x].dtype
        point = 128 if dtype == "uint8" else 0
        return self.unary("TANH", x, **_fixed(1 / 32768 if dtype == "int16" else 1 / 128, point))

    def softmax(self, x: int, beta: float = 1.0) -> int:
        """Add SOFTMAX over the last dimension; TFLite fixes the output's quantization."""
        int16 = self.tensors[x].dtype == "int16"
        fixed = _fixed(1 / 32768 if int16 else 1 / 256, self._floor(x))
        return self.unary("SOFTMAX", x, {"beta": beta}, **fixed)

    def _floor(self, x: int) -> int:
        """Return the zero point that maps 0 to the lowest value of 8-bit types; 0 for int16."""
        return -128 if self.tensors[x].dtype == "int8" else 0

    def quantize(self, x: int, dtype: str, scale: float, zero_point: int) -> int:
        """Add QUANTIZE to another dtype or scale."""
        return self.unary("QUANTIZE", x, dtype=dtype, scale=scale, zero_point=zero_point)

    def dequantize(self, x: int) -> int:
        """Add DEQUANTIZE to float32."""
        return self.unary("DEQUANTIZE", x, dtype="float32", scale=None, zero_point=0)

    # ---- two inputs ----------------------------------------------------------------------------

    def add(self, x: int, y: int, activation: str = "NONE", **output: Any) -> int:
        """Add ADD with broadcasting."""
        return self._binary("ADD", x, y, activation, output)

    def sub(self, x: int, y: int, activation: str = "NONE", **output: Any) -> int:
        """Add SUB with broadcasting."""
        return self._binary("SUB", x, y, activation, output)

    def mul(self, x: int, y: int, activation: str = "NONE", **output: Any) -> int:
        """Add MUL with broadcasting."""
        return self._binary("MUL", x, y, activation, output)

    def minimum(self, x: int, y: int) -> int:
        """Add MINIMUM; both inputs and the output share one quantization."""
        return self.apply("MINIMUM", x, y)

    def maximum(self, x: int, y: int) -> int:
        """Add MAXIMUM; both inputs and the output share one quantization."""
        return self.apply("MAXIMUM", x, y)

    def _binary(self, code: str, x: int, y: int, activation: str, output: dict[str, Any]) -> int:
        shape = np.broadcast_shapes(self.tensors[x].shape, self.tensors[y].shape)
        other = _first(self.tensors[y].scale)
        wide = self.tensors[x].dtype == "int16"
        gain = other * (20000 if wide else 80) if code == "MUL" else 1.5
        spec = self._scaled(x, shape, gain, output)
        return self.operator(code, [x, y], [spec], {"fused_activation_function": activation})[0]

    # ---- shapes --------------------------------------------------------------------------------

    def reshape(self, x: int, shape: Sequence[int]) -> int:
        """Add RESHAPE."""
        return self.apply("RESHAPE", x, self.integers(shape, "shape"), new_shape=list(shape))

    def transpose(self, x: int, order: Sequence[int]) -> int:
        """Add TRANSPOSE."""
        return self.apply("TRANSPOSE", x, self.integers(order, "order"))

    def pad(self, x: int, paddings: Sequence[Pair]) -> int:
        """Add PAD with the input's zero point; `paddings` is (before, after) for each dimension."""
        return self.apply("PAD", x, self.integers(paddings, "paddings"))

    def concat(self, parts: Sequence[int], axis: int = -1, **output: Any) -> int:
        """Add CONCATENATION along `axis`."""
        axis %= len(self.tensors[parts[0]].shape)
        none = {"fused_activation_function": "NONE"}
        return self.apply("CONCATENATION", *parts, axis=axis, **none, **output)

    # ---- the file ------------------------------------------------------------------------------

    def subgraph(self, net: "NetworkBuilder", *outputs: int) -> int:
        """Add a network as a subgraph and return its number, for IF, WHILE and CALL_ONCE."""
        self.others.append(net.layout(outputs))
        return len(self.others)

    def layout(self, outputs: Sequence[int]) -> Layout:
        """Describe the network as a subgraph with these outputs, and the added subgraphs."""
        tables = self.tensors, self.operators, self.inputs
        return Layout(self.name, *tables, outputs, self.metadata, self.others)

    def build(self, *outputs: int) -> bytes:
        """Return the .tflite file's bytes; outputs default to the last operator's first output."""
        chosen = outputs or ((self.operators[-1].outputs[0],) if self.operators else ())
        return write(self.layout(chosen))


def _fixed(scale: float, zero_point: int) -> dict[str, Any]:
    return {"scale": scale, "zero_point": zero_point}


def _first(scale: float | tuple[float, ...] | None) -> float:
    if scale is None:
        return 1.0
    return scale[0] if isinstance(scale, tuple) else scale


def _default_zero_point(dtype: str, int8: int = 3) -> int:
    return {"int8": int8, "uint8": 128 + int8}.get(dtype, 0)


def _conv_options(stride: Pair, padding: str, activation: str, dilation: Pair) -> dict[str, Any]:
    return {
        "padding": padding,
        "stride_h": stride[0],
        "stride_w": stride[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "fused_activation_function": activation,
    }
