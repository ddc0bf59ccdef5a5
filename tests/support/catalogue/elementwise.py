"""Elementwise cases, types, and places that TFLite Micro hardly knows: see `cases`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.catalogue.bench import PLAIN, RANKS, Bench, Build
from tests.support.networks import Spec

# ---- element by element --------------------------------------------------------------------------


def unary(
    code: str,
    low: float | None = None,
    high: float | None = None,
    out: dict[str, Any] | None = None,
    same: bool = False,
    **quantization: Any,
) -> Build:
    """Return a case with one input; `out` describes the output, `same` keeps the quantization."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        outputs = []
        for rank in RANKS:
            shape = net.sizes(rank, 1)
            x = net.feed(shape, dtype, low, high, **quantization)
            spec = Spec(tuple(shape), **out) if out else net.to(dtype, shape, x if same else None)
            outputs.append(net.make(code, [x], spec))
        return outputs

    return build


def binary(
    code: str,
    activations: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    same: bool = False,
    result: str | None = None,
    scale: float | None = None,
) -> Build:
    """Return a case with two broadcast inputs; the second's elements are between low and high."""

    def build(net: Bench, dtype: str) -> Sequence[int]:
        outputs = []
        for turn, (first, second) in enumerate(net.broadcasts()):
            a = net.feed(first, dtype)
            spec = net.tensors[a]
            extra: dict[str, Any] = (
                {"scale": spec.scale, "zero_point": spec.zero_point} if same else {}
            )
            b = net.feed(second, dtype, low, high, **extra)
            pair = [a, b] if turn % 2 == 0 or low is not None else [b, a]
            shape = np.broadcast_shapes(first, second)
            target = net.to(result or dtype, shape, a if same and result is None else None)
            if scale is not None and target.scale is not None:
                target = Spec(shape, dtype, scale, target.zero_point)
            fused = activations[turn % len(activations)] if activations else None
            options = {"fused_activation_function": fused} if fused else None
            outputs.append(net.make(code, pair, target, options))
        return outputs

    return build


def divide_by_anything(net: Bench, _: str) -> Sequence[int]:
    """Add divisors of all 256 values, including 0, and quotients far below the output's step."""
    quotients = []
    for scale, point in ((0.002, 115), (0.3, -68), (1.7, 0)):
        a = net.feed((3, 200), "int8")
        b = net.feed((3, 200), "int8", scale=scale, zero_point=point)
        quotients.append(net.make("DIV", [a, b], net.to("int8", (3, 200)), PLAIN))
    return quotients


def rsqrt_int16(net: Bench, dtype: str) -> Sequence[int]:
    """Add inputs over the whole range from 0, and near 0, with coarse and fine outputs."""
    return [
        net.apply("RSQRT", net.feed((4, 100), dtype, 0, high, zero_point=0), scale=scale)
        for high, scale in ((32767, 0.0001), (40, 0.03), (32767, 0.00003))
    ]


def divide_int8(net: Bench, _: str) -> Sequence[int]:
    """Add divisors on both sides of zero."""
    quotients = []
    for low, high, point in ((4, 18, 3), (-12, 2, 3), (-127, -113, -128)):
        a = net.feed((2, 4, 5), "int8", scale=0.1)
        b = net.feed((4, 1), "int8", low, high, scale=0.05, zero_point=point)
        for fused in ("RELU6", "NONE"):
            more = {"fused_activation_function": fused, "scale": 0.4, "zero_point": 2}
            quotients.append(net.apply("DIV", a, b, **more))
    return quotients


def add_n(net: Bench, dtype: str) -> Sequence[int]:
    same: dict[str, Any] = {"scale": 0.1, "zero_point": 7} if dtype == "int8" else {}
    parts = [net.feed((2, 3, 4), dtype, **same) for _ in range(4 if same else 3)]
    return [net.make("ADD_N", parts, net.to(dtype, (2, 3, 4)))]


def prelu(net: Bench, dtype: str) -> Sequence[int]:
    x = net.feed((2, 3, 4, 5), dtype)
    slope = "float32" if dtype == "float32" else "int8"
    alpha = net.feed((1, 1, 5), slope, -3 if slope == "float32" else None, scale=0.01)
    return [net.make("PRELU", [x, alpha], net.to(dtype, (2, 3, 4, 5)))]


def relu6(net: Bench, dtype: str) -> Sequence[int]:
    scale = 0.05 if dtype == "int8" else 0.001
    return [net.apply("RELU6", net.feed((3, 5, 4), dtype, scale=scale))]


def logistic_or_tanh(code: str) -> Build:
    def build(net: Bench, dtype: str) -> Sequence[int]:
        if dtype == "float32":
            return [net.apply(code, net.feed((3, 40, 7), dtype, -20, 20))]
        scales = (0.05, 0.011, 0.3) if dtype == "int8" else (0.0007, 2.0**-12, 2.0**-11, 1e-5)
        steps = {"int8": 256 if code == "LOGISTIC" else 128, "int16": 32768}[dtype]
        to = {"scale": 1 / steps, "zero_point": -128 if steps == 256 else 0}
        return [net.apply(code, net.feed((3, 40, 7), dtype, scale=s), **to) for s in scales]

    return build


def leaky_relu(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for alpha in (0.1, 1.7, -0.3):
        x = net.feed((3, 4, 5), dtype)
        outputs.append(net.make("LEAKY_RELU", [x], net.to(dtype, (3, 4, 5)), {"alpha": alpha}))
    return outputs


def hard_swish(net: Bench, dtype: str) -> Sequence[int]:
    is_float = dtype == "float32"
    to = {} if is_float else {"scale": 0.03, "zero_point": -60}
    low = -8 if is_float else None
    return [
        net.apply(
            "HARD_SWISH", net.feed((3, 40, 5), dtype, low, scale=None if is_float else s), **to
        )
        for s in (0.05, 0.011, 0.2)
    ]


# ---- types ---------------------------------------------------------------------------------------

QUANTIZE_PAIRS = {
    "int8": ("int8", "uint8", "int16", "int32"),
    "uint8": ("int8",),
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
    "float32": ("int8", "int16"),
}


def quantize(net: Bench, dtype: str) -> Sequence[int]:
    outputs = []
    for target in QUANTIZE_PAIRS[dtype]:
        for scale in (0.02, 0.31):
            wide: dict[str, Any] = {"low": -(1 << 20), "high": 1 << 20} if dtype == "int32" else {}
            x = net.feed((3, 41), dtype, **wide, scale=None if dtype == "float32" else 0.05)
            step = scale / 100 if target in ("int16", "int32") else scale
            point = net.point(target) if target in ("int8", "uint8") else 0
            outputs.append(net.quantize(x, target, step, point))
    if dtype == "int8":  # a scale so fine that the lower end saturates: LLVM once lost this clamp
        x = net.feed((300,), dtype, scale=0.05, zero_point=59)
        outputs.append(net.quantize(x, "int16", 0.0002, 0))
    return outputs


def same_scale_quantize(net: Bench, dtype: str) -> Sequence[int]:
    """Add QUANTIZE from int8 to uint8 and back with the same scale, where TFLite flips a bit."""
    other = "uint8" if dtype == "int8" else "int8"
    points = {"int8": -3, "uint8": 125}
    x = net.feed((300,), dtype, scale=0.05, zero_point=points[dtype])
    return [net.quantize(x, other, 0.05, points[other])]


def cast(net: Bench, dtype: str) -> Sequence[int]:
    low = {"float32": 0.0, "uint32": 0}.get(dtype)
    high = 100.0 if dtype == "float32" else 90 if dtype == "uint32" else None
    scale = 0.1 if dtype == "int8" else None
    return [
        net.apply("CAST", net.feed((3, 21), dtype, low, high, scale=scale), in_data_type=dtype,
                  out_data_type=target)
        for target in ("int8", "int16", "int32", "uint32", "float32", "bool")
    ]  # fmt: skip


# ---- places that TFLite Micro hardly knows -------------------------------------------------------


def tile(net: Bench, dtype: str) -> Sequence[int]:
    return [
        net.apply("TILE", net.feed(shape, dtype), times)
        for shape, times in (((2, 3), (2, 3)), ((2, 1, 4), (1, 3, 2)), ((5,), (1,)))
    ]


def select_rows(net: Bench, dtype: str) -> Sequence[int]:
    """Add SELECT with a condition for each element, and with one for each row."""
    outputs = []
    for condition in ((3, 4), (3,)):
        a, b = (net.feed((3, 4), dtype, scale=0.1, zero_point=0) for _ in range(2))
        outputs.append(net.apply("SELECT", net.feed(condition, "bool"), a, b))
    return outputs


def update_slice(net: Bench, dtype: str) -> Sequence[int]:
    """Add positions inside and outside, both index types, and a part as large as the whole."""
    outputs = []
    for whole, part, kind in (
        ((4, 5), (2, 3), "int32"),
        ((2, 3, 4), (1, 3, 2), "int64"),
        ((6,), (6,), "int32"),
    ):
        x, update = (net.feed(shape, dtype, scale=0.1, zero_point=0) for shape in (whole, part))
        begin = net.feed((len(whole),), kind, -2, 6)
        outputs.append(net.apply("DYNAMIC_UPDATE_SLICE", x, update, begin))
    return outputs


def gelu(net: Bench, dtype: str) -> Sequence[int]:
    is_float = dtype == "float32"
    low, scale = (-1.0, None) if is_float else (None, 0.04)
    to = {} if is_float else {"scale": 0.03, "zero_point": -20}
    return [
        net.apply("GELU", net.feed((400,), dtype, low, scale=scale), approximate=approximate, **to)
        for approximate in (False, True)
    ]
