"""Operators with weights: convolutions, fully connected, matrix products."""

import dataclasses

import numpy as np

from tests.corpus.choices import Choices
from tests.corpus.draft import ACTIVATIONS, Case, Draft

Pair = tuple[int, int]


def conv2d(choices: Choices, dtype: str) -> Case:
    """Draw CONV_2D of any kernel, stride, dilation and padding."""
    net = Draft(choices, dtype)
    kernel, dilation, padding = _kernel(choices), _dilation(choices), _padding(choices)
    stride = _stride(choices, 5 if padding == "VALID" and dilation == (1, 1) else 3)
    batch = choices.pick((1, 1, 1, 1, 2, 3))
    size = _room(net, kernel, dilation, padding)
    x = net.maybe_before(net.feed((batch, *size, net.extent(40))))
    depth = net.tensors[x].shape[3]
    groups = choices.pick((1, 1, 1, 1, 1, 2, 3))
    if depth % groups == 0 and groups > 1:
        return _grouped(net, x, groups, kernel, stride, padding)
    y = net.conv2d(
        x,
        net.extent(40),
        kernel,
        stride,
        padding,
        choices.pick(ACTIVATIONS),
        dilation,
        bias=not choices.chance(5),
        per_channel=dtype != "uint8" and not choices.chance(3),
    )
    vary(net)
    return net.case(net.maybe_after(y))


def _grouped(net: Draft, x: int, groups: int, kernel: Pair, stride: Pair, padding: str) -> Case:
    """Draw CONV_2D whose weights have fewer channels than its input."""
    channels, depth = groups * net.extent(12), net.tensors[x].shape[3]
    per_channel = net.dtype != "uint8"
    y = net.conv2d(x, channels, kernel, stride, padding, per_channel=per_channel)
    weights = net.operators[-1].inputs[1]
    spec = net.tensors[weights]
    shape = (channels, *kernel, depth // groups)
    values = net.random_integers(shape, spec.dtype)
    net.tensors[weights] = dataclasses.replace(spec, shape=shape, data=values.tobytes())
    vary(net)
    return net.case(y)


def depthwise(choices: Choices, dtype: str) -> Case:
    """Draw DEPTHWISE_CONV_2D with any multiplier."""
    net = Draft(choices, dtype)
    kernel, dilation, padding = _kernel(choices), _dilation(choices), _padding(choices)
    multiplier = choices.pick((1, 1, 1, 1, choices.integer(2, 8)))
    depth = 1 if multiplier > 1 and not choices.chance(3) else net.extent(40)
    x = net.maybe_before(net.feed((1, *_room(net, kernel, dilation, padding), depth)))
    stride = choices.integer(1, 3)
    y = net.depthwise(
        x,
        kernel,
        (stride, stride),
        padding,
        choices.pick(ACTIVATIONS),
        dilation,
        multiplier,
        bias=not choices.chance(5),
        per_channel=dtype != "uint8" and not choices.chance(3),
    )
    vary(net)
    return net.case(net.maybe_after(y))


def fully_connected(choices: Choices, dtype: str) -> Case:
    """Draw FULLY_CONNECTED with one or several rows."""
    net = Draft(choices, dtype)
    shape = choices.pick(
        (
            (1, choices.integer(1, 300)),
            (choices.integer(1, 8), choices.integer(1, 100)),
            net.image(4, 4, 24),
        )
    )
    x = net.feed(shape)
    if len(shape) == 2 and choices.chance(6):
        return _product(net, x)
    net.fully_connected(
        x,
        choices.integer(1, 70),
        choices.pick(ACTIVATIONS),
        bias=not choices.chance(5),
        per_channel=dtype == "int8" and choices.chance(3),
        keep_num_dims=choices.chance(4),
    )
    vary(net)
    return net.case()


def _product(net: Draft, x: int) -> Case:
    """Draw FULLY_CONNECTED whose weights are an input of the network."""
    depth, units = net.tensors[x].shape[1], net.choices.integer(1, 40)
    weights = net.feed((units, depth), zero_point=128 if net.dtype == "uint8" else 0)
    gain = net.scale_of(x) * net.scale_of(weights) * 73 * 1.5 * depth**0.5
    return net.case(net.requantized(net.apply("FULLY_CONNECTED", x, weights, scale=gain)))


def transpose_conv(choices: Choices, dtype: str) -> Case:
    """Draw TRANSPOSE_CONV with the strides that Vela accepts: 1x1, 2x2, and 2 along a line."""
    net = Draft(choices, dtype)
    stride, padding = choices.pick(((2, 2), (2, 2), (1, 1), (1, 2), (2, 1))), _padding(choices)
    kernel = choices.integer(1, 5), choices.integer(1, 5)
    height, width = net.extent(9), net.extent(9)
    if stride == (1, 2):  # height before width
        kernel, height = (1, kernel[1]), 1
    elif stride == (2, 1):
        kernel, width = (kernel[0], 1), 1
    if padding == "VALID":
        kernel = max(kernel[0], stride[0]), max(kernel[1], stride[1])
    x = net.maybe_before(net.feed((1, height, width, net.extent(24))))
    channels = net.extent(24)
    rows, columns = (
        extent * s + (k - s if padding == "VALID" else 0)
        for extent, s, k in zip((height, width), stride, kernel, strict=True)
    )
    _transposed(net, x, channels, kernel, (1, rows, columns, channels), stride, padding)
    vary(net)
    return net.case(net.maybe_after(net.operators[-1].outputs[0]))


def _transposed(
    net: Draft,
    x: int,
    channels: int,
    kernel: Pair,
    shape: tuple[int, int, int, int],
    stride: Pair,
    padding: str,
) -> None:
    per_channel = net.dtype != "uint8" and not net.choices.chance(3)
    depth = net.tensors[x].shape[3]
    # conv2d makes correct weights and bias; only its operator is replaced
    net.conv2d(x, channels, kernel, bias=not net.choices.chance(5), per_channel=per_channel)
    layer = net.operators.pop()
    _, weights, *bias = layer.inputs
    out = net.tensors[layer.outputs[0]]
    assert net.tensors[weights].shape == (channels, *kernel, depth)
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1]}
    to = {"scale": out.scale, "zero_point": out.zero_point, "version": 3 if bias else 2}
    net.apply("TRANSPOSE_CONV", shape, weights, x, *bias, **options, **to)


def batch_matmul(choices: Choices, dtype: str) -> Case:
    """Draw BATCH_MATMUL of two feature maps, either of them transposed."""
    net = Draft(choices, dtype)
    rows, depth, columns = net.extent(20), net.extent(40), net.extent(20)
    batch = choices.pick(((), (1,), (choices.integer(1, 4),), (1, choices.integer(1, 4))))
    adj_x, adj_y = choices.chance(3), choices.chance(3)
    x = net.feed((*batch, *((depth, rows) if adj_x else (rows, depth))))
    other = (*batch, *((columns, depth) if adj_y else (depth, columns)))
    if choices.chance(4):
        values = net.random_integers(other, dtype)
        y = net.constant(values, dtype, net.scale(), net.zero_point())
    else:
        y = net.feed(other)
    spread = {"int16": 18500}.get(dtype, 73)
    gain = net.scale_of(x) * net.scale_of(y) * spread * 1.5 * depth**0.5
    to = {"scale": gain, "zero_point": 0}
    return net.case(
        net.requantized(net.apply("BATCH_MATMUL", x, y, adj_x=adj_x, adj_y=adj_y, **to))
    )


# ---- choices that these have in common -----------------------------------------------------------


def _kernel(choices: Choices) -> Pair:
    small = choices.integer(1, 3), choices.integer(1, 3)
    large = choices.integer(1, 8), choices.integer(1, 8)
    huge = choices.pick(((1, 20), (20, 1), (9, 9), (12, 5), (3, 16)))
    return choices.pick((small, (1, 1), (3, 3), small, large, large, huge))


def _stride(choices: Choices, high: int) -> Pair:
    rows, columns = choices.integer(1, high), choices.integer(1, high)
    return choices.pick(((1, 1), (1, 1), (2, 2), (rows, rows), (rows, columns)))


def _dilation(choices: Choices) -> Pair:
    other = choices.integer(1, 4), choices.integer(1, 4)
    return choices.pick(((1, 1), (1, 1), (1, 1), (2, 2), other))


def _padding(choices: Choices) -> str:
    return choices.pick(("VALID", "SAME"))


def _room(net: Draft, kernel: Pair, dilation: Pair, padding: str) -> Pair:
    """Choose height and width, large enough for the kernel if padding is VALID."""
    height, width = net.extent(18), net.extent(18)
    if padding == "SAME":
        return height, width
    rows, columns = ((k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True))
    return rows + height - 1, columns + width - 1


def vary(net: Draft) -> None:
    """Change the weights' distribution, scales, biases and the output's quantization."""
    layer, specs = net.operators[-1], net.tensors
    weights = next(i for i in layer.inputs if len(specs[i].shape) >= 2 and specs[i].data)
    gain = _vary_weights(net, weights)
    if net.choices.chance(6):
        _shift_weights(net, weights)
    _vary_bias(net, layer.inputs[-1])
    net.requantized(layer.outputs[0], gain)


def _vary_weights(net: Draft, index: int) -> float:
    """Change the distribution of weights; return the factor by which they have become smaller."""
    spec, choices = net.tensors[index], net.choices
    assert spec.data is not None
    values = np.frombuffer(spec.data, spec.dtype).astype(np.int64)
    middle = 128 if spec.dtype == "uint8" else 0
    kind = choices.pick(("full", "full", "small", "sparse", "few"))
    centred = values - middle
    if kind == "small":
        centred = np.sign(centred) * (np.abs(centred) % 8)
    elif kind == "sparse":
        centred = np.where(net.random.random(centred.size) < 0.8, 0, centred)
    elif kind == "few":
        centred = np.array([-90, 0, 11, 120])[np.abs(centred) % 4]
    data = (centred + middle).astype(spec.dtype).tobytes()
    net.tensors[index] = dataclasses.replace(spec, data=data)
    return {"full": 1.0, "small": 0.06, "sparse": 0.45, "few": 1.0}[kind]


def _shift_weights(net: Draft, index: int) -> None:
    """Choose another zero point for weights if TFLite accepts one.

    Of the int8 kernels only FULLY_CONNECTED's accepts one, so a uint8 network then has no twin.
    """
    spec = net.tensors[index]
    if spec.dtype == "uint8":
        point = net.choices.integer(0, 255)
        net.has_twin = False
    elif net.operators[-1].code == "FULLY_CONNECTED" and net.dtype == "int8":
        point = net.choices.integer(-40, 40)
    else:
        return
    if isinstance(spec.zero_point, int) or len(spec.zero_point) == 1:
        net.tensors[index] = dataclasses.replace(spec, zero_point=(point,))


def _vary_bias(net: Draft, index: int) -> None:
    """Sometimes make biases large."""
    spec = net.tensors[index]
    if spec.dtype not in ("int32", "int64") or spec.scale is None or not net.choices.chance(4):
        return
    high = 1 << net.choices.integer(4, 34 if spec.dtype == "int64" else 24)
    values = net.random.integers(-high, high, spec.shape).astype(spec.dtype)
    net.tensors[index] = dataclasses.replace(spec, data=values.tobytes())
