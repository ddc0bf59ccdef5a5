"""Small random networks of a chain of operators, to try an accelerator with.

A trial depends only on its chain, type, style and seed. In the style "plain" outputs use their
range, in "saturated" they exceed it; "ties" has multipliers that are powers of two, so that many
results lie halfway between two integers, and "equal" has one scale and zero points of 0.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ethosgen.studies.trial_builder import (
    DEEP,
    SCALE,
    SIZES,
    Build,
    TrialBuilder,
    TrialNetwork,
    UnsuitableSizeError,
)
from ethosgen.studies.trial_states import BUILD as WITH_STATES
from ethosgen.values.multiples import pieces
from ethosgen.values.network import ABSENT, Graph, Network, Quantization

_MOST_POWERS = 511
"""The longest SOFTMAX: TFLite Micro aborts if the sum of its powers of at most 1 reaches 512."""
_ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")


def trial_codes() -> frozenset[str]:
    """Return the operators that trials can contain."""
    return frozenset(_BUILD)


def trial_network(trials: Sequence[TrialNetwork]) -> Network:
    """Return a network of several trials side by side; output number i is that of trial i."""
    maker = TrialBuilder(_BUILD)
    outputs = tuple(maker.add(trial) for trial in trials)
    inputs = tuple(maker.inputs)
    graph = Graph("main", tuple(maker.tensors), tuple(maker.operators), inputs, outputs)
    return Network("trials", (graph,))


# ---- layers ----------------------------------------------------------------------------------


def _weights(maker: TrialBuilder, shape: tuple[int, ...], axis: int) -> tuple[int, list[float]]:
    """Add weights; return them and their scale for each output channel."""
    channels = shape[axis]
    if maker.trial.style == DEEP and axis == 0 and math.prod(shape) < maker.trial.deep_bytes:
        raise UnsuitableSizeError
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
    maker: TrialBuilder,
    code: str,
    source: int,
    weights: tuple[int, list[float]],
    shape: Sequence[int],
    **options: Any,
) -> int:
    """Add the bias, the output and the operator of a layer; TRANSPOSE_CONV reads a shape first."""
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
    usual = float(np.mean(own)) * math.sqrt(products) * 73 * 73 / 50 * maker.factor
    scale = SCALE if maker.is_equal else usual
    if maker.trial.style == "ties":
        scale = own[0] * 2.0 ** round(math.log2(max(usual / own[0], 1.0)))
    output = maker.tensor(shape, maker.quantized(scale, maker.point()))
    options["fused_activation_function"] = maker.one_of(_ACTIVATIONS)
    inputs = [source, index, bias]
    if code == "TRANSPOSE_CONV":
        wanted = maker.constant(np.array(shape, np.int32), None)
        inputs = [wanted, index, source] if bias == ABSENT else [wanted, index, source, bias]
    return maker.operator(code, inputs, output, **options)


def _window(
    maker: TrialBuilder, source: int, kernel: tuple[int, int]
) -> tuple[dict[str, Any], list[int]]:
    """Return the options of a window over an image, and the sizes of the output."""
    same = maker.random.random() < 0.5
    options: dict[str, Any] = {"padding": "SAME" if same else "VALID"}
    sizes = []
    for axis, letter in enumerate("hw"):
        size = maker.shape(source)[1 + axis]
        stride = int(maker.one_of((1, 1, 2, 3)))
        if not same and kernel[axis] > size:
            raise UnsuitableSizeError
        options[f"stride_{letter}"] = stride
        sizes.append(pieces(size, stride) if same else (size - kernel[axis]) // stride + 1)
    return options, sizes


def _kernel(maker: TrialBuilder) -> tuple[int, int]:
    side = int(maker.one_of((1, 1, 2, 3, 3, 5)))
    return (side, side if maker.random.random() < 0.7 else int(maker.one_of((1, 2, 3))))


def _convolution(maker: TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    inner, outer = maker.shape(source)[-1], int(maker.one_of(maker.channels))
    weights = _weights(maker, (outer, *kernel, inner), 0)
    return _layer(maker, code, source, weights, (1, *sizes, outer), **options)


def _convolution_back(maker: TrialBuilder, code: str, before: int | None) -> int:
    """Return a transposed convolution, whose windows lie side by side or overlap."""
    source, kernel = maker.image(before), _kernel(maker)
    strides = [int(maker.one_of((1, 2, 2, 3))) for _ in kernel]
    same = maker.random.random() < 0.5
    options: dict[str, Any] = {"padding": "SAME" if same else "VALID"}
    options |= {"stride_h": strides[0], "stride_w": strides[1]}
    sizes = [
        size * stride if same else (size - 1) * stride + max(side, stride)
        for size, stride, side in zip(maker.shape(source)[1:3], strides, kernel, strict=True)
    ]
    inner, outer = maker.shape(source)[-1], int(maker.one_of(maker.channels))
    weights = _weights(maker, (outer, *kernel, inner), 0)
    return _layer(maker, code, source, weights, (1, *sizes, outer), **options)


def _depthwise(maker: TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    factor = int(maker.one_of((1, 1, 1, 2)))
    outer = maker.shape(source)[-1] * factor
    weights = _weights(maker, (1, *kernel, outer), 3)
    options["depth_multiplier"] = factor
    return _layer(maker, code, source, weights, (1, *sizes, outer), **options)


def _fully_connected(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = before
    if source is None:
        source = maker.input((int(maker.one_of((1, 1, 2, 5))), int(maker.one_of(maker.channels))))
    inner, outer = maker.shape(source)[-1], int(maker.one_of(maker.channels))
    rows = math.prod(maker.shape(source)[:-1])
    return _layer(maker, code, source, _weights(maker, (outer, inner), 0), (rows, outer))


def _scaled(maker: TrialBuilder, shape: Sequence[int], usual: float) -> int:
    """Add an output with the usual scale, or with the scale of the style in which all are equal."""
    scale = SCALE if maker.is_equal else usual
    return maker.tensor(shape, maker.quantized(scale, maker.point()))


def _matrices(maker: TrialBuilder, code: str, before: int | None) -> int:
    """Return the product of two matrices, or of several pairs of them."""
    rows, depth, columns = (int(maker.one_of(maker.channels)) for _ in range(3))
    first = before
    if first is None:
        outer = ((), (3,), (3,), (1, 2))[int(maker.random.integers(4))]
        first = maker.input((*outer, rows, depth))
    *batches, _, depth = maker.shape(first)
    turned = bool(maker.random.random() < 0.5)
    second = maker.input((*batches, columns, depth) if turned else (*batches, depth, columns))
    both = maker.scale_of(first) * maker.scale_of(second)
    usual = both * math.sqrt(depth) * 73 * 73 / 50 * maker.factor
    output = _scaled(maker, (*maker.shape(first)[:-1], columns), usual)
    return maker.operator(code, (first, second), output, adj_x=False, adj_y=turned)


def _pool(maker: TrialBuilder, code: str, before: int | None) -> int:
    source, kernel = maker.image(before), _kernel(maker)
    options, sizes = _window(maker, source, kernel)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    options["fused_activation_function"] = maker.one_of(_ACTIVATIONS)
    output = maker.like(source, (1, *sizes, maker.shape(source)[-1]))
    return maker.operator(code, (source,), output, **options)


# ---- elements --------------------------------------------------------------------------------


def _pair(maker: TrialBuilder, before: int | None) -> tuple[int, int]:
    """Return the previous tensor or a new input, and another of its shape, or to broadcast."""
    first = maker.image(before)
    shape = maker.shape(first)
    if maker.random.random() < 0.2 and len(shape) == 4:
        shape = (1, 1, 1, shape[-1])
    return first, maker.input(shape)


def _sum(maker: TrialBuilder, code: str, before: int | None) -> int:
    first, second = _pair(maker, before)
    usual = max(maker.scale_of(first), maker.scale_of(second)) * 2 * maker.factor
    output = _scaled(maker, maker.shape(first), usual)
    return maker.operator(
        code, (first, second), output, fused_activation_function=maker.one_of(_ACTIVATIONS)
    )


def _product(maker: TrialBuilder, code: str, before: int | None) -> int:
    first, second = _pair(maker, before)
    both = maker.scale_of(first) * maker.scale_of(second)
    usual = both * 64 * maker.factor
    output = _scaled(maker, maker.shape(first), usual)
    return maker.operator(
        code, (first, second), output, fused_activation_function=maker.one_of(_ACTIVATIONS)
    )


def _extreme(maker: TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    second = maker.input(maker.shape(first), like=first)
    return maker.operator(code, (first, second), maker.like(first))


def _ratio(maker: TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    second = maker.input(maker.shape(first))
    output = maker.tensor(maker.shape(first), maker.quantized(maker.scale(), maker.point()))
    return maker.operator(code, (first, second), output)


def _reshaped(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    shape = (maker.shape(source)[-1], math.prod(maker.shape(source)[:-1]))
    wanted = maker.constant(np.array(shape, np.int32), None)
    return maker.operator(code, (source, wanted), maker.like(source, shape), new_shape=list(shape))


def _clamp(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    return maker.operator(code, (source,), maker.like(source))


def _curve(scale: float, point: int) -> Build:
    """Return the builder of a function whose output has one quantization (int8)."""

    def build(maker: TrialBuilder, code: str, before: int | None) -> int:
        source = maker.image(before)
        if code == "SOFTMAX" and maker.shape(source)[-1] > _MOST_POWERS:
            raise UnsuitableSizeError
        wide = maker.trial.dtype == "int16"
        own = point + (128 if maker.trial.dtype == "uint8" else 0)
        quantization = maker.quantized(1 / 32768, 0) if wide else maker.quantized(scale, own)
        output = maker.tensor(maker.shape(source), quantization)
        options: dict[str, Any] = {"beta": 1.0} if code == "SOFTMAX" else {}
        return maker.operator(code, (source,), output, **options)

    return build


def _rescaled(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    output = maker.tensor(maker.shape(source), maker.quantized(maker.scale(), maker.point()))
    options: dict[str, Any] = {"alpha": 0.1} if code == "LEAKY_RELU" else {}
    return maker.operator(code, (source,), output, **options)


def _pad(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    sizes = np.zeros((4, 2), np.int32)
    sizes[1:3] = maker.random.integers(0, 3, (2, 2))
    constant = maker.constant(sizes, None)
    shape = [size + int(more.sum()) for size, more in zip(maker.shape(source), sizes, strict=True)]
    return maker.operator(code, (source, constant), maker.like(source, shape))


def _reduced(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    axes = maker.constant(np.array([1, 2], np.int32), None)
    shape = (1, 1, 1, maker.shape(source)[-1])
    if code in ("REDUCE_MAX", "REDUCE_MIN"):
        output = maker.like(source, shape)
    else:
        output = maker.tensor(shape, maker.quantized(maker.scale(), maker.point()))
    return maker.operator(code, (source, axes), output, keep_dims=True)


# ---- places ----------------------------------------------------------------------------------


def _transposed(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    order = maker.random.permutation(len(maker.shape(source))).astype(np.int32)
    shape = [maker.shape(source)[axis] for axis in order]
    return maker.operator(code, (source, maker.constant(order, None)), maker.like(source, shape))


def _joined(maker: TrialBuilder, code: str, before: int | None) -> int:
    first = maker.image(before)
    shape = maker.shape(first)
    axis = int(maker.random.integers(1, len(shape)))
    second = maker.input((*shape[:axis], int(maker.one_of(SIZES)), *shape[axis + 1 :]), like=first)
    size = shape[axis] + maker.shape(second)[axis]
    output = maker.like(first, (*shape[:axis], size, *shape[axis + 1 :]))
    return maker.operator(code, (first, second), output, axis=axis)


def _slice(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    shape = np.array(maker.shape(source), np.int32)
    begin = maker.random.integers(0, shape).astype(np.int32)
    size = maker.random.integers(1, shape - begin + 1).astype(np.int32)
    parts = (maker.constant(begin, None), maker.constant(size, None))
    return maker.operator(code, (source, *parts), maker.like(source, size.tolist()))


def _resized(maker: TrialBuilder, code: str, before: int | None) -> int:
    source = maker.image(before)
    sizes = np.array([maker.one_of(SIZES), maker.one_of(SIZES)], np.int32)
    shape = (1, *sizes.tolist(), maker.shape(source)[-1])
    centers = bool(maker.random.random() < 0.5)
    inputs = (source, maker.constant(sizes, None))
    return maker.operator(code, inputs, maker.like(source, shape), half_pixel_centers=centers)


def _blocks(maker: TrialBuilder, code: str, before: int | None) -> int:
    """Return blocks of pixels as channels, or channels as blocks of pixels."""
    side = int(maker.one_of((2, 3)))
    is_deep = code == "DEPTH_TO_SPACE"
    h, w, c = (int(maker.one_of(SIZES[:7])) for _ in range(3))
    wide, deep = (1, h * side, w * side, c), (1, h, w, c * side * side)
    source = maker.input(deep if is_deep else wide) if before is None else before
    if maker.shape(source) not in (deep, wide):
        raise UnsuitableSizeError
    output = maker.like(source, wide if is_deep else deep)
    return maker.operator(code, (source,), output, block_size=side)


_BUILD: Mapping[str, Build] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _convolution_back,
    "BATCH_MATMUL": _matrices,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "L2_POOL_2D": _pool,
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
    **WITH_STATES,
}
