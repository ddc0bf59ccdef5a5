"""Rescaling at the edges of its exponents, for every operator that rescales.

A ratio of scales is a mantissa times 2**exponent. TFLite keeps exponents down to -31, and takes
smaller ratios for 0. Each case draws its scales so that the exponent is exactly the one named.
DIV is left out: TFLite Micro's divisor of 0, and its shifts by more than 31, are open in C.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.tir.quantization import quantize_multiplier
from ethosgen.values.errors import UnsupportedError
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec

MANTISSA = 0.8125
"""Exact in single floats, so that no rounding moves an exponent."""
SHAPE = (1, 3, 4, 8)

Case = Callable[[NetworkBuilder, float], Sequence[int]]


def _pair(net: NetworkBuilder, dtype: str, first: float, second: float) -> tuple[int, int]:
    return net.input(SHAPE, dtype, first), net.input(SHAPE, dtype, second)


def _sum(code: str, dtype: str) -> Case:
    """Return ADD or SUB where the result has the exponent, and where one input has."""
    widen = 2.0 ** (20 if dtype == "int8" else 15)

    def build(net: NetworkBuilder, ratio: float) -> Sequence[int]:
        pair = _pair(net, dtype, 1.0, 0.75)
        results = list(net.operator(code, pair, [Spec(SHAPE, dtype, 2.0 / widen / ratio, 0)]))
        if ratio <= 0.5:
            pair = _pair(net, dtype, 1.0, 2.0 * ratio)
            results += net.operator(code, pair, [Spec(SHAPE, dtype, 1.5, 0)])
        return results

    return build


def _binary(code: str, dtype: str, output: Callable[[float], float]) -> Case:
    def build(net: NetworkBuilder, ratio: float) -> Sequence[int]:
        pair = _pair(net, dtype, 0.5, 0.25)
        return net.operator(code, pair, [Spec(SHAPE, dtype, output(ratio), 0)])

    return build


def _unary(code: str, dtype: str, target: str | None = None) -> Case:
    def build(net: NetworkBuilder, ratio: float) -> Sequence[int]:
        x = net.input(SHAPE, dtype, 0.5)
        options = {"alpha": 0.25} if code == "LEAKY_RELU" else {}
        spec = Spec(SHAPE, target or dtype, 0.5 / ratio, 0)
        return net.operator(code, [x], [spec], options)

    return build


def _reduction(code: str, dtype: str) -> Case:
    def build(net: NetworkBuilder, ratio: float) -> Sequence[int]:
        x, to = net.input(SHAPE, dtype, 0.5), {"scale": 0.5 / ratio, "zero_point": 0}
        return [net.apply(code, x, [1, 2], keep_dims=True, **to)]

    return build


def _layer(code: str, dtype: str, channels: bool) -> Case:
    def build(net: NetworkBuilder, ratio: float) -> Sequence[int]:
        x = net.input(SHAPE, dtype, 0.5)
        more = (0.25, 0.125, 0.2, 0.25, 0.25, 0.25, 0.25, 0.25)
        fixed = {"weight_scales": more if channels else (0.25,)} | {"scale": 0.125 / ratio}
        return [_LAYERS[code](net, x, fixed)]

    return build


def _weighted(code: str) -> Callable[[NetworkBuilder, int, dict[str, object]], int]:
    def make(net: NetworkBuilder, x: int, fixed: dict[str, object]) -> int:
        dtype, scales = net.tensors[x].dtype, fixed["weight_scales"]
        shape = {"CONV_2D": (8, 1, 1, 8), "DEPTHWISE_CONV_2D": (1, 3, 3, 8)}.get(code, (8, 96))
        axis = 3 if code == "DEPTHWISE_CONV_2D" else 0
        points = (0,) * len(scales)  # type: ignore[arg-type]
        weights = net.constant(net.random_integers(shape), None, scales, points, axis)  # type: ignore[arg-type]
        bias_type = "int32" if dtype == "int8" else "int64"
        products = tuple(0.5 * scale for scale in scales)  # type: ignore[attr-defined]
        values = net.random.integers(-30000, 30000, 8)
        bias = net.constant(values, bias_type, products, points)
        options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
        options |= {"depth_multiplier": 1} if axis else {}
        target = SHAPE if code != "FULLY_CONNECTED" else (1, 8)
        options = options if code != "FULLY_CONNECTED" else {}
        spec = Spec(target, dtype, fixed["scale"], 0)  # type: ignore[arg-type]
        return net.operator(code, [x, weights, bias], [spec], options)[0]

    return make


_LAYERS = {code: _weighted(code) for code in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")}


def _prelu(net: NetworkBuilder, ratio: float) -> Sequence[int]:
    x = net.input(SHAPE, "int8", 0.5)
    alpha = net.constant(net.random_integers((1, 1, 8)), "int8", 0.125, 1)
    return [net.apply("PRELU", x, alpha, scale=0.5 / ratio, zero_point=0)]


def _compare(net: NetworkBuilder, ratio: float) -> Sequence[int]:
    x, y = _pair(net, "int8", ratio, ratio * 0.75)
    return [net.apply("LESS", x, y)]


def _matmul(net: NetworkBuilder, ratio: float) -> Sequence[int]:
    x, y = net.input((2, 3, 4), "int8", 0.5), net.input((2, 4, 5), "int8", 0.25)
    return [net.apply("BATCH_MATMUL", x, y, scale=0.125 / ratio, zero_point=0)]


CASES: dict[str, Case] = {
    **{f"{c} {dtype}": _sum(c, dtype) for c in ("ADD", "SUB") for dtype in ("int8", "int16")},
    **{f"MUL {dtype}": _binary("MUL", dtype, lambda r: 0.125 / r) for dtype in ("int8", "int16")},
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "int8", lambda r: 2.0**-14 / r),
    **{f"RELU {dtype}": _unary("RELU", dtype) for dtype in ("int8", "int16")},
    **{f"LEAKY_RELU {dtype}": _unary("LEAKY_RELU", dtype) for dtype in ("int8", "int16")},
    **{f"ABS {dtype}": _unary("ABS", dtype) for dtype in ("int8", "int16")},
    "QUANTIZE int8": _unary("QUANTIZE", "int8"),
    "QUANTIZE int16 to int8": _unary("QUANTIZE", "int16", "int8"),
    "QUANTIZE int32 to int8": _unary("QUANTIZE", "int32", "int8"),
    **{f"{c} {d}": _reduction(c, d) for c in ("MEAN", "SUM") for d in ("int8", "int16")},
    **{
        f"{c} {d}{' per channel' * p}": _layer(c, d, p)
        for c in _LAYERS for d in ("int8", "int16") for p in (False, True)
    },
    "PRELU": _prelu,
    "LESS": _compare,
    "BATCH_MATMUL": _matmul,
}  # fmt: skip

BELOW_ONE = frozenset({"ADD", "SUB", "SQUARED_DIFFERENCE", "LESS"})
"""TFLite Micro ends itself where their multiplier is not below 1."""
LARGEST_INT16 = 14
"""TFLite shifts 64-bit sums of int16 layers by less than one bit beyond it, and we refuse them."""


def _applies(name: str, exponent: int) -> bool:
    code, dtype = name.partition(" ")[0], (*name.split(), "int8")[1]
    if code in BELOW_ONE and exponent > 0:
        return False
    return not (code in _LAYERS and dtype == "int16" and exponent > LARGEST_INT16)


@needs_gcc
@pytest.mark.parametrize("exponent", [-33, -32, -31, -30, -1, 0, 1, 8, 14, 30])
def test_results_equal_tflite_micros(exponent: int, tmp_path: Path) -> None:
    """-31 is the last that TFLite keeps; from 8 on sums overflow, and wrap as they do there."""
    net = NetworkBuilder("edges", seed=exponent + 99)
    names = [name for name in CASES if _applies(name, exponent)]
    assert len(names) >= 20
    results = [y for name in names for y in CASES[name](net, MANTISSA * 2.0**exponent)]
    plan = cpu_plan(net.build(*results))
    samples, golden = samples_and_golden(plan.network, 3)
    program = GeneratedC(compile_program(plan, "net"), tmp_path)
    program.check(samples, golden)


@pytest.mark.parametrize("exponent", [-31, -30, 0, 30])
def test_the_ratios_drawn_have_the_exponents_named(exponent: int) -> None:
    assert quantize_multiplier(MANTISSA * 2.0**exponent).shift == exponent
    assert quantize_multiplier(MANTISSA * 2.0**-32).mantissa == 0


@pytest.mark.parametrize("ratio", [1.5, 2.5, 5.0, 200.0])
def test_what_is_shifted_left_saturates_at_both_ends(ratio: float) -> None:
    """TVM took a shift without a sign for positive, and dropped the clamp's lower bound."""
    net = NetworkBuilder("saturated", seed=1)
    x = net.input((3, 41), "int16", 0.05)
    y = net.quantize(x, "int8", 0.05 / ratio, 25)
    plan = cpu_plan(net.build(y))
    samples, golden = samples_and_golden(plan.network)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(evaluate(sample, lambda *_: {}), wanted)


def test_what_tflite_leaves_open_is_refused() -> None:
    """TVM could not hold the power of two, and the file was called damaged."""
    net = NetworkBuilder("open", seed=1)
    x = net.input((3, 41), "int8", 0.0235)
    y = net.mul(x, net.input((3, 41), "int8", 1 / 256), scale=2.97e-35)
    with pytest.raises(UnsupportedError, match=r"MUL .* multiplied by 3e\+30, .* undefined in C"):
        compile_program(cpu_plan(net.build(y)), "net")
