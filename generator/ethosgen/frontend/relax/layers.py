"""Convolutions and products with constant weights, and products of two activations."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.frontend.relax.draft import (
    Array,
    DraftConstant,
    Operand,
    Value,
    in_order,
    invert,
    order_of,
)
from ethosgen.frontend.relax.site import (
    RANGES,
    NoIntegerForm,
    Site,
    Translate,
    ints,
    translates,
)
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Quantization

Pads = tuple[tuple[int, int], tuple[int, int]]


def _with_any_zero_point(translate: Callable[[Site, DraftConstant], Value]) -> Translate:
    """Give a layer's translator weights in a form that its operator supports."""

    def translated(site: Site) -> Value:
        weights = site.operands[1]
        if not isinstance(weights, DraftConstant):
            raise UnsupportedError("its weights are not constant")
        if not site.is_quantized or weights.scale is None or not any(weights.scale.zero_point):
            return translate(site, weights)
        centred = _centred(weights)
        return translate(site, centred) if centred else _unsigned(site, weights, translate)

    return translated


def _centred(weights: DraftConstant) -> DraftConstant | None:
    """Return weights with the zero point 0, None if they do not fit in 8 bits then."""
    scale = weights.scale
    if scale is None or weights.dtype != "int8":
        return None
    shape = [1] * weights.array.ndim
    shape[scale.axis] = len(scale.zero_point)
    array = weights.array.astype(np.int32) - np.array(scale.zero_point).reshape(shape)
    if array.min() < -128 or array.max() > 127:
        return None
    zeros = (0,) * len(scale.zero_point)
    return replace(weights, array=array.astype(np.int8), scale=replace(scale, zero_point=zeros))


def _unsigned(
    site: Site, weights: DraftConstant, translate: Callable[[Site, DraftConstant], Value]
) -> Value:
    """Translate a layer in uint8, whose weights may have a zero point."""
    scale = weights.scale
    assert scale is not None
    if not scale.is_per_tensor or site.dtype != "int8" or weights.dtype != "int8":
        raise NoIntegerForm(
            "its weights have zero points other than 0; a layer may have one for all channels, "
            f"but not in {site.dtype}"
        )
    source = site.value(0)
    assert source.scale is not None and site.scale is not None
    above = site.draft.rescaled(source, shifted(source.scale), "uint8")
    operands = (above, *site.operands[1:])
    wide = replace(site, operands=operands, dtype="uint8", scale=shifted(site.scale), clamp=None)
    array = (weights.array.astype(np.int16) + 128).astype(np.uint8)
    result = translate(wide, replace(weights, array=array, scale=shifted(scale)))
    return site.finished(result)


def shifted(scale: Quantization) -> Quantization:
    """Return the quantization of int8 values as uint8."""
    return replace(scale, zero_point=tuple(zero + 128 for zero in scale.zero_point))


def convolution(site: Site, weights: DraftConstant) -> Value:
    """Translate a convolution to CONV_2D or DEPTHWISE_CONV_2D."""
    attributes = site.attributes
    kernel = in_layout(weights, str(attributes.kernel_layout))
    groups, channels = int(attributes.groups), kernel.shape[0]
    source = spatial(site, site.value(0), str(attributes.data_layout))
    strides, dilation = read_pair(attributes.strides), read_pair(attributes.dilation)
    windows = [1 + (size - 1) * gap for size, gap in zip(kernel.shape[1:3], dilation, strict=True)]
    source, padding = padded(site, source, read_pads(attributes.padding), windows, strides)
    activation, is_fused = site.activation()
    options: dict[str, Any] = {
        "padding": padding,
        "stride_h": strides[0],
        "stride_w": strides[1],
        "dilation_h_factor": dilation[0],
        "dilation_w_factor": dilation[1],
        "fused_activation_function": activation,
    }
    depth = source.shape[3]
    code, axis = "CONV_2D", 0
    if groups == depth and (groups > 1 or channels > 1) and kernel.shape[3] == 1:
        code, axis = "DEPTHWISE_CONV_2D", 3
        options["depth_multiplier"] = channels // groups
        kernel = _moved(kernel, (3, 1, 2, 0), 3)
    inputs = (source.tensor, *_parameters(site, source, kernel, axis, channels))
    return _output(site, code, inputs, options, is_fused)


def transposed_convolution(site: Site, weights: DraftConstant) -> Value:
    """Translate a transposed convolution to TRANSPOSE_CONV."""
    attributes = site.attributes
    if set(read_pair(attributes.dilation)) != {1}:
        raise UnsupportedError("its transposed convolution has a dilation")
    layout = str(attributes.kernel_layout)
    # Relax names the input's channels I; they are the first axis of ONNX's and PyTorch's weights.
    kernel = _in_one_group(in_layout(weights, layout), int(attributes.groups))
    source = spatial(site, site.value(0), str(attributes.data_layout))
    strides, pads = read_pair(attributes.strides), read_pads(attributes.padding)
    height, width = plane_of(site, _layout(site))
    full = [
        (size - 1) * stride + taps
        for size, stride, taps in zip(source.shape[1:3], strides, kernel.shape[1:3], strict=True)
    ]
    channels = kernel.shape[0]
    options: dict[str, Any] = {
        "padding": "VALID",
        "stride_h": strides[0],
        "stride_w": strides[1],
        "fused_activation_function": "NONE",
    }
    crop: list[int] | None = None
    if any(pad for pair in pads for pad in pair) or full != [height, width]:
        if _is_same(source.shape[1:3], strides, kernel.shape[1:3], (height, width), pads):
            options["padding"] = "SAME"
        else:
            crop = [pads[0][0], pads[1][0]]
    plane = (height, width) if crop is None else (full[0], full[1])
    shape = site.draft.add_constant(np.array((source.shape[0], *plane, channels), np.int32))
    kernel_index, bias = _parameters(site, source, kernel, 0, channels)
    inputs = (shape, kernel_index, source.tensor, bias)
    if crop is None:
        return _output(site, "TRANSPOSE_CONV", inputs, options)
    return _cropped(site, inputs, options, (source.shape[0], *plane, channels), crop)


def _in_one_group(kernel: DraftConstant, groups: int) -> DraftConstant:
    """Return the weights of a transposed convolution without groups: zeros between them.

    TRANSPOSE_CONV has no groups. A weight of 0 adds nothing, so the sums do not change.
    """
    if groups == 1:
        return kernel
    outs, *_, ins = kernel.shape
    scale, zeros = kernel.scale, np.zeros(kernel.shape, kernel.array.dtype)
    if scale is not None:
        shape = [1] * zeros.ndim
        shape[scale.axis] = len(scale.zero_point)
        zeros += np.array(scale.zero_point, zeros.dtype).reshape(shape)
        if not scale.is_per_tensor and scale.axis == 0:
            points = scale.zero_point * groups
            scale = replace(scale, scale=scale.scale * groups, zero_point=points)
    array = np.tile(zeros, (groups, 1, 1, 1))
    for group in range(groups):
        rows = slice(group * outs, (group + 1) * outs)
        channels = slice(group * ins // groups, (group + 1) * ins // groups)
        array[rows, ..., channels] = kernel.array[..., channels]
    return replace(kernel, array=array, scale=scale)


def _is_same(
    sizes: Sequence[int],
    strides: Sequence[int],
    kernel: Sequence[int],
    outs: Sequence[int],
    pads: Pads,
) -> bool:
    """Return whether the padding of a transposed convolution is TFLite's SAME."""
    return all(
        before == max((size - 1) * stride + taps - out, 0) // 2 and pieces(out, stride) == size
        for size, stride, taps, out, (before, _) in zip(
            sizes, strides, kernel, outs, pads, strict=True
        )
    )


def _cropped(
    site: Site, inputs: Any, options: dict[str, Any], full: tuple[int, ...], crop: list[int]
) -> Value:
    """Add a transposed convolution without padding, and cut its result."""
    height, width = plane_of(site, _layout(site))
    if any(
        first + out > size
        for first, out, size in zip(crop, (height, width), full[1:3], strict=True)
    ):
        raise UnsupportedError("the output_padding of its transposed convolution is too large")
    result = site.draft.add_operator(
        "TRANSPOSE_CONV", inputs, full, site.dtype, site.scale, options
    )
    shape = (full[0], height, width, full[3])
    tables = [np.array(numbers, np.int32) for numbers in ((0, *crop, 0), shape)]
    cut = [result.tensor, *(site.draft.add_constant(table) for table in tables)]
    return _output(site, "SLICE", cut, {})


translates("nn.conv2d", "nn.conv1d")(_with_any_zero_point(convolution))
translates("nn.conv2d_transpose", "nn.conv1d_transpose")(
    _with_any_zero_point(transposed_convolution)
)


@translates("matmul")
def product(site: Site) -> Value:
    """Translate a product to FULLY_CONNECTED, or BATCH_MATMUL of two activations."""
    first, second = site.operands
    if min(len(first.shape), len(second.shape)) == 1:
        return _vector_product(site)
    if isinstance(second, DraftConstant) and second.array.ndim == 2 and len(first.shape) > 1:
        result: Value = _with_any_zero_point(_fully_connected)(site)
        return result
    if isinstance(first, DraftConstant) and isinstance(second, DraftConstant):
        raise UnsupportedError("both factors are constant")
    left, right = site.value(0), site.value(1)
    is_turned = _is_turned(right)
    if is_turned:
        right = replace(right, shape=right.physical, order=tuple(range(len(right.shape))))
    options = {"adj_x": False, "adj_y": is_turned}
    if site.bias is not None:
        raise NoIntegerForm("a product of two activations has a bias")
    rank = len(site.shape)
    factors = (_of_rank(site, left, rank), _of_rank(site, right, rank))
    return site.emit("BATCH_MATMUL", factors, tuple(range(rank)), options)


def _vector_product(site: Site) -> Value:
    """Translate a product with a vector, in floats: it is a matrix of one row or one column."""
    if site.is_quantized:
        raise NoIntegerForm("one of its factors is a vector")
    first, second = site.operands
    shape = list(site.shape)
    if len(second.shape) == 1:
        second = _as_matrix(site, second, (*second.shape, 1))
        shape.append(1)
    if len(first.shape) == 1:
        first = _as_matrix(site, first, (1, *first.shape))
        shape.insert(len(shape) - 1, 1)
    result = product(replace(site, operands=(first, second), shape=tuple(shape)))
    plain = site.draft.plain(result)
    return replace(site.draft.reshaped(plain.tensor, site.shape, plain), is_real=result.is_real)


def _as_matrix(site: Site, vector: Operand, shape: tuple[int, int]) -> Operand:
    if isinstance(vector, DraftConstant):
        return DraftConstant(vector.real().reshape(shape))
    real = site.draft.real(vector)
    return site.draft.reshaped(real.tensor, shape, real)


def _is_turned(value: Value) -> bool:
    """Return whether only the last two axes of a value's tensor are swapped, neither of size 1."""
    rank = len(value.shape)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return rank > 1 and value.order == swapped and 1 not in value.shape[-2:]


def _of_rank(site: Site, value: Value, rank: int) -> int:
    """Return the tensor of a factor with as many axes as the product."""
    plain = site.draft.plain(value)
    shape = (1,) * (rank - len(value.shape)) + value.shape
    return site.draft.reshaped(plain.tensor, shape, plain).tensor


def _fully_connected(site: Site, second: DraftConstant) -> Value:
    source = site.value(0)
    kernel = _moved(second, (1, 0), 0)
    flattened = site.draft.flattened.get(source.tensor)
    if flattened is not None and source.is_plain:
        # The elements stay in the order of the tensor that was flattened; the weights follow it.
        axes = invert(flattened.order)  # the batch is first in both
        array = kernel.array.reshape(kernel.shape[0], *flattened.shape[1:]).transpose(axes)
        kernel = replace(kernel, array=array.reshape(kernel.shape))
        flat = site.draft.reshaped(flattened.tensor, source.shape, flattened)
        source = replace(flat, is_real=source.is_real)
    source = site.draft.plain(source)
    channels = kernel.shape[0]
    weights, bias = _parameters(site, source, kernel, 0, channels)
    activation, is_fused = site.activation()
    options = {
        "fused_activation_function": activation,
        "keep_num_dims": len(source.shape) > 2,
    }
    order = tuple(range(len(site.shape)))
    return site.emit(
        "FULLY_CONNECTED", (source.tensor, weights, bias), order, options, None, is_fused
    )


def in_layout(weights: DraftConstant, layout: str) -> DraftConstant:
    """Return weights as (output channel, row, column, input channel), with one row in 1-D."""
    axes = [layout.index(letter) for letter in "OHWI" if letter in layout]
    moved = _moved(weights, axes, axes.index(weights.scale.axis) if weights.scale else 0)
    if len(axes) == 3:
        moved = replace(moved, array=np.expand_dims(moved.array, 1))
    return moved


def _moved(constant: DraftConstant, axes: Any, axis: int) -> DraftConstant:
    """Return a constant with its axes permuted; `axis` is the new axis of its scales."""
    scale = constant.scale
    if scale is not None and not scale.is_per_tensor:
        axis = list(axes).index(scale.axis)
    scale = replace(scale, axis=axis) if scale else None
    return replace(constant, array=constant.array.transpose(axes), scale=scale)


def _parameters(
    site: Site, source: Value, kernel: DraftConstant, axis: int, channels: int
) -> tuple[int, int]:
    """Add weights and bias; return their tensors."""
    draft = site.draft
    if not site.is_quantized:
        bias = np.zeros(channels, np.float32) if site.bias is None else site.bias.real().reshape(-1)
        return draft.add_constant(kernel.real()), draft.add_constant(bias.astype(np.float32))
    scale = kernel.scale
    if scale is None or kernel.dtype not in ("int8", "uint8"):
        raise NoIntegerForm("its weights are not quantized to 8 bits")
    if not scale.is_per_tensor and scale.axis != axis:
        raise NoIntegerForm("its weights have scales along an axis other than the output channels")
    assert source.scale is not None
    products = np.float32(source.scale.scale[0]) * np.array(scale.scale, np.float32)
    bias = _integer_bias(site, products, channels)
    biases = Quantization(tuple(float(product) for product in products), (0,) * len(products))
    return draft.add_constant(kernel.array, scale), draft.add_constant(bias, biases)


def _integer_bias(site: Site, scales: Array, channels: int) -> Array:
    """Return the bias in units of the products' scale: int32, int64 for int16 activations."""
    dtype = "int64" if site.dtype == "int16" else "int32"
    bias = site.bias
    if bias is None:
        return np.zeros(channels, dtype)
    if bias.scale is not None and bias.dtype == "int32" and not any(bias.scale.zero_point):
        theirs = np.array(bias.scale.scale, np.float32)
        if theirs.size in (1, scales.size) and np.allclose(theirs, scales, 1e-6, 0):
            return bias.array.reshape(-1).astype(dtype)
    real = bias.real().reshape(-1).astype(np.float64)
    if real.size == 1:
        real = np.repeat(real, channels)
    units = np.rint(real / scales)
    if np.any(np.abs(units) >= 2**31):
        raise NoIntegerForm("its bias does not fit into 32 bits")
    return units.astype(dtype)


def padded(
    site: Site,
    source: Value,
    pads: Pads,
    windows: list[int],
    strides: tuple[int, int],
    lowest: bool = False,
) -> tuple[Value, str]:
    """Return the input and its kind of padding; a PAD is added where TFLite has no such padding.

    It pads with zeros, or with the lowest value of the type.
    """
    if not any(pad for pair in pads for pad in pair):
        return source, "VALID"
    sizes = source.shape[1:3]
    same = []
    for size, window, stride in zip(sizes, windows, strides, strict=True):
        total = max((pieces(size, stride) - 1) * stride + window - size, 0)
        same.append((total // 2, total - total // 2))
    if tuple(same) == pads:
        return source, "SAME"
    table = np.array(((0, 0), *pads, (0, 0)), np.int32)
    shape = tuple(int(size + sum(pair)) for size, pair in zip(source.physical, table, strict=True))
    inputs = [source.tensor, site.draft.add_constant(table)]
    code = "PAD"
    if lowest and (source.scale is None or source.scale.zero_point[0] != RANGES[source.dtype][0]):
        code = "PADV2"
        least = RANGES[source.dtype][0] if source.scale else np.finfo(np.float32).min
        inputs.append(site.draft.add_constant(np.array([least], source.dtype), source.scale))
    name = site.draft.derived(source.tensor, "padded")
    extended = site.draft.add_operator(code, inputs, shape, source.dtype, source.scale, None, name)
    return replace(extended, is_real=source.is_real), "VALID"


def spatial(site: Site, source: Value, layout: str) -> Value:
    """Return an input as (batch, row, column, channel), in that order."""
    rank = len(source.shape)
    order = order_of(layout, rank)
    source = site.draft.ordered(source, order)
    shape = source.physical
    if rank == 3:
        shape = (shape[0], 1, *shape[1:])
    reshaped = site.draft.reshaped(source.tensor, shape, source)
    return replace(reshaped, is_real=source.is_real)


def _layout(site: Site) -> str:
    return str(site.attributes.out_layout) or str(site.attributes.data_layout)


def plane_of(site: Site, layout: str) -> tuple[int, int]:
    """Return height and width of the result."""
    sizes = dict(zip(layout, site.shape, strict=True))
    return sizes.get("H", 1), sizes["W"]


def _output(
    site: Site, code: str, inputs: Sequence[int], options: dict[str, Any], is_fused: bool = False
) -> Value:
    """Add a layer whose result is (batch, row, column, channel)."""
    rank = len(site.shape)
    layout = _layout(site)
    order = order_of(layout, rank)
    if rank == 4:
        return site.emit(code, inputs, order, options, None, is_fused)
    shape = in_order(site.shape, order)
    result = site.draft.add_operator(
        code, inputs, (shape[0], 1, *shape[1:]), site.dtype, site.scale, options
    )
    flat = site.draft.reshaped(result.tensor, shape, result)
    flat = replace(flat, shape=site.shape, order=order, is_real=site.is_quantized)
    return site.finished(flat, is_fused)


def read_pair(values: Any) -> tuple[int, int]:
    """Return (row, column) of one or two numbers."""
    numbers = ints(values)
    return (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


def read_pads(values: Any) -> Pads:
    """Return (before, after) of rows and columns, of Relax's top, left, bottom, right."""
    numbers = ints(values)
    if len(numbers) == 2:
        return (0, 0), (numbers[0], numbers[1])
    top, left, bottom, right = numbers
    return (top, bottom), (left, right)
