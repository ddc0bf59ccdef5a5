"""Random layers of every type: convolutions, products, pools and softmaxes for one network.

    net = Network("layers", seed=1)
    outputs = [random_layer(net, "int16") for _ in range(20)]

Sizes, strides, paddings, dilations, groups, scales, zero points, biases and activations are drawn
from the network's seed. Output scales are chosen so that most values neither saturate nor vanish.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]
Build = Callable[[NetworkBuilder, str], int]

ACTIVATIONS = ("NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1")
BIASES = {
    "int8": ("int32",),
    "float32": ("float32",),
    "CONV_2D": ("int64", "int32"),
    "FULLY_CONNECTED": ("int64", "int32"),
    "DEPTHWISE_CONV_2D": ("int64",),
    "TRANSPOSE_CONV": ("int64", "int16"),
}
"""The types of a bias, by the input's type, and for int16 by the operator."""
CHANNEL_AXIS = {"DEPTHWISE_CONV_2D": 3}
RMS = {"int8": 73.0, "int16": 18900.0, "float32": 1.0}
"""The root mean square of elements over the whole range of a type."""


def draw(net: NetworkBuilder, low: int, high: int) -> int:
    """Draw an integer, both ends included."""
    return int(net.random.integers(low, high, endpoint=True))


def choice(net: NetworkBuilder, values: Sequence[Any]) -> Any:
    """Draw one of several values."""
    return values[draw(net, 0, len(values) - 1)]


def draw_input(net: NetworkBuilder, shape: Sequence[int], dtype: str, **fixed: Any) -> int:
    """Add an input with a random scale, and a random zero point if the type may have one."""
    if dtype == "float32":
        return net.input(shape, dtype, None)
    scale = float(np.float32(net.random.uniform(0.1, 1.5) / RMS[dtype]))
    point = draw(net, -128, 127) if dtype == "int8" else 0
    return net.input(shape, dtype, **({"scale": scale, "zero_point": point} | fixed))


def like(net: NetworkBuilder, x: int, shape: Sequence[int], gain: float) -> Spec:
    """Describe an output whose real values are about `gain` times as large as x's.

    Sometimes the scale is chosen so that most values saturate, or vanish.
    """
    source = net.tensors[x]
    if source.dtype == "float32":
        return Spec(tuple(shape), "float32")
    assert isinstance(source.scale, float)
    spread = choice(net, (1, 1, 1, 1, 1, 1, 0.02, 30)) * net.random.uniform(0.7, 2)
    scale = float(np.float32(source.scale * gain * spread))
    return Spec(
        tuple(shape), source.dtype, scale, draw(net, -60, 60) if source.dtype == "int8" else 0
    )


def window(net: NetworkBuilder, size: Sequence[int], kernel: Sequence[int]) -> tuple[Any, Any]:
    """Draw strides, dilations and padding; return options and the output's height and width."""
    stride, dilation = (draw(net, 1, 3), draw(net, 1, 3)), (1, 1)
    if draw(net, 0, 1):
        stride, dilation = (1, 1), (draw(net, 1, 3), draw(net, 1, 3))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    fits = all(r <= s for r, s in zip(reach, size, strict=True))
    same = not fits or bool(draw(net, 0, 1))
    out = [
        -(-(s if same else s - r + 1) // step)
        for s, r, step in zip(size, reach, stride, strict=True)
    ]
    return {
        "padding": "SAME" if same else "VALID",
        "stride_h": stride[0], "stride_w": stride[1],
        "dilation_h_factor": dilation[0], "dilation_w_factor": dilation[1],
        "fused_activation_function": choice(net, ACTIVATIONS),
    }, out  # fmt: skip


def weights_and_bias(
    net: NetworkBuilder, code: str, x: int, shape: Sequence[int], channels: int
) -> tuple[list[int], dict[str, Any]]:
    """Add weights and sometimes a bias; return them, and an option for a missing bias."""
    source = net.tensors[x]
    kinds = BIASES.get(source.dtype) or BIASES[code]
    kind = choice(net, kinds)
    has_bias = bool(draw(net, 0, 3))
    if source.dtype == "float32":
        parts = [net.constant(net.random.normal(size=shape).astype(np.float32))]
        if has_bias:
            parts.append(net.constant(net.random.normal(size=channels).astype(np.float32)))
        return parts, {}
    assert isinstance(source.scale, float)
    narrow = source.dtype == "int8" and code != "TRANSPOSE_CONV" and draw(net, 0, 3) == 0
    by_channel = draw(net, 0, 1) and not (narrow and code == "FULLY_CONNECTED")
    count = channels if by_channel else 1
    unit = 18 if narrow else 1
    scales = tuple(float(np.float32(s * unit)) for s in net.random.uniform(0.004, 0.008, count))
    axis = CHANNEL_AXIS.get(code, 0)
    values = net.random_integers(shape)
    parts = [
        int4_constant(net, values, scales, axis)
        if narrow
        else net.constant(values, None, scales, (0,) * count, axis)
    ]
    if has_bias:
        most = 2000 if kind in ("int16", "int32") else 300_000
        values = net.random.integers(-most, most, channels)
        bias_scales = tuple(float(np.float32(source.scale * s)) for s in scales)
        parts.append(net.constant(values, kind, bias_scales, (0,) * count))
    with_type = kind == "int32" and source.dtype == "int16" and not has_bias
    return parts, {"quantized_bias_type": "int32"} if with_type else {}


def int4_constant(net: NetworkBuilder, values: Array, scales: tuple[float, ...], axis: int) -> int:
    """Add the upper halves of int8 values as int4."""
    data = (values >> 4).astype(np.int8).tobytes()
    points = (0,) * len(scales)
    return net.tensor(Spec(values.shape, "int8", scales, points, axis, None, data, is_packed=True))


def conv(net: NetworkBuilder, dtype: str) -> int:
    """Add a CONV_2D, sometimes with groups."""
    groups = choice(net, (1, 1, 2, 3))
    depth, channels = groups * draw(net, 1, 7), groups * draw(net, 1, 5)
    size, kernel = (draw(net, 2, 9), draw(net, 2, 9)), (draw(net, 1, 4), draw(net, 1, 4))
    x = draw_input(net, (draw(net, 1, 2), *size, depth), dtype)
    options, out = window(net, size, kernel)
    shape = (channels, *kernel, depth // groups)
    parts, more = weights_and_bias(net, "CONV_2D", x, shape, channels)
    batch = net.tensors[x].shape[0]
    spec = like(net, x, (batch, *out, channels), math.sqrt(math.prod(shape[1:])) * 0.44)
    return net.operator("CONV_2D", [x, *parts], [spec], options | more)[0]


def depthwise(net: NetworkBuilder, dtype: str) -> int:
    """Add a DEPTHWISE_CONV_2D, sometimes with several outputs per channel."""
    depth, multiplier = draw(net, 1, 19), choice(net, (1, 1, 2, 3))
    size, kernel = (draw(net, 2, 9), draw(net, 2, 9)), (draw(net, 1, 4), draw(net, 1, 4))
    x = draw_input(net, (draw(net, 1, 2), *size, depth), dtype)
    options, out = window(net, size, kernel)
    shape = (1, *kernel, depth * multiplier)
    parts, _ = weights_and_bias(net, "DEPTHWISE_CONV_2D", x, shape, shape[3])
    spec = like(
        net, x, (net.tensors[x].shape[0], *out, shape[3]), math.sqrt(math.prod(kernel)) * 0.44
    )
    options["depth_multiplier"] = multiplier
    return net.operator("DEPTHWISE_CONV_2D", [x, *parts], [spec], options)[0]


def transposed(net: NetworkBuilder, dtype: str) -> int:
    """Add a TRANSPOSE_CONV with any output size that matches its input."""
    depth, channels = draw(net, 1, 7), draw(net, 1, 5)
    kernel, stride = (draw(net, 1, 4), draw(net, 1, 4)), (draw(net, 1, 3), draw(net, 1, 3))
    size = draw(net, 1, 5), draw(net, 1, 5)
    same = bool(draw(net, 0, 1))
    out = [
        (n - 1) * s + (draw(net, 1, s) if same else k)
        for n, k, s in zip(size, kernel, stride, strict=True)
    ]
    batch = draw(net, 1, 2)
    x = draw_input(net, (batch, *size, depth), dtype)
    shape = (channels, *kernel, depth)
    parts, _ = weights_and_bias(net, "TRANSPOSE_CONV", x, shape, channels)
    target = net.constant([batch, *out, channels], "int32")
    taps = math.prod(kernel) / math.prod(stride) * depth
    spec = like(net, x, (batch, *out, channels), math.sqrt(max(taps, 1)) * 0.44)
    options = {
        "padding": "SAME" if same else "VALID", "stride_h": stride[0], "stride_w": stride[1],
        "fused_activation_function": choice(net, ACTIVATIONS),
    }  # fmt: skip
    return net.operator("TRANSPOSE_CONV", [target, parts[0], x, *parts[1:]], [spec], options)[0]


def dense(net: NetworkBuilder, dtype: str) -> int:
    """Add a FULLY_CONNECTED over the last dimension, or over all but the first."""
    lead = (draw(net, 1, 3), draw(net, 1, 4))
    depth, units, keep = draw(net, 1, 40), draw(net, 1, 9), bool(draw(net, 0, 1))
    x = draw_input(net, (*lead, depth), dtype)
    shape = (units, depth if keep else depth * lead[1])
    parts, more = weights_and_bias(net, "FULLY_CONNECTED", x, shape, units)
    gain = math.sqrt(shape[1]) * 0.44
    spec = like(net, x, (*lead, units) if keep else (lead[0], units), gain)
    options = {"fused_activation_function": choice(net, ACTIVATIONS), "keep_num_dims": keep}
    return net.operator("FULLY_CONNECTED", [x, *parts], [spec], options | more)[0]


def dense_of_two_inputs(net: NetworkBuilder, dtype: str) -> int:
    """Add a FULLY_CONNECTED with weights from run time, which may have a zero point."""
    depth, units = draw(net, 1, 30), draw(net, 1, 9)
    x = draw_input(net, (draw(net, 1, 3), depth), dtype)
    kind = "float32" if dtype == "float32" else "int8"
    point = choice(net, (0, 3)) if dtype == "int8" else 0
    w = draw_input(net, (units, depth), kind, scale=0.006, zero_point=point)
    spec = like(net, x, (net.tensors[x].shape[0], units), math.sqrt(depth) * 0.44)
    options = {"fused_activation_function": choice(net, ACTIVATIONS)}
    return net.operator("FULLY_CONNECTED", [x, w, -1], [spec], options)[0]


def matmul(net: NetworkBuilder, dtype: str) -> int:
    """Add a BATCH_MATMUL with broadcast batches; the second operand is sometimes a constant."""
    rows, columns, depth = draw(net, 1, 6), draw(net, 1, 6), draw(net, 1, 20)
    first, second = choice(
        net, (((), ()), ((2,), (2,)), ((3,), (1,)), ((1,), (3,)), ((2, 1), (2, 3)), ((2, 3), (3,)))
    )
    adj_x, adj_y = bool(draw(net, 0, 1)), bool(draw(net, 0, 1))
    x = draw_input(net, (*first, *((depth, rows) if adj_x else (rows, depth))), dtype)
    shape = (*second, *((columns, depth) if adj_y else (depth, columns)))
    scale = None if dtype == "float32" else 0.4 / RMS[dtype]
    if draw(net, 0, 2):
        y = draw_input(net, shape, dtype, **({} if scale is None else {"scale": scale}))
    elif dtype == "float32":
        y = net.constant(net.random.normal(size=shape).astype(np.float32))
    else:
        y = net.constant(net.random_integers(shape, dtype), None, scale)
    batches = np.broadcast_shapes(first, second)
    spec = like(net, x, (*batches, rows, columns), math.sqrt(depth) * 0.4)
    options = {"adj_x": adj_x, "adj_y": adj_y}
    return net.operator("BATCH_MATMUL", [x, y], [spec], options)[0]


def pool(net: NetworkBuilder, dtype: str) -> int:
    """Add a pool of any kind that the type supports."""
    codes = ["AVERAGE_POOL_2D", "MAX_POOL_2D"] + ["L2_POOL_2D"] * (dtype == "float32")
    size, kernel = (draw(net, 2, 9), draw(net, 2, 9)), (draw(net, 1, 4), draw(net, 1, 4))
    shape = (draw(net, 1, 2), *size, draw(net, 1, 19))
    x = draw_input(net, shape, dtype)
    options, out = window(net, size, kernel)
    if (options.pop("dilation_h_factor"), options.pop("dilation_w_factor")) != (1, 1):
        options["padding"], out = "SAME", list(size)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1]}
    spec = net.tensors[x]
    target = Spec((shape[0], *out, shape[3]), dtype, spec.scale, spec.zero_point)
    return net.operator(choice(net, codes), [x], [target], options)[0]


def softmax(net: NetworkBuilder, dtype: str) -> int:
    """Add a SOFTMAX, also from int8 to int16."""
    shape = (draw(net, 1, 3), draw(net, 1, 3), choice(net, (1, 2, 7, 40, 300)))
    x = draw_input(net, shape, dtype)
    beta = float(np.float32(net.random.uniform(0.2, 2)))
    targets = {
        "int8": (Spec(shape, "int8", 1 / 256, -128), Spec(shape, "int16", 1 / 65536, -32768)),
        "int16": (Spec(shape, "int16", 1 / 32768, 0),),
        "float32": (Spec(shape, "float32"),),
    }[dtype]
    return net.operator("SOFTMAX", [x], [choice(net, targets)], {"beta": beta})[0]


LAYERS: tuple[Build, ...] = (
    conv, depthwise, transposed, dense, dense_of_two_inputs, matmul, pool, softmax,
)  # fmt: skip
