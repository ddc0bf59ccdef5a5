"""The output shapes of convolutions, pools, matrix products and RESIZE, and their requirements."""

from collections.abc import Sequence

from ethosgen.frontend.tosa.misfit import require
from ethosgen.values.grammar import counted
from ethosgen.values.network import Operator, Tensor

Shape = tuple[int, ...]

_MOST_SCALE = 1 << 11
_MOST_SHRINK = 16
"""RESIZE's limits: the numerator, and how many times smaller the output may be."""
_RESIZED = 1 << 14
"""RESIZE's sizes are below this."""
_UNSIGNED_MIDDLE = -(1 << 15)
"""The zero point 32768 of an unsigned int16, as a signed number has it."""


def zero_point(tensor: Tensor, is_unsigned: bool = False) -> None:
    """Require one value, and 0 unless the type is int8, or unsigned int16 around its middle."""
    require(tensor.elements == 1 and len(tensor.shape) == 1, "has several zero points")
    value = tensor.array().reshape(-1)[0].item()
    is_middle = tensor.dtype == "int16" and is_unsigned and value == _UNSIGNED_MIDDLE
    require(
        value == 0 or (tensor.dtype == "int8" and not tensor.is_packed) or is_middle,
        f"has the zero point {value} for {'int4' if tensor.is_packed else tensor.dtype}",
    )


def convolution(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of CONV2D or CONV3D."""
    source, weights = tensors[0].shape, tensors[1].shape
    rank = 4 if op.code == "TOSA_CONV2D" else 5
    require(len(source) == len(weights) == rank, f"has weights {list(weights)}")
    _require_depth(weights[-1], source)
    _layer(tensors, weights[0])
    return (source[0], *_slid(op, source[1:-1], weights[1:-1]), weights[0])


def _require_depth(depth: int, source: Shape) -> None:
    require(depth == source[-1], f"has weights for {depth} of {counted(source[-1], 'channel')}")


def depthwise(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of DEPTHWISE_CONV2D."""
    source, weights = tensors[0].shape, tensors[1].shape
    require(len(source) == len(weights) == 4, f"has weights {list(weights)}")
    _require_depth(weights[2], source)
    channels = weights[2] * weights[3]
    _layer(tensors, channels)
    return (source[0], *_slid(op, source[1:3], weights[:2]), channels)


def transposed(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of TRANSPOSE_CONV2D."""
    source, weights = tensors[0].shape, tensors[1].shape
    require(len(source) == len(weights) == 4, f"has weights {list(weights)}")
    _require_depth(weights[3], source)
    _layer(tensors, weights[0])
    pads, strides = _numbers(op, "out_pad", 4), _numbers(op, "stride", 2)
    require(min(strides) > 0, f"has strides of {strides}")
    sizes = []
    for i in (0, 1):
        before, after = pads[2 * i : 2 * i + 2]
        require(min(before, after) > -weights[i + 1], f"has an out_pad of {list(pads)}")
        sizes.append((source[i + 1] - 1) * strides[i] + before + after + weights[i + 1])
    return (source[0], *sizes, weights[0])


def pool(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of a pool."""
    source = tensors[0].shape
    require(len(source) == 4, f"has an input of shape {list(source)}")
    kernel = _numbers(op, "kernel", 2)
    pads = _numbers(op, "pad", 4)
    require(min(kernel) > 0, f"has a kernel of {list(kernel)}")
    inside = all(pad < kernel[i // 2] for i, pad in enumerate(pads))
    require(inside, f"has a padding {list(pads)} as large as its kernel")
    if op.code == "TOSA_AVG_POOL2D":
        _accumulates(op, tensors[0])
        for tensor in tensors[1:3]:
            zero_point(tensor)
    return (source[0], *_slid(op, source[1:3], kernel), source[3])


def matmul(_op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of MATMUL."""
    first, second = tensors[0].shape, tensors[1].shape
    fits = len(first) == len(second) == 3 and first[0] == second[0] and first[2] == second[1]
    require(fits, f"multiplies {list(first)} by {list(second)}")
    for tensor in tensors[2:4]:
        zero_point(tensor)
    return (first[0], first[1], second[2])


def resize(op: Operator, tensors: Sequence[Tensor]) -> Shape:
    """Return the shape of RESIZE."""
    source, target = tensors[0], tensors[-1]
    mode = op.options["mode"]
    require(mode in ("NEAREST", "BILINEAR"), f"has the mode {mode}")
    is_same, is_float = source.dtype == target.dtype, target.dtype == "float32"
    require(is_float or is_same == (mode == "NEAREST"), f"makes {target.dtype} in mode {mode}")
    shape = source.shape
    require(len(shape) == 4, f"has an input of shape {list(shape)}")
    lists = []
    for tensor, count in zip(tensors[1:4], (4, 2, 2), strict=True):
        require(
            tensor.shape == (count,), f"has {counted(tensor.elements, 'number')} instead of {count}"
        )
        lists.append([int(value) for value in tensor.array()])
    scale, offset, border = lists
    sizes = []
    for i in (0, 1):
        up, down = scale[2 * i : 2 * i + 2]
        require(0 < up <= _MOST_SCALE and 0 < down < _MOST_SHRINK * up, f"has a scale of {scale}")
        require(-up <= offset[i] < _MOST_SHRINK * up, f"has an offset of {offset}")
        require(-_MOST_SHRINK * up <= border[i] < up, f"has a border of {border}")
        sizes.append(_exact((shape[i + 1] - 1) * up - offset[i] + border[i], down) + 1)
    most = max(*shape[1:3], *sizes)
    require(most < _RESIZED, f"resizes an axis to or from {most}, and the limit is {_RESIZED - 1}")
    return (shape[0], *sizes, shape[3])


def _slid(op: Operator, source: Shape, kernel: Shape) -> Shape:
    """Return the sizes of a window's output; TOSA requires that it fits without a remainder."""
    count = len(source)
    pads, strides = _numbers(op, "pad", 2 * count), _numbers(op, "stride", count)
    has_dilation = "dilation" in op.options
    dilations = _numbers(op, "dilation", count) if has_dilation else (1,) * count
    require(min(*strides, *dilations) > 0, f"has strides {list(strides)}, {list(dilations)}")
    require(min(pads) >= 0, f"has a padding of {list(pads)}")
    return tuple(
        _exact(
            source[i] - 1 + pads[2 * i] + pads[2 * i + 1] - (kernel[i] - 1) * dilations[i],
            strides[i],
        )
        + 1
        for i in range(count)
    )


def _exact(distance: int, step: int) -> int:
    require(
        distance >= 0 and distance % step == 0,
        f"moves over {distance} in steps of {step}, which leaves a rest",
    )
    return distance // step


def _layer(tensors: Sequence[Tensor], channels: int) -> None:
    bias = tensors[2].shape
    require(bias in ((channels,), (1,)), f"has a bias of shape {list(bias)}")
    for tensor in tensors[3:5]:
        zero_point(tensor)


def _accumulates(op: Operator, source: Tensor) -> None:
    halves = ("float16", "float32") if source.is_half else ("float32",)
    known = halves if source.dtype == "float32" else ("int32",)
    require(op.options["acc_type"] in known, f"accumulates in {op.options['acc_type']}")


def _numbers(op: Operator, name: str, count: int) -> Shape:
    values = tuple(op.options[name])
    require(len(values) == count, f"has a {name} of {list(values)}")
    return values
