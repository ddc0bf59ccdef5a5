"""A random instance of each float operator of TOSA, in float32 or float16."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.tosa_cases import (
    Case,
    draw_broadcast,
    draw_number,
    draw_shape,
    draw_windows,
    pick,
)
from tests.support.tosa_networks import TosaBuilder

KINDS = ("float32", "float16")
REACH = 3.0
NAN_MODES = ("PROPAGATE", "IGNORE")


def _kind(net: TosaBuilder) -> str:
    return str(pick(net, *KINDS))


def _input(net: TosaBuilder, shape: Any, kind: str, low: float = -REACH) -> int:
    """Add an input, whose least value a float type of TOSA's integer spans may not say."""
    return net.input(shape, kind, low, REACH)  # type: ignore[arg-type]  # floats here


def _zeros(net: TosaBuilder, kind: str) -> list[int]:
    return [net.constant([0], kind) for _ in range(2)]


def _nan_mode(net: TosaBuilder) -> dict[str, object]:
    return {"nan_mode": pick(net, *NAN_MODES)}


# ---- layers and windows --------------------------------------------------------------------------


def _layer(
    net: TosaBuilder, name: str, x: int, weights: Any, shape: Any, biases: int, **options: Any
) -> int:
    kind = net.kind_of(x)
    inputs = [
        x,
        net.constant(net.drawn(weights, kind, -1, 1), kind),
        net.constant(net.drawn((biases,), kind, -1, 1), kind),
        *_zeros(net, kind),
    ]
    acc_type = pick(net, "float16", "float32") if kind == "float16" else kind
    return net.op(name, inputs, shape, kind, acc_type=acc_type, **options)


def conv2d(net: TosaBuilder) -> int:
    """Draw a CONV2D."""
    h, w, c, channels = *draw_shape(net, 2, 7), draw_number(net, 1, 4), draw_number(net, 1, 4)
    kernel = draw_shape(net, 2, 3)
    pad, stride, dilation = draw_windows(net, (h, w), kernel)
    shape = (2, *net.slid((h, w), kernel, pad, stride, dilation), channels)
    x = _input(net, (2, h, w, c), _kind(net))
    return _layer(
        net, "CONV2D", x, (channels, *kernel, c), shape, channels, pad=pad, stride=stride,
        dilation=dilation,
    )  # fmt: skip


def conv3d(net: TosaBuilder) -> int:
    """Draw a CONV3D."""
    sizes, kernel = draw_shape(net, 3, 4), draw_shape(net, 3, 2)
    pad, stride, dilation = draw_windows(net, sizes, kernel)
    shape = (1, *net.slid(sizes, kernel, pad, stride, dilation), 3)
    x = _input(net, (1, *sizes, 2), _kind(net))
    return _layer(
        net, "CONV3D", x, (3, *kernel, 2), shape, 1, pad=pad, stride=stride, dilation=dilation
    )


def depthwise(net: TosaBuilder) -> int:
    """Draw a DEPTHWISE_CONV2D."""
    (h, w), kernel = draw_shape(net, 2, 6), draw_shape(net, 2, 3)
    c, m = draw_number(net, 1, 4), draw_number(net, 1, 3)
    pad, stride, dilation = draw_windows(net, (h, w), kernel)
    shape = (1, *net.slid((h, w), kernel, pad, stride, dilation), c * m)
    x = _input(net, (1, h, w, c), _kind(net))
    return _layer(
        net, "DEPTHWISE_CONV2D", x, (*kernel, c, m), shape, c * m, pad=pad, stride=stride,
        dilation=dilation,
    )  # fmt: skip


def transpose_conv2d(net: TosaBuilder) -> int:
    """Draw a TRANSPOSE_CONV2D."""
    (h, w), kernel, stride = draw_shape(net, 2, 4), draw_shape(net, 2, 4), draw_shape(net, 2, 3)
    out = [(n - 1) * stride[i] + kernel[i] + 1 for i, n in enumerate((h, w))]
    x = _input(net, (1, h, w, 3), _kind(net))
    return _layer(
        net, "TRANSPOSE_CONV2D", x, (4, *kernel, 3), (1, *out, 4), 4, out_pad=(1, 0, 0, 1),
        stride=stride,
    )  # fmt: skip


def matmul(net: TosaBuilder) -> int:
    """Draw a MATMUL; one of float16 may make float32."""
    kind = _kind(net)
    n, h, c, w = draw_shape(net, 4)
    result = _kind(net) if kind == "float16" else kind
    inputs = [_input(net, (n, h, c), kind), _input(net, (n, c, w), kind), *_zeros(net, kind)]
    return net.op("MATMUL", inputs, (n, h, w), result)


def _pool(name: str) -> Case:
    def case(net: TosaBuilder) -> int:
        kind, sizes, kernel = _kind(net), draw_shape(net, 2, 7), draw_shape(net, 2, 3)
        pad, stride, _ = draw_windows(net, sizes, kernel, dilated=False)
        if any(p >= kernel[i // 2] for i, p in enumerate(pad)):
            kernel, pad, stride = (1, 1), (0, 0, 0, 0), (1, 1)
        shape = (1, *net.slid(sizes, kernel, pad, stride, (1, 1)), 3)
        is_mean = name == "AVG_POOL2D"
        inputs = [_input(net, (1, *sizes, 3), kind), *(_zeros(net, kind) if is_mean else ())]
        more = {"acc_type": "float32"} if is_mean else _nan_mode(net)
        return net.op(name, inputs, shape, kind, kernel=kernel, pad=pad, stride=stride, **more)

    return case


def resize(net: TosaBuilder) -> int:
    """Draw a RESIZE of either mode, up by a factor."""
    kind, mode, sizes = _kind(net), str(pick(net, "NEAREST", "BILINEAR")), draw_shape(net, 2)
    up = [draw_number(net, 1, 5) for _ in range(2)]
    shapes = [[up[0], 1, up[1], 1], [0, 0], [0, 0]]
    inputs = [_input(net, (1, *sizes, 2), kind)]
    inputs += [net.constant(values, "int64") for values in shapes]
    out = [(size - 1) * n + 1 for size, n in zip(sizes, up, strict=True)]
    return net.op("RESIZE", inputs, (1, *out, 2), kind, mode=mode)


def _transform(name: str) -> Case:
    def case(net: TosaBuilder) -> int:
        height, width = (1 << draw_number(net, 0, 3) for _ in range(2))
        is_real = name == "RFFT2D"
        inputs = [_input(net, (2, height, width), "float32") for _ in range(1 if is_real else 2)]
        shape = (2, height, width // 2 + 1 if is_real else width)
        more = {} if is_real else {"inverse": bool(draw_number(net, 0, 1))}
        first = net.op(name, inputs, shape, "float32", **more)
        second = net.tensor(shape, "float32")
        net.operators[-1] = net.operators[-1].__class__(
            **{**vars(net.operators[-1]), "outputs": (first, second)}
        )
        return net.op("ADD", [first, second], shape, "float32")

    return case


# ---- element by element --------------------------------------------------------------------------


def _unary(name: str, low: float = -REACH) -> Case:
    def case(net: TosaBuilder) -> int:
        kind, shape = _kind(net), draw_shape(net)
        zeros = _zeros(net, kind) if name == "NEGATE" else []
        return net.op(name, [_input(net, shape, kind, low), *zeros], shape, kind)

    return case


def _binary(name: str, result: str = "", low: float = -REACH, **modes: Any) -> Case:
    def case(net: TosaBuilder) -> int:
        kind = _kind(net)
        first, second, shape = draw_broadcast(net)
        inputs = [_input(net, first, kind, low), _input(net, second, kind, low)]
        inputs += [net.constant([0], "int8")] if name == "MUL" else []
        more = _nan_mode(net) if modes else {}
        return net.op(name, inputs, shape, result or kind, **more)

    return case


def clamp(net: TosaBuilder) -> int:
    """Draw a CLAMP."""
    kind, shape = _kind(net), draw_shape(net)
    low, high = np.sort(net.random.standard_normal(2)).astype(kind)
    bounds = {"min_val": tuple(low.tobytes()), "max_val": tuple(high.tobytes())}
    return net.op("CLAMP", [_input(net, shape, kind)], shape, kind, **bounds, **_nan_mode(net))


def cast(net: TosaBuilder) -> int:
    """Draw a CAST from or to floats."""
    source = str(pick(net, *KINDS, "int8", "int16", "int32"))
    targets = [kind for kind in (*KINDS, "int8", "int16", "int32") if kind != source]
    target = str(pick(net, *(targets if source in KINDS else KINDS)))
    shape = draw_shape(net)
    x = _input(net, shape, source, -200) if source in KINDS else net.input(shape, source, -99, 99)
    return net.op("CAST", [x], shape, target)


def _reduce(name: str) -> Case:
    def case(net: TosaBuilder) -> int:
        kind, shape = _kind(net), draw_shape(net)
        axis = draw_number(net, 0, len(shape) - 1)
        target = (*shape[:axis], 1, *shape[axis + 1 :])
        more = _nan_mode(net) if name in ("REDUCE_MAX", "REDUCE_MIN") else {}
        return net.op(name, [_input(net, shape, kind)], target, kind, axis=axis, **more)

    return case


def argmax(net: TosaBuilder) -> int:
    """Draw an ARGMAX."""
    shape = draw_shape(net)
    axis = draw_number(net, 0, len(shape) - 1)
    target = (*shape[:axis], *shape[axis + 1 :])
    x = _input(net, shape, _kind(net))
    return net.op("ARGMAX", [x], target, "int32", axis=axis, **_nan_mode(net))


def select(net: TosaBuilder) -> int:
    """Draw a SELECT."""
    kind = _kind(net)
    first, second, shape = draw_broadcast(net)
    inputs = [net.input(shape, "bool"), _input(net, first, kind), _input(net, second, kind)]
    return net.op("SELECT", inputs, shape, kind)


# ---- moves ---------------------------------------------------------------------------------------


def _moved(
    name: str, operands: Callable[[TosaBuilder, Any], tuple[list[Any], Any, dict[str, Any]]]
) -> Case:
    def case(net: TosaBuilder) -> int:
        kind, shape = _kind(net), draw_shape(net)
        lists, target, options = operands(net, shape)
        inputs = [_input(net, shape, kind)]
        for values in lists:
            is_value = isinstance(values, float)
            inputs.append(
                net.constant([values] if is_value else values, kind if is_value else "int64")
            )
        return net.op(name, inputs, target, kind, **options)

    return case


def _pad(_net: TosaBuilder, shape: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    return [[1, 2] * len(shape), 0.5], [size + 3 for size in shape], {}


def _tile(_net: TosaBuilder, shape: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    return [[2] * len(shape)], [size * 2 for size in shape], {}


def _slice(_net: TosaBuilder, shape: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    return [[size - 1 for size in shape], [1] * len(shape)], [1] * len(shape), {}


def _reshape(_net: TosaBuilder, shape: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    target = (int(np.prod(shape)), 1)
    return [target], target, {}


def _transpose(_net: TosaBuilder, shape: Any) -> tuple[list[Any], Any, dict[str, Any]]:
    order = tuple(reversed(range(len(shape))))
    return [], shape[::-1], {"perms": order}


def concat(net: TosaBuilder) -> int:
    """Draw a CONCAT of two inputs."""
    kind, shape = _kind(net), draw_shape(net)
    inputs = [_input(net, shape, kind), _input(net, shape, kind)]
    return net.op("CONCAT", inputs, (2 * shape[0], *shape[1:]), kind, axis=0)


def gather(net: TosaBuilder) -> int:
    """Draw a GATHER."""
    kind, (n, k, c) = _kind(net), draw_shape(net, 3)
    inputs = [_input(net, (n, k, c), kind), net.input((n, 4), "int32", 0, k - 1)]
    return net.op("GATHER", inputs, (n, 4, c), kind)


def scatter(net: TosaBuilder) -> int:
    """Draw a SCATTER of one row."""
    kind, (n, k, c) = _kind(net), draw_shape(net, 3)
    inputs = [_input(net, (n, k, c), kind), net.input((n, 1), "int32", 0, k - 1)]
    return net.op("SCATTER", [*inputs, _input(net, (n, 1, c), kind)], (n, k, c), kind)


FLOAT_CASES: dict[str, Case] = {
    "ARGMAX": argmax,
    "AVG_POOL2D": _pool("AVG_POOL2D"),
    "CONV2D": conv2d,
    "CONV3D": conv3d,
    "DEPTHWISE_CONV2D": depthwise,
    "FFT2D": _transform("FFT2D"),
    "MATMUL": matmul,
    "MAX_POOL2D": _pool("MAX_POOL2D"),
    "RFFT2D": _transform("RFFT2D"),
    "TRANSPOSE_CONV2D": transpose_conv2d,
    "CLAMP": clamp,
    **{name: _unary(name) for name in ("ERF", "SIGMOID", "TANH", "ABS", "CEIL", "COS", "EXP")},
    **{name: _unary(name) for name in ("FLOOR", "NEGATE", "SIN")},
    **{name: _unary(name, 0.1) for name in ("LOG", "RECIPROCAL", "RSQRT")},
    **{name: _binary(name) for name in ("ADD", "SUB", "MUL")},
    **{name: _binary(name, "bool") for name in ("EQUAL", "GREATER", "GREATER_EQUAL")},
    **{name: _binary(name, nan=True) for name in ("MAXIMUM", "MINIMUM")},
    "POW": _binary("POW", low=0.1),
    "SELECT": select,
    "REDUCE_MAX": _reduce("REDUCE_MAX"),
    "REDUCE_MIN": _reduce("REDUCE_MIN"),
    "REDUCE_PRODUCT": _reduce("REDUCE_PRODUCT"),
    "REDUCE_SUM": _reduce("REDUCE_SUM"),
    "CONCAT": concat,
    "PAD": _moved("PAD", _pad),
    "RESHAPE": _moved("RESHAPE", _reshape),
    "REVERSE": _moved("REVERSE", lambda _, shape: ([], shape, {"axis": 0})),
    "SLICE": _moved("SLICE", _slice),
    "TILE": _moved("TILE", _tile),
    "TRANSPOSE": _moved("TRANSPOSE", _transpose),
    "GATHER": gather,
    "SCATTER": scatter,
    "RESIZE": resize,
    "CAST": cast,
    "IDENTITY": _unary("IDENTITY"),
}
"""By operator; of float16 and float32 alike."""
