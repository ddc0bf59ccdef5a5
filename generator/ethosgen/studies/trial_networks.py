"""Small random networks of a chain of operators, to try an accelerator with.

A trial depends only on its chain, type, style and seed. In the style "plain" outputs use their
range, in "saturated" they exceed it; "ties" has multipliers that are powers of two, so that many
results lie halfway between two integers, and "equal" has one scale and zero points of 0.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.dialect import OPS
from ethosgen.values.multiples import pieces
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Quantization, Tensor

STYLES = ("plain", "saturated", "ties", "equal")
MOST_BYTES = 1 << 15
"""Maximum size of a tensor in bytes."""
_SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17)
_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 32, 48, 64)
_POINTS = (-128, 127, 0, 3, -5, 64)
_SCALE = 0.05
_ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_FACTORS = {"plain": 1.0, "saturated": 1 / 32, "ties": 1.0, "equal": 1.0}


class TooLargeError(Exception):
    """A random network that is too large for a trial."""


@dataclass(frozen=True)
class TrialNetwork:
    """One network of a chain; `codes` are its members."""

    codes: tuple[str, ...]
    dtype: str
    style: str
    seed: int


def trial_codes() -> frozenset[str]:
    """Return the operators that trials can contain."""
    return frozenset(_BUILD)


def trial_network(trials: Sequence[TrialNetwork]) -> Network:
    """Return a network of several trials side by side; output number i is that of trial i."""
    maker = _TrialBuilder()
    outputs = tuple(maker.add(trial) for trial in trials)
    inputs = tuple(maker.inputs)
    graph = Graph("main", tuple(maker.tensors), tuple(maker.operators), inputs, outputs)
    return Network("trials", (graph,))


class _TrialBuilder:
    """Builds the tensors and operators of trials."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs: list[int] = []
        self.trial = TrialNetwork((), "int8", "plain", 0)
        self.random = np.random.default_rng(0)

    def add(self, trial: TrialNetwork) -> int:
        """Add a chain and return its output."""
        self.trial = trial
        self.random = np.random.default_rng([trial.seed, STYLES.index(trial.style)])
        last: int | None = None
        for code in trial.codes:
            last = _BUILD[code](self, code, last)
        assert last is not None
        return last

    # ---- random choices ----

    def one_of(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    @property
    def is_real(self) -> bool:
        return self.trial.dtype == "float32"

    @property
    def is_equal(self) -> bool:
        return self.trial.style == "equal"

    def scale(self) -> float:
        if self.is_equal:
            return _SCALE
        if self.trial.style == "ties":
            return float(2.0 ** -int(self.random.integers(3, 8)))
        return float(np.float32(self.random.uniform(0.01, 0.2)))

    def point(self) -> int:
        middle = 128 if self.trial.dtype == "uint8" else 0
        if self.is_equal or self.trial.dtype not in ("int8", "uint8"):
            return middle
        return middle + int(self.one_of(_POINTS))

    # ---- tensors and operators ----

    def quantized(self, scale: float, point: int) -> Quantization | None:
        return None if self.is_real else Quantization((float(np.float32(scale)),), (point,))

    def tensor(
        self,
        shape: Sequence[int],
        quantization: Quantization | None,
        dtype: str | None = None,
        data: NDArray[Any] | None = None,
    ) -> int:
        index = len(self.tensors)
        raw = None if data is None else np.ascontiguousarray(data).tobytes()
        added = Tensor(
            index, f"t{index}", tuple(shape), dtype or self.trial.dtype, quantization, raw
        )
        if added.bytes > MOST_BYTES:
            raise TooLargeError
        self.tensors.append(added)
        return index

    def input(self, shape: Sequence[int], like: int | None = None) -> int:
        own = self.quantized(self.scale(), self.point())
        index = self.tensor(shape, own if like is None else self.tensors[like].quantization)
        self.inputs.append(index)
        return index

    def image(self, before: int | None) -> int:
        """Return the previous tensor, or a new input of four dimensions."""
        if before is not None:
            return before
        sizes = (self.one_of(_SIZES), self.one_of(_SIZES), self.one_of(_CHANNELS))
        return self.input((1, *sizes))

    def operator(self, code: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        chosen = {**OPS[code].defaults(), **options}
        self.operators.append(
            Operator(len(self.operators), code, tuple(inputs), (output,), options=chosen)
        )
        return output

    def like(self, index: int, shape: Sequence[int] | None = None) -> int:
        """Add an output with the quantization of another tensor."""
        source = self.tensors[index]
        return self.tensor(source.shape if shape is None else shape, source.quantization)

    def shape(self, index: int) -> tuple[int, ...]:
        return self.tensors[index].shape

    def scale_of(self, index: int) -> float:
        quantization = self.tensors[index].quantization
        return quantization.scale[0] if quantization else 1.0

    def constant(self, array: NDArray[Any], quantization: Quantization | None) -> int:
        return self.tensor(array.shape, quantization, str(array.dtype), array)


# ---- layers ----------------------------------------------------------------------------------


def _weights(maker: _TrialBuilder, shape: tuple[int, ...], axis: int) -> tuple[int, list[float]]:
    """Add weights; return them and their scale for each output channel."""
    channels = shape[axis]
    if maker.is_real:
        values = maker.random.normal(0, 0.3, shape).astype(np.float32)
        return maker.constant(values, None), [1.0] * channels
    if maker.trial.dtype == "uint8":
        own = maker.quantized(float(np.float32(maker.scale() / 4)), 128)
        values = maker.random.integers(1, 256, shape).astype(np.uint8)
        return maker.constant(values, own), [own.scale[0] if own else 1.0] * channels
    values = maker.random.integers(-127, 128, shape).astype(np.int8)
    same = maker.is_equal or maker.trial.style == "ties" or maker.random.random() < 0.3
    first = float(np.float32(maker.scale() / 4))
    scales = [first] * channels
    if not same:
        drawn = maker.random.uniform(0.3, 1.5, channels) * first
        scales = [float(np.float32(scale)) for scale in drawn]
    kept = tuple(scales[:1] if same and axis != 3 else scales)
    quantization = Quantization(kept, (0,) * len(kept), axis)
    return maker.constant(values, quantization), scales


def _layer(
    maker: _TrialBuilder,
    code: str,
    source: int,
    weights: tuple[int, list[float]],
    shape: Sequence[int],
    **options: Any,
) -> int:
    """Add the bias, the output and the operator of a layer."""
    index, scales = weights
    products = math.prod(maker.shape(index)) // len(scales)
    own = [maker.scale_of(source) * scale for scale in scales]
    if maker.is_real:
        bias = maker.constant(maker.random.normal(0, 1, len(scales)).astype(np.float32), None)
    else:
        kind = np.int64 if maker.trial.dtype == "int16" else np.int32
        values = maker.random.integers(-(1 << 12), 1 << 12, len(scales)).astype(kind)
        bias = maker.constant(values, Quantization(tuple(own), (0,) * len(own)))
    if maker.random.random() < 0.2 and code != "DEPTHWISE_CONV_2D":  # TFLite Micro crashes
        bias = ABSENT
    usual = float(np.mean(own)) * math.sqrt(products) * 73 * 73 / 50 * _FACTORS[maker.trial.style]
    scale = _SCALE if maker.is_equal else usual
    if maker.trial.style == "ties":
        scale = own[0] * 2.0 ** round(math.log2(max(usual / own[0], 1.0)))
    output = maker.tensor(shape, maker.quantized(scale, maker.point()))
    options["fused_activation_function"] = maker.one_of(_ACTIVATIONS)
    return maker.operator(code, (source, index, bias), output, **options)


def _window(
    maker: _TrialBuilder, source: int, kernel: tuple[int, int]
) -> tuple[dict[str, Any], list[int]]:
    """Return the options of a window over an image, and the sizes of the output."""
    same = maker.random.random() < 0.5
    options: dict[str, Any] = {"padding": "SAME" if same else "VALID"}
    sizes = []
    for axis, letter in enumerate("hw"):
        size = maker.shape(source)[1 + axis]
        stride = int(maker.one_of((1, 1, 2, 3)))
        if not same and kernel[axis] > size:
            raise TooLargeError
        options[f"stride_{letter}"] = stride
        sizes.append(pieces(size, stride) if same else (size - kernel[axis]) // stride + 1)
    return options, sizes


def _kernel(maker: _TrialBuilder) -> tuple[int, int]:
    side = int(maker.one_of((1, 1, 2, 3, 3, 5)))
    return (side, side if maker.random.random() < 0.7 else int(maker.one_of((1, 2, 3))))


def _convolution(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    inner, outer = maker.shape(source)[-1], int(maker.one_of(_CHANNELS))
    weights = _weights(maker, (outer, *kernel, inner), 0)
    return _layer(maker, code, source, weights, (1, *sizes, outer), **options)


def _depthwise(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    factor = int(maker.one_of((1, 1, 1, 2)))
    outer = maker.shape(source)[-1] * factor
    weights = _weights(maker, (1, *kernel, outer), 3)
    options["depth_multiplier"] = factor
    return _layer(maker, code, source, weights, (1, *sizes, outer), **options)


def _fully_connected(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = before
    if source is None:
        source = maker.input((int(maker.one_of((1, 1, 2, 5))), int(maker.one_of(_CHANNELS))))
    inner, outer = maker.shape(source)[-1], int(maker.one_of(_CHANNELS))
    rows = math.prod(maker.shape(source)[:-1])
    return _layer(maker, code, source, _weights(maker, (outer, inner), 0), (rows, outer))


def _pool(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    options["fused_activation_function"] = maker.one_of(_ACTIVATIONS)
    output = maker.like(source, (1, *sizes, maker.shape(source)[-1]))
    return maker.operator(code, (source,), output, **options)


# ---- elements --------------------------------------------------------------------------------


def _pair(maker: _TrialBuilder, before: int | None) -> tuple[int, int]:
    """Return the previous tensor or a new input, and another of its shape, or to broadcast."""
    first = maker.image(before)
    shape = maker.shape(first)
    if maker.random.random() < 0.2 and len(shape) == 4:
        shape = (1, 1, 1, shape[-1])
    return first, maker.input(shape)


def _sum(maker: _TrialBuilder, code: str, before: int | None) -> int:
    first, second = _pair(maker, before)
    usual = max(maker.scale_of(first), maker.scale_of(second)) * 2 * _FACTORS[maker.trial.style]
    scale = _SCALE if maker.is_equal else usual
    output = maker.tensor(maker.shape(first), maker.quantized(scale, maker.point()))
    return maker.operator(
        code, (first, second), output, fused_activation_function=maker.one_of(_ACTIVATIONS)
    )


def _product(maker: _TrialBuilder, code: str, before: int | None) -> int:
    first, second = _pair(maker, before)
    both = maker.scale_of(first) * maker.scale_of(second)
    usual = both * 64 * _FACTORS[maker.trial.style]
    scale = _SCALE if maker.is_equal else usual
    output = maker.tensor(maker.shape(first), maker.quantized(scale, maker.point()))
    return maker.operator(
        code, (first, second), output, fused_activation_function=maker.one_of(_ACTIVATIONS)
    )


def _extreme(maker: _TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    second = maker.input(maker.shape(first), like=first)
    return maker.operator(code, (first, second), maker.like(first))


def _ratio(maker: _TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    second = maker.input(maker.shape(first))
    output = maker.tensor(maker.shape(first), maker.quantized(maker.scale(), maker.point()))
    return maker.operator(code, (first, second), output)


def _reshaped(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    shape = (maker.shape(source)[-1], math.prod(maker.shape(source)[:-1]))
    wanted = maker.constant(np.array(shape, np.int32), None)
    return maker.operator(code, (source, wanted), maker.like(source, shape), new_shape=list(shape))


def _clamp(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    return maker.operator(code, (source,), maker.like(source))


def _curve(scale: float, point: int) -> Callable[[_TrialBuilder, str, int | None], int]:
    """Return the builder of a function whose output has one quantization (int8)."""

    def build(maker: _TrialBuilder, code: str, before: int | None) -> int:
        source = maker.image(before)
        wide = maker.trial.dtype == "int16"
        own = point + (128 if maker.trial.dtype == "uint8" else 0)
        quantization = maker.quantized(1 / 32768, 0) if wide else maker.quantized(scale, own)
        output = maker.tensor(maker.shape(source), quantization)
        options = {"beta": 1.0} if code == "SOFTMAX" else {}
        return maker.operator(code, (source,), output, **options)

    return build


def _rescaled(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    output = maker.tensor(maker.shape(source), maker.quantized(maker.scale(), maker.point()))
    options = {"alpha": 0.1} if code == "LEAKY_RELU" else {}
    return maker.operator(code, (source,), output, **options)


def _pad(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    sizes = np.zeros((4, 2), np.int32)
    sizes[1:3] = maker.random.integers(0, 3, (2, 2))
    constant = maker.constant(sizes, None)
    shape = [size + int(more.sum()) for size, more in zip(maker.shape(source), sizes, strict=True)]
    return maker.operator(code, (source, constant), maker.like(source, shape))


def _reduced(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    axes = maker.constant(np.array([1, 2], np.int32), None)
    shape = (1, 1, 1, maker.shape(source)[-1])
    if code in ("REDUCE_MAX", "REDUCE_MIN"):
        output = maker.like(source, shape)
    else:
        output = maker.tensor(shape, maker.quantized(maker.scale(), maker.point()))
    return maker.operator(code, (source, axes), output, keep_dims=True)


# ---- places ----------------------------------------------------------------------------------


def _transposed(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    order = maker.random.permutation(len(maker.shape(source))).astype(np.int32)
    shape = [maker.shape(source)[axis] for axis in order]
    return maker.operator(code, (source, maker.constant(order, None)), maker.like(source, shape))


def _joined(maker: _TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    shape = maker.shape(first)
    axis = int(maker.random.integers(1, len(shape)))
    second = maker.input((*shape[:axis], int(maker.one_of(_SIZES)), *shape[axis + 1 :]), like=first)
    size = shape[axis] + maker.shape(second)[axis]
    output = maker.like(first, (*shape[:axis], size, *shape[axis + 1 :]))
    return maker.operator(code, (first, second), output, axis=axis)


def _slice(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    shape = np.array(maker.shape(source), np.int32)
    begin = maker.random.integers(0, shape).astype(np.int32)
    size = maker.random.integers(1, shape - begin + 1).astype(np.int32)
    parts = (maker.constant(begin, None), maker.constant(size, None))
    return maker.operator(code, (source, *parts), maker.like(source, size.tolist()))


def _resized(maker: _TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    sizes = np.array([maker.one_of(_SIZES), maker.one_of(_SIZES)], np.int32)
    shape = (1, *sizes.tolist(), maker.shape(source)[-1])
    centers = bool(maker.random.random() < 0.5)
    inputs = (source, maker.constant(sizes, None))
    return maker.operator(code, inputs, maker.like(source, shape), half_pixel_centers=centers)


def _blocks(maker: _TrialBuilder, code: str, before: int | None) -> int:
    """Return blocks of pixels as channels, or channels as blocks of pixels."""
    side = int(maker.one_of((2, 3)))
    is_deep = code == "DEPTH_TO_SPACE"
    h, w, c = (int(maker.one_of(_SIZES[:7])) for _ in range(3))
    wide, deep = (1, h * side, w * side, c), (1, h, w, c * side * side)
    source = maker.input(deep if is_deep else wide) if before is None else before
    if maker.shape(source) not in (deep, wide):
        raise TooLargeError
    output = maker.like(source, wide if is_deep else deep)
    return maker.operator(code, (source,), output, block_size=side)


_BUILD: Mapping[str, Callable[[_TrialBuilder, str, int | None], int]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "ADD": _sum,
    "SUB": _sum,
    "MUL": _product,
    "DIV": _ratio,
    "SQUARED_DIFFERENCE": _ratio,
    "RESHAPE": _reshaped,
    "MAXIMUM": _extreme,
    "MINIMUM": _extreme,
    "RELU": _clamp,
    "RELU6": _clamp,
    "RELU_N1_TO_1": _clamp,
    "LOGISTIC": _curve(1 / 256, -128),
    "SOFTMAX": _curve(1 / 256, -128),
    "TANH": _curve(1 / 128, 0),
    "HARD_SWISH": _rescaled,
    "LEAKY_RELU": _rescaled,
    "QUANTIZE": _rescaled,
    "PAD": _pad,
    "MEAN": _reduced,
    "SUM": _reduced,
    "REDUCE_MAX": _reduced,
    "REDUCE_MIN": _reduced,
    "ABS": _rescaled,
    "TRANSPOSE": _transposed,
    "CONCATENATION": _joined,
    "SLICE": _slice,
    "RESIZE_NEAREST_NEIGHBOR": _resized,
    "RESIZE_BILINEAR": _resized,
    "SPACE_TO_DEPTH": _blocks,
    "DEPTH_TO_SPACE": _blocks,
}
