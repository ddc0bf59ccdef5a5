"""A random instance of each operator of TOSA's integer profile, for tests against its oracle.

A case adds inputs and one operator to a builder and returns the output. Inputs stay where TOSA
defines the result: sums do not overflow, indices are in range.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tests.support.tosa_networks import WIDE, TosaBuilder

Case = Callable[[TosaBuilder], int]


def draw_shape(net: TosaBuilder, rank: int | None = None, most: int = 5) -> tuple[int, ...]:
    """Draw a shape of 1 to 4 dimensions, or of a rank."""
    rank = int(net.random.integers(1, 5)) if rank is None else rank
    return tuple(int(n) for n in net.random.integers(1, most + 1, rank))


def pick(net: TosaBuilder, *choices: object) -> object:
    """Draw one of some choices."""
    return choices[int(net.random.integers(len(choices)))]


def draw_number(net: TosaBuilder, low: int, high: int) -> int:
    """Draw a whole number from low to high."""
    return int(net.random.integers(low, high + 1))


def _narrow(net: TosaBuilder, x: int) -> int:
    """Rescale int48, which networks cannot return, to int32; another type stays."""
    is_wide = net.tensors[x].dtype == "int64"
    return net.rescale(x, "int32", 0.7, input_zp=0) if is_wide else x


def _point(net: TosaBuilder, dtype: str) -> int:
    return draw_number(net, -128, 127) if dtype == "int8" else 0


def draw_broadcast(net: TosaBuilder) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Draw the shapes of two inputs that broadcast, and of what they make."""
    full = draw_shape(net)
    shapes = [tuple(1 if net.random.random() < 0.3 else n for n in full) for _ in range(2)]
    first, second = shapes
    whole = tuple(max(a, b) for a, b in zip(first, second, strict=True))
    return first, second, whole


# ---- layers and windows --------------------------------------------------------------------------


def _window(net: TosaBuilder, size: int, taps: int, dilation: int) -> tuple[int, int, int]:
    """Draw padding before, padding after and a stride that fits without a rest."""
    before, after = draw_number(net, 0, taps - 1), draw_number(net, 0, taps - 1)
    distance = size - 1 + before + after - (taps - 1) * dilation
    while distance < 0:
        after, distance = after + 1, distance + 1
    strides = [s for s in (1, 2, 3) if distance % s == 0]
    return before, after, int(net.random.choice(strides))


def draw_windows(
    net: TosaBuilder, sizes: Sequence[int], taps: Sequence[int], dilated: bool = True
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Draw padding, strides and dilations of a window."""
    dilation = tuple(draw_number(net, 1, 2) if dilated else 1 for _ in sizes)
    drawn = [_window(net, s, t, d) for s, t, d in zip(sizes, taps, dilation, strict=True)]
    pad = tuple(p for before, after, _ in drawn for p in (before, after))
    return pad, tuple(stride for *_, stride in drawn), dilation


def conv2d(net: TosaBuilder) -> int:
    """Draw a CONV2D of int8, int16 or with int4 weights."""
    dtype = str(pick(net, "int8", "int8", "int16"))
    weights = "int4" if dtype == "int8" and net.random.random() < 0.3 else "int8"
    n, h, w, c = (draw_number(net, 1, 2), *draw_shape(net, 2, 7), draw_number(net, 1, 5))
    kernel = draw_shape(net, 2, 3)
    pad, stride, dilation = draw_windows(net, (h, w), kernel)
    return _narrow(net, net.conv2d(
        net.input((n, h, w, c), dtype), draw_number(net, 1, 5), kernel, pad=pad, stride=stride,
        dilation=dilation, zero_point=_point(net, dtype), weights=weights,
        weight_zero_point=0 if weights == "int4" else draw_number(net, -8, 7),
        one_bias=net.random.random() < 0.3,
    ))  # fmt: skip


def conv3d(net: TosaBuilder) -> int:
    """Draw a CONV3D."""
    dtype = str(pick(net, "int8", "int16"))
    sizes, kernel, depth, channels = draw_shape(net, 3, 4), draw_shape(net, 3, 2), 2, 3
    pad, stride, dilation = draw_windows(net, sizes, kernel)
    out = net.slid(sizes, kernel, pad, stride, dilation)
    return _narrow(net, net.layer(
        "CONV3D", net.input((1, *sizes, depth), dtype), (channels, *kernel, depth),
        (1, *out, channels), zero_point=_point(net, dtype), pad=pad, stride=stride,
        weight_zero_point=draw_number(net, -9, 9), dilation=dilation,
    ))  # fmt: skip


def depthwise(net: TosaBuilder) -> int:
    """Draw a DEPTHWISE_CONV2D."""
    dtype = str(pick(net, "int8", "int16"))
    (h, w), kernel = draw_shape(net, 2, 6), draw_shape(net, 2, 3)
    c, m = draw_number(net, 1, 4), draw_number(net, 1, 3)
    pad, stride, dilation = draw_windows(net, (h, w), kernel)
    out = net.slid((h, w), kernel, pad, stride, dilation)
    return _narrow(net, net.layer(
        "DEPTHWISE_CONV2D", net.input((2, h, w, c), dtype), (*kernel, c, m), (2, *out, c * m),
        biases=c * m, zero_point=_point(net, dtype), weight_zero_point=draw_number(net, -9, 9),
        pad=pad, stride=stride, dilation=dilation,
    ))  # fmt: skip


def transpose_conv2d(net: TosaBuilder) -> int:
    """Draw a TRANSPOSE_CONV2D, with out_pad of both signs."""
    dtype = str(pick(net, "int8", "int16"))
    (h, w), kernel, stride = draw_shape(net, 2, 4), draw_shape(net, 2, 4), draw_shape(net, 2, 3)
    pads = [draw_number(net, 1 - kernel[i // 2], 2) for i in range(4)]
    out = [(n - 1) * stride[i] + pads[2 * i] + pads[2 * i + 1] + kernel[i]
           for i, n in enumerate((h, w))]  # fmt: skip
    if min(out) < 1:
        pads = [0] * 4
        out = [(n - 1) * stride[i] + kernel[i] for i, n in enumerate((h, w))]
    return _narrow(net, net.layer(
        "TRANSPOSE_CONV2D", net.input((1, h, w, 3), dtype), (4, *kernel, 3), (1, *out, 4),
        zero_point=_point(net, dtype), weight_zero_point=draw_number(net, -9, 9),
        out_pad=tuple(pads), stride=stride,
    ))  # fmt: skip


def matmul(net: TosaBuilder) -> int:
    """Draw a MATMUL."""
    dtype = str(pick(net, "int8", "int16"))
    n, h, c, w = draw_shape(net, 4)
    inputs = [net.input((n, h, c), dtype), net.input((n, c, w), dtype)]
    points = [net.constant([_point(net, dtype)], dtype) for _ in range(2)]
    return _narrow(net, net.op("MATMUL", [*inputs, *points], (n, h, w), WIDE[dtype]))


def _pool(net: TosaBuilder, name: str) -> int:
    dtype = str(pick(net, "int8", "int16"))
    (h, w), kernel = draw_shape(net, 2, 7), draw_shape(net, 2, 3)
    pad, stride, _ = draw_windows(net, (h, w), kernel, dilated=False)
    if any(p >= kernel[i // 2] for i, p in enumerate(pad)):
        kernel, pad, stride = (1, 1), (0, 0, 0, 0), (1, 1)
    out = net.slid((h, w), kernel, pad, stride, (1, 1))
    inputs = [net.input((1, h, w, 3), dtype)]
    more: dict[str, object] = {"nan_mode": "PROPAGATE"}
    if name == "AVG_POOL2D":
        inputs += [net.constant([_point(net, dtype)], dtype) for _ in range(2)]
        more = {"acc_type": "int32"}
    return net.op(name, inputs, (1, *out, 3), dtype, kernel=kernel, pad=pad, stride=stride, **more)


def resize(net: TosaBuilder) -> int:
    """Draw a RESIZE of either mode, up or down."""
    dtype, mode = str(pick(net, "int8", "int16")), str(pick(net, "NEAREST", "BILINEAR"))
    sizes = [draw_number(net, 1, 6) for _ in range(2)]
    scale, offset, border, out = [], [], [], []
    for size in sizes:
        up, down = draw_number(net, 1, 9), draw_number(net, 1, 9)
        start = draw_number(net, -up, up)
        end = draw_number(net, -up, up - 1)
        while ((size - 1) * up - start + end) % down or (size - 1) * up - start + end < 0:
            start, end = (start - 1, end) if start > -up else (start + down, -up)
            if start > 3 * up + down:
                up, down, start, end = 2, 1, 0, 0
        scale += [up, down]
        offset.append(start)
        border.append(end)
        out.append(((size - 1) * up - start + end) // down + 1)
    target = dtype if mode == "NEAREST" else {"int8": "int32", "int16": "int64"}[dtype]
    shapes = [net.constant(values, "int64") for values in (scale, offset, border)]
    inputs = [net.input((1, *sizes, 2), dtype), *shapes]
    return _narrow(net, net.op("RESIZE", inputs, (1, *out, 2), target, mode=mode))


# ---- element by element --------------------------------------------------------------------------


def rescale(net: TosaBuilder) -> int:
    """Draw a RESCALE: types, signs, one factor or one for each channel, one or two roundings."""
    source = str(pick(net, "int8", "int16", "int32", "int32", "int64"))
    target = str(pick(net, "int8", "int16", "int32"))
    shape = draw_shape(net) if source != "int64" else (1, *draw_shape(net, 2))
    wide = source != "int64" and net.random.random() < 0.8
    span = {"int8": 1e2, "int16": 1e4, "int32": 1e6, "int64": 1e9}
    goal = {"int8": 1e2, "int16": 1e4, "int32": 1e8}[target]
    count = shape[-1] if net.random.random() < 0.4 else 0
    factors = [min(goal / span[source] * float(net.random.uniform(0.01, 2)), 8e3 if not wide else
               5e8) for _ in range(max(count, 1))]  # fmt: skip
    unsigned = source in ("int8", "int16") and target != "int32" and net.random.random() < 0.3
    is_open = (
        target != "int32"
        and source not in ("int32", "int64")
        and not unsigned
        and net.random.random() < 0.3
    )
    x = _wide(net, shape) if source == "int64" else net.input(shape, source, *_reach(span[source]))
    return net.rescale(
        x, target, factors if count else factors[0],
        input_zp=_zero(net, source, unsigned), output_zp=_zero(net, target, is_open),
        rounding=str(pick(net, "SINGLE_ROUND", "DOUBLE_ROUND")) if wide else "SINGLE_ROUND",
        scale32=wide, input_unsigned=unsigned, output_unsigned=is_open,
    )  # fmt: skip


def _wide(net: TosaBuilder, shape: Sequence[int]) -> int:
    """Add int48 sums of a shape."""
    rows, depth = int(np.prod(shape[:-1])), 4
    factors = [net.input((1, rows, depth), "int16"), net.input((1, depth, shape[-1]), "int16")]
    points = [net.constant([0], "int16"), net.constant([0], "int16")]
    return net.op("MATMUL", [*factors, *points], (1, rows, shape[-1]), "int64")


def _reach(most: float) -> tuple[int | None, int]:
    return (None, 0) if most < 1e5 else (-int(most), int(most))


def _zero(net: TosaBuilder, dtype: str, is_unsigned: bool) -> int:
    if dtype == "int16" and is_unsigned:
        return 0 if net.random.random() < 0.5 else -(1 << 15)
    return _point(net, dtype)


def table(net: TosaBuilder) -> int:
    """Draw a TABLE of int8 or int16."""
    if net.random.random() < 0.5:
        values, dtype = net.drawn((256,), "int8"), "int8"
    else:
        values, dtype = net.drawn((513,), "int16", -16000, 16000), "int16"
    shape = draw_shape(net)
    target = "int8" if dtype == "int8" else "int32"
    return net.op("TABLE", [net.input(shape, dtype), net.constant(values, dtype)], shape, target)


def clamp(net: TosaBuilder) -> int:
    """Draw a CLAMP."""
    dtype, shape = str(pick(net, "int8", "int16")), draw_shape(net)
    low, high = np.sort(net.drawn((2,), dtype))
    return net.op(
        "CLAMP", [net.input(shape, dtype)], shape, dtype, min_val=tuple(low.tobytes()),
        max_val=tuple(high.tobytes()), nan_mode="PROPAGATE",
    )  # fmt: skip


def negate(net: TosaBuilder) -> int:
    """Draw a NEGATE."""
    dtype, shape = str(pick(net, "int8", "int16", "int32")), draw_shape(net)
    low = None if dtype == "int8" else -(1 << (8 * np.dtype(dtype).itemsize - 1)) + 1
    x = net.input(shape, dtype, low, -(low or 0))
    points = [net.constant([_point(net, dtype)], dtype) for _ in range(2)]
    return net.op("NEGATE", [x, *points], shape, dtype)


def cast(net: TosaBuilder) -> int:
    """Draw a CAST between two types."""
    types = ["bool", "int8", "int16", "int32"]
    source, target = net.random.choice(types, 2, replace=False)
    shape = draw_shape(net)
    return net.op("CAST", [net.input(shape, str(source))], shape, str(target))


def _unary(name: str, *dtypes: str) -> Case:
    def case(net: TosaBuilder) -> int:
        dtype, shape = str(pick(net, *dtypes)), draw_shape(net)
        low = -(1 << 31) + 1 if name == "ABS" else None
        return net.op(name, [net.input(shape, dtype, low, (1 << 31) - 1)], shape, dtype)

    return case


def identity(net: TosaBuilder) -> int:
    """Draw an IDENTITY, also of int48."""
    dtype, shape = str(pick(net, *_ANY, "int64")), (1, *draw_shape(net, 2))
    x = _wide(net, shape) if dtype == "int64" else net.input(shape, dtype)
    return _narrow(net, net.op("IDENTITY", [x], shape, dtype))


def _binary(
    name: str, *dtypes: str, result: str = "", low: int | None = None, high: int = 0
) -> Case:
    def case(net: TosaBuilder) -> int:
        dtype = str(pick(net, *dtypes))
        first, second, shape = draw_broadcast(net)
        inputs = [net.input(first, dtype, low, high), net.input(second, dtype, low, high)]
        more = {"nan_mode": "PROPAGATE"} if name in ("MAXIMUM", "MINIMUM") else {}
        return net.op(name, inputs, shape, result or dtype, **more)

    return case


def _shift(name: str) -> Case:
    def case(net: TosaBuilder) -> int:
        dtype = str(pick(net, "int8", "int16", "int32"))
        first, second, shape = draw_broadcast(net)
        most = 8 * np.dtype(dtype).itemsize - 1
        inputs = [net.input(first, dtype), net.input(second, dtype, 0, most)]
        more = {"round": bool(draw_number(net, 0, 1))} if name.startswith("ARITHMETIC") else {}
        return net.op(name, inputs, shape, dtype, **more)

    return case


def intdiv(net: TosaBuilder) -> int:
    """Draw an INTDIV."""
    first, second, shape = draw_broadcast(net)
    inputs = [net.input(first, "int32"), net.input(second, "int32", 1, 1000)]
    return net.op("INTDIV", inputs, shape, "int32")


def mul(net: TosaBuilder) -> int:
    """Draw a MUL, of int32 with a shift."""
    dtype = str(pick(net, "int8", "int16", "int32"))
    first, second, whole = draw_broadcast(net)
    shift = draw_number(net, 0, 40) if dtype == "int32" else 0
    most = None if dtype != "int32" else int(2 ** ((29 + shift) / 2)) if shift < 31 else None
    inputs = [net.input(shape, dtype, most and -most, most or 0) for shape in (first, second)]
    return net.op("MUL", [*inputs, net.constant([shift], "int8")], whole, "int32")


def select(net: TosaBuilder) -> int:
    """Draw a SELECT."""
    dtype = str(pick(net, "bool", "int8", "int16", "int32"))
    first, second, shape = draw_broadcast(net)
    inputs = [net.input(shape, "bool"), net.input(first, dtype), net.input(second, dtype)]
    return net.op("SELECT", inputs, shape, dtype)


# ---- reductions and moves ------------------------------------------------------------------------


def _reduce(name: str, *dtypes: str) -> Case:
    def case(net: TosaBuilder) -> int:
        dtype, shape = str(pick(net, *dtypes)), draw_shape(net)
        axis = draw_number(net, 0, len(shape) - 1)
        target = (*shape[:axis], 1, *shape[axis + 1 :])
        more = (
            {} if name in ("REDUCE_ALL", "REDUCE_ANY", "REDUCE_SUM") else {"nan_mode": "PROPAGATE"}
        )
        low = -(1 << 27) if name == "REDUCE_SUM" else None
        x = net.input(shape, dtype, low, 1 << 27)
        return net.op(name, [x], target, dtype, axis=axis, **more)

    return case


def argmax(net: TosaBuilder) -> int:
    """Draw an ARGMAX, with equal values."""
    dtype, shape = str(pick(net, "int8", "int16")), draw_shape(net)
    axis = draw_number(net, 0, len(shape) - 1)
    x = net.input(shape, dtype, -3, 3)
    target = (*shape[:axis], *shape[axis + 1 :])
    return net.op("ARGMAX", [x], target, "int32", axis=axis, nan_mode="PROPAGATE")


_ANY = ("bool", "int8", "int16", "int32")


def concat(net: TosaBuilder) -> int:
    """Draw a CONCAT of one to four inputs."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    axis = draw_number(net, 0, len(shape) - 1)
    sizes = [draw_number(net, 1, 4) for _ in range(draw_number(net, 1, 4))]
    around = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    target = (*shape[:axis], sum(sizes), *shape[axis + 1 :])
    return net.op("CONCAT", [net.input(part, dtype) for part in around], target, dtype, axis=axis)


def pad(net: TosaBuilder) -> int:
    """Draw a PAD."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    pairs = net.random.integers(0, 3, (len(shape), 2))
    inputs = [net.input(shape, dtype), net.constant(pairs.reshape(-1), "int64"),
              net.constant(net.drawn((1,), dtype), dtype)]  # fmt: skip
    return net.op("PAD", inputs, tuple(np.array(shape) + pairs.sum(1)), dtype)


def reshape(net: TosaBuilder) -> int:
    """Draw a RESHAPE."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    target = (int(np.prod(shape)), 1)
    return net.op(
        "RESHAPE", [net.input(shape, dtype), net.constant(target, "int64")], target, dtype
    )


def reverse(net: TosaBuilder) -> int:
    """Draw a REVERSE."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    axis = draw_number(net, 0, len(shape) - 1)
    return net.op("REVERSE", [net.input(shape, dtype)], shape, dtype, axis=axis)


def slice_(net: TosaBuilder) -> int:
    """Draw a SLICE."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    start = [draw_number(net, 0, n - 1) for n in shape]
    size = [draw_number(net, 1, n - at) for n, at in zip(shape, start, strict=True)]
    inputs = [net.input(shape, dtype), net.constant(start, "int64"), net.constant(size, "int64")]
    return net.op("SLICE", inputs, size, dtype)


def tile(net: TosaBuilder) -> int:
    """Draw a TILE."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net)
    times = [draw_number(net, 1, 3) for _ in shape]
    target = tuple(a * b for a, b in zip(shape, times, strict=True))
    return net.op("TILE", [net.input(shape, dtype), net.constant(times, "int64")], target, dtype)


def transpose(net: TosaBuilder) -> int:
    """Draw a TRANSPOSE of up to six dimensions."""
    dtype, shape = str(pick(net, *_ANY)), draw_shape(net, draw_number(net, 1, 6), 3)
    order = tuple(int(axis) for axis in net.random.permutation(len(shape)))
    target = tuple(shape[axis] for axis in order)
    return net.op("TRANSPOSE", [net.input(shape, dtype)], target, dtype, perms=order)


def gather(net: TosaBuilder) -> int:
    """Draw a GATHER."""
    dtype = str(pick(net, "int8", "int16", "int32"))
    n, k, c = draw_shape(net, 3)
    w = draw_number(net, 1, 6)
    inputs = [net.input((n, k, c), dtype), net.input((n, w), "int32", 0, k - 1)]
    return net.op("GATHER", inputs, (n, w, c), dtype)


def scatter(net: TosaBuilder) -> int:
    """Draw a SCATTER whose indices are constants, each used once."""
    dtype = str(pick(net, "int8", "int16", "int32"))
    n, k, c = draw_shape(net, 3)
    w = draw_number(net, 1, k)
    indices = [net.random.permutation(k)[:w] for _ in range(n)]
    inputs = [net.input((n, k, c), dtype), net.constant(indices, "int32"),
              net.input((n, w, c), dtype)]  # fmt: skip
    return net.op("SCATTER", inputs, (n, k, c), dtype)


_PLAIN = ("int8", "int16", "int32")

CASES: dict[str, Case] = {
    "ARGMAX": argmax,
    "AVG_POOL2D": lambda net: _pool(net, "AVG_POOL2D"),
    "CONV2D": conv2d,
    "CONV3D": conv3d,
    "DEPTHWISE_CONV2D": depthwise,
    "MATMUL": matmul,
    "MAX_POOL2D": lambda net: _pool(net, "MAX_POOL2D"),
    "TRANSPOSE_CONV2D": transpose_conv2d,
    "CLAMP": clamp,
    "ADD": _binary("ADD", "int32", low=-(1 << 30), high=(1 << 30) - 1),
    "ARITHMETIC_RIGHT_SHIFT": _shift("ARITHMETIC_RIGHT_SHIFT"),
    "BITWISE_AND": _binary("BITWISE_AND", *_PLAIN),
    "BITWISE_OR": _binary("BITWISE_OR", *_PLAIN),
    "BITWISE_XOR": _binary("BITWISE_XOR", *_PLAIN),
    "INTDIV": intdiv,
    "LOGICAL_AND": _binary("LOGICAL_AND", "bool"),
    "LOGICAL_LEFT_SHIFT": _shift("LOGICAL_LEFT_SHIFT"),
    "LOGICAL_RIGHT_SHIFT": _shift("LOGICAL_RIGHT_SHIFT"),
    "LOGICAL_OR": _binary("LOGICAL_OR", "bool"),
    "LOGICAL_XOR": _binary("LOGICAL_XOR", "bool"),
    "MAXIMUM": _binary("MAXIMUM", "int32"),
    "MINIMUM": _binary("MINIMUM", "int32"),
    "MUL": mul,
    "SUB": _binary("SUB", "int32", low=-(1 << 30), high=(1 << 30) - 1),
    "TABLE": table,
    "ABS": _unary("ABS", "int32"),
    "BITWISE_NOT": _unary("BITWISE_NOT", *_PLAIN),
    "CLZ": _unary("CLZ", "int32"),
    "LOGICAL_NOT": _unary("LOGICAL_NOT", "bool"),
    "NEGATE": negate,
    "SELECT": select,
    "EQUAL": _binary("EQUAL", "int32", result="bool", low=-2, high=2),
    "GREATER": _binary("GREATER", "int32", result="bool", low=-2, high=2),
    "GREATER_EQUAL": _binary("GREATER_EQUAL", "int32", result="bool", low=-2, high=2),
    "REDUCE_ALL": _reduce("REDUCE_ALL", "bool"),
    "REDUCE_ANY": _reduce("REDUCE_ANY", "bool"),
    "REDUCE_MAX": _reduce("REDUCE_MAX", *_PLAIN),
    "REDUCE_MIN": _reduce("REDUCE_MIN", *_PLAIN),
    "REDUCE_SUM": _reduce("REDUCE_SUM", "int32"),
    "CONCAT": concat,
    "PAD": pad,
    "RESHAPE": reshape,
    "REVERSE": reverse,
    "SLICE": slice_,
    "TILE": tile,
    "TRANSPOSE": transpose,
    "GATHER": gather,
    "SCATTER": scatter,
    "RESIZE": resize,
    "CAST": cast,
    "RESCALE": rescale,
    "IDENTITY": identity,
}
"""By the operator's name in TOSA."""
