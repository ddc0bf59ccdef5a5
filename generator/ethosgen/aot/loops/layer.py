"""Layers with weights: their parameters, and the conversion of sums to outputs.

Formulas are those of TFLite's reference_integer_ops (conv.h, depthwise_conv.h, fully_connected.h,
transpose_conv.h), for float32 those of the files of the same names in reference.

uint8 follows LiteRT, which rounds FULLY_CONNECTED once (reference/fully_connected.h).

LiteRT differs for int16, where this follows TFLite Micro: LiteRT rescales FULLY_CONNECTED in
doubles, reads an int32 bias as int64 unless quantized_bias_type is set, and supports no int16 bias.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.rounding import once_multiplier, rescale_once
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Array, Nest, int32, limited, number, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    activation_range,
    clamp,
    offset,
    plain_range,
    quantize_multiplier,
    rescale_int64,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
    scale_of,
    shifted_left,
    shorten,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Operator, Tensor

WEIGHTS = {"int8": "int8", "int16": "int8", "float32": "float32"}
"""The weights' dtype by the input's; the reader has already converted int4 weights to int8."""

_BIASES = {"int8": ("int32",), "float32": ("float32",)}
_BIASES_INT16 = {
    "CONV_2D": ("int32", "int64"),
    "DEPTHWISE_CONV_2D": ("int64",),
    "FULLY_CONNECTED": ("int32", "int64"),
    "TRANSPOSE_CONV": ("int16", "int64"),
}
"""The bias dtypes that TFLite Micro supports for int16 layers."""

_SUM_OF_INT32_BIAS = ("CONV_2D", "FULLY_CONNECTED")
"""Operators with a 32-bit accumulator for int16 with an int32 bias; all others use 64 bits."""

_CHANNEL_AXIS = {"DEPTHWISE_CONV_2D": 3}
"""The weights' output channel dimension, where it is not the first."""

_PLACES = {"TRANSPOSE_CONV": (2, 1, 3)}
"""Positions of input, weights and bias, where they are not the first three in order."""


@dataclass(frozen=True)
class Layer:
    """The common parameters of operators with weights.

    `multipliers` has one entry for all channels or one for each, none for float32. `bounds` are
    those of the fused activation. `sum_dtype` is the accumulator type.
    """

    source: Tensor
    weights: Tensor
    target: Tensor
    biases: Tensor | None
    multipliers: tuple[Multiplier, ...]
    bounds: tuple[float, float]
    sum_dtype: str
    is_depthwise: bool = False
    once: float | None = None
    """The scale of sums that are rounded once (uint8 FULLY_CONNECTED)."""

    @property
    def whole_bounds(self) -> tuple[int, int]:
        """The bounds of integers."""
        low, high = self.bounds
        return int(low), int(high)

    @property
    def channels(self) -> int:
        """Number of output channels."""
        return self.target.shape[-1]

    @property
    def is_float(self) -> bool:
        """Whether the layer is float32."""
        return self.sum_dtype == "float32"

    @property
    def input_offset(self) -> int:
        """The input's zero point, 0 for float32."""
        return 0 if self.is_float else zero_point_of(self.source)

    @property
    def once_multiplier(self) -> Multiplier | None:
        """The multiplier for one rounding, None if the layer rounds twice or needs C's round()."""
        point = zero_point_of(self.target)
        low, high = (bound - point for bound in self.whole_bounds)
        return None if self.once is None else once_multiplier(self.once, low, high)

    @property
    def weights_offset(self) -> int:
        """The weights' zero point, which can differ from 0 in FULLY_CONNECTED and uint8."""
        quantization = self.weights.quantization
        return quantization.zero_point[0] if quantization and not self.is_float else 0


def read_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer:
    """Return the parameters of an operator with weights; UnsupportedError if TFLM has no kernel."""
    first, second, third = _PLACES.get(op.code, (0, 1, 2))
    source, weights, target = (
        tensors[i] for i in (op.inputs[first], op.inputs[second], op.outputs[0])
    )
    has_bias = len(op.inputs) > third and op.inputs[third] != ABSENT
    biases = tensors[op.inputs[third]] if has_bias else None
    _check_types(op, source, weights, target, biases)
    _check_sizes(op, source, weights, target, biases)
    if source.dtype == "float32":
        return Layer(source, weights, target, biases, (), plain_range(op, "float32"), "float32")
    weights = _checked_weights(op, source, weights, target)
    by_litert = bool(op.options.get(UNSIGNED))
    multipliers = (litert_multipliers if by_litert else multipliers_of)(source, weights, target)
    if len(multipliers) not in (1, target.shape[-1]):
        raise UnsupportedError(f"the scales of '{weights.name}' are not along its channels")
    bounds, kind = activation_range(op, target), _sum_dtype(op, source, biases)
    is_depthwise = op.code == "DEPTHWISE_CONV_2D"
    once = None
    if op.code == "FULLY_CONNECTED" and op.options.get(UNSIGNED):
        once = scale_of(source) * scale_of(weights) / scale_of(target)
    return Layer(source, weights, target, biases, multipliers, bounds, kind, is_depthwise, once)


def _sum_dtype(op: Operator, source: Tensor, biases: Tensor | None) -> str:
    if source.dtype == "int8":
        return "int32"
    kind = biases.dtype if biases else op.options.get("quantized_bias_type")
    return "int32" if op.code in _SUM_OF_INT32_BIAS and kind == "int32" else "int64"


def _check_types(
    op: Operator, source: Tensor, weights: Tensor, target: Tensor, biases: Tensor | None
) -> None:
    wanted = WEIGHTS[source.dtype]
    kinds = _BIASES_INT16[op.code] if source.dtype == "int16" else _BIASES[source.dtype]
    if weights.dtype != wanted or target.dtype != source.dtype:
        raise UnsupportedError(
            f"with {source.dtype} input the weights must be {wanted} and the output "
            f"{source.dtype}, but they are {weights.dtype} and {target.dtype}"
        )
    if biases is not None and biases.dtype not in kinds:
        raise UnsupportedError(
            f"with {source.dtype} input the bias must be {' or '.join(kinds)}, but "
            f"'{biases.name}' is {biases.dtype}"
        )


def _check_sizes(
    op: Operator, source: Tensor, weights: Tensor, target: Tensor, biases: Tensor | None
) -> None:
    """Refuse contradictory shapes, which would cause accesses out of bounds."""
    ranks = {len(source.shape), len(weights.shape), len(target.shape)}
    is_dense = op.code == "FULLY_CONNECTED"
    if (len(weights.shape) < 2 or not target.shape) if is_dense else ranks != {4}:
        raise UnsupportedError(f"its weights '{weights.name}' have the wrong shape {weights.shape}")
    channels = weights.shape[-2] if is_dense else weights.shape[_CHANNEL_AXIS.get(op.code, 0)]
    depth = source.shape[-1] if source.shape else 1
    fits = {
        "CONV_2D": depth % weights.shape[-1] == 0
        and channels % max(depth // weights.shape[-1], 1) == 0,
        "DEPTHWISE_CONV_2D": channels % depth == 0 and weights.shape[0] == 1,
        "FULLY_CONNECTED": source.elements * channels == target.elements * weights.shape[-1],
        "TRANSPOSE_CONV": depth == weights.shape[-1],
    }[op.code]
    batches = is_dense or source.shape[0] == target.shape[0]
    if not fits or not batches or channels != target.shape[-1]:
        raise UnsupportedError(
            f"its weights of shape {weights.shape} do not fit its input {source.shape} and its "
            f"output {target.shape}"
        )
    if biases is not None and biases.elements != channels:
        raise UnsupportedError(
            f"its bias has {counted(biases.elements, 'value')} for {counted(channels, 'channel')}"
        )


def _checked_weights(op: Operator, source: Tensor, weights: Tensor, target: Tensor) -> Tensor:
    """Return the weights with the zero points that the operator uses.

    Both interpreters ignore the weights' zero points in int8 and int16 layers other than
    FULLY_CONNECTED.
    """
    quantization = weights.quantization
    if quantization is None:
        raise UnsupportedError(f"the weights '{weights.name}' have no scale")
    for tensor in (source, target):
        if tensor.dtype == "int16" and zero_point_of(tensor):
            raise UnsupportedError(f"int16 '{tensor.name}' has a zero point other than 0")
    if not any(quantization.zero_point):
        return weights
    if op.code == "FULLY_CONNECTED" or op.options.get(UNSIGNED):
        if len(quantization.scale) == 1:
            return weights
        raise UnsupportedError(f"the weights '{weights.name}' have a zero point other than 0")
    ignored = replace(quantization, zero_point=(0,) * len(quantization.scale))
    return replace(weights, quantization=ignored)


def multipliers_of(source: Tensor, weights: Tensor, target: Tensor) -> tuple[Multiplier, ...]:
    """Return input scale * weight scale / output scale (PopulateConvolutionQuantizationParams)."""
    return tuple(
        quantize_multiplier(scale_of(source) * scale / scale_of(target)) for scale in weights.scales
    )


def litert_multipliers(source: Tensor, weights: Tensor, target: Tensor) -> tuple[Multiplier, ...]:
    """Return the same multipliers with the product of a single scale rounded to float32.

    LiteRT does so for uint8 layers and BATCH_MATMUL (GetQuantizedConvolutionMultipler). TFLite
    Micro's wheel keeps the product in double precision, whatever its source says.
    """
    if len(weights.scales) > 1:
        return multipliers_of(source, weights, target)
    product = float(np.float32(scale_of(source)) * np.float32(weights.scales[0]))
    return (quantize_multiplier(product / scale_of(target)),)


class Sums:
    """A layer in a nest: its parameters as buffers, and the statements that compute one output.

    Call `start` for a channel's sum, `add` for each weight, `finish` with the output index.
    """

    def __init__(
        self,
        layer: Layer,
        source: Sequence[int],
        weights: Sequence[int],
        target: Sequence[int],
    ) -> None:
        self.layer = layer
        self.nest = nest = Nest()
        self.x = nest.read("input", layer.source, source)
        self.w = nest.read("weights", layer.weights, weights)
        self.bias = nest.read("bias", layer.biases, (layer.channels,)) if layer.biases else None
        self.tables = [nest.table(name, values) for name, values in _tables(layer).items()]
        self.y = nest.write("output", layer.target, target)
        self.total: Any = None

    def start(self, channel: Any) -> None:
        """Start with the bias; float32 adds it last, as in TFLite, because rounding differs."""
        kind = self.layer.sum_dtype
        first: Any = number(0, kind)
        if self.bias is not None and not self.layer.is_float:
            first = _cast(kind, self.bias[channel])
        self.total = self.nest.local("total", first)

    def add(self, x: Any, weight: Any) -> None:
        """Add the product of an input element and a weight."""
        if not self.layer.is_float:
            x = less(int32(x), self.layer.input_offset)
            weight = less(int32(weight), self.layer.weights_offset)
        product = _cast(self.layer.sum_dtype, weight * x)
        self.nest.store(self.total, (0,), self.total[0] + product)

    def finish(self, place: Sequence[Any], channel: Any) -> None:
        """Convert the sum and store it as output."""
        low, high = self.layer.bounds
        if self.layer.is_float:
            total = self.total[0]
            total = total if self.bias is None else total + self.bias[channel]
            self.nest.store(
                self.y, place, limited(self.nest.let("sum", total), real(low), real(high))
            )
            return
        factor = 2.0 ** max((m.shift for m in self.layer.multipliers), default=0)
        value = offset(self._rescaled(channel), zero_point_of(self.layer.target), factor)
        self.nest.store(self.y, place, clamp(value, int(low), int(high)))

    def kernel(self) -> Kernel:
        """Return the finished kernel."""
        return self.nest.kernel()

    def _rescaled(self, channel: Any) -> Any:
        """Return the sum times the channel's multiplier, as int32."""
        nest, multipliers = self.nest, self.layer.multipliers
        if self.layer.once is not None:
            return rescale_once(self.total[0], self.layer.once, self.layer.once_multiplier)
        if self.layer.sum_dtype == "int64":
            if len(multipliers) == 1:
                return rescale_int64(self.total[0], *shorten(multipliers[0]))
            mantissas, shifts = self.tables
            return rescale_int64(self.total[0], mantissas[channel], int32(shifts[channel]))
        if len(multipliers) == 1:
            return nest.rescale(self.total[0], multipliers[0])
        mantissas, right, *left = self.tables
        total = self.total[0]
        if left:
            total = shifted_left(total, int32(left[0][channel]))
        product = nest.let(
            "product", saturating_rounding_doubling_high_mul(total, mantissas[channel])
        )
        return rounding_divide_by_pot(product, nest.let("shift", int32(right[channel])))


def less(x: Any, offset: int) -> Any:
    """Return x - offset."""
    return x - offset if offset else x


def _cast(dtype: str, x: Any) -> Any:
    return x if str(x.ty.dtype) == dtype else tirx.Cast(dtype, x)


def _tables(layer: Layer) -> dict[str, Array]:
    """Return the mantissas and shifts by channel; empty if one multiplier serves all."""
    if len(layer.multipliers) <= 1:
        return {}
    if layer.sum_dtype == "int64":
        short = [shorten(multiplier) for multiplier in layer.multipliers]
        return {
            "mantissas": np.array([mantissa for mantissa, _ in short], np.int16),
            "shifts": np.array([shift for _, shift in short], np.uint8),
        }
    shifts = [multiplier.shift for multiplier in layer.multipliers]
    tables: dict[str, Array] = {
        "mantissas": np.array([m.mantissa for m in layer.multipliers], np.int32),
        "right_shifts": np.array([max(-shift, 0) for shift in shifts], np.uint8),
    }
    if max(shifts) > 0:
        tables["left_shifts"] = np.array([max(shift, 0) for shift in shifts], np.uint8)
    return tables
