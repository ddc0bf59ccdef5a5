"""Every CPU operator against TFLite Micro, bit for bit: as C built by gcc, and through LLVM."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.values.plan import IoStyle
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.needs import needs_gcc, needs_models
from tests.support.networks import NetworkBuilder, Spec
from tests.support.small_models import SHARED_MODELS

Build = Callable[[NetworkBuilder], int]


def _softmax(shape: tuple[int, ...], scale: float) -> Build:
    return lambda net: net.softmax(net.input(shape, scale=scale))


def _unary(code: str, scale: float, zero_point: int) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.input((1, 16, 16, 2), scale=scale, zero_point=zero_point)
        if code == "QUANTIZE":
            return net.quantize(x, "int8", 0.02, 5)
        if code == "RELU":
            return net.relu(x, scale=0.03, zero_point=-20)
        return {"LOGISTIC": net.logistic, "TANH": net.tanh}.get(code, lambda x: net.unary(code, x))(
            x
        )

    return build


def _broadcast(net: NetworkBuilder) -> int:
    x = net.input((2, 4, 5, 6))
    return net.add(x, net.input((5, 1), scale=0.011, zero_point=-7), activation="RELU6")


def _add_itself(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 5, 6))
    return net.add(x, x)


def _add_constant(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 5, 6))
    return net.add(x, net.constant(net.random_integers((6,)), scale=0.2, zero_point=9))


def _concat(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 5, 6))
    return net.concat([x, net.input((1, 4, 2, 6)), x], axis=2)


LAYERS: dict[str, Build] = {
    "conv per channel, strided": lambda n: n.conv2d(
        n.input((1, 9, 7, 4)), 6, (3, 3), (2, 1), activation="RELU"
    ),
    "conv per tensor, dilated, no bias": lambda n: n.conv2d(
        n.input((2, 9, 7, 4)), 6, (3, 2), padding="VALID", dilation=(2, 3), bias=False,
        per_channel=False,
    ),
    "conv with taps all outside": lambda n: n.conv2d(
        n.input((1, 5, 5, 4)), 6, (3, 3), dilation=(4, 4)
    ),
    "conv saturates": lambda n: n.conv2d(n.input((1, 5, 5, 4)), 6, scale=1e-5),
    "conv with large scales": lambda n: n.conv2d(n.input((1, 5, 5, 4), scale=9.0), 6, scale=0.01),
    "depthwise": lambda n: n.depthwise(n.input((1, 9, 7, 4)), (3, 3), (2, 1), activation="RELU6"),
    "depthwise, two outputs a channel": lambda n: n.depthwise(
        n.input((1, 9, 7, 4)), (2, 3), multiplier=2, per_channel=False, padding="VALID"
    ),
    "dense per tensor": lambda n: n.fully_connected(n.input((3, 5)), 7, activation="RELU_N1_TO_1"),
    "dense per channel": lambda n: n.fully_connected(n.input((1, 3, 3, 4)), 7, per_channel=True),
    "dense keeps dimensions": lambda n: n.fully_connected(
        n.input((2, 3, 4)), 5, keep_num_dims=True, bias=False
    ),
}  # fmt: skip

OTHERS: dict[str, Build] = {
    "average pool, padded": lambda n: n.average_pool(
        n.input((2, 9, 7, 5)), (3, 2), (2, 2), padding="SAME", activation="RELU"
    ),
    "average pool over all": lambda n: n.average_pool(n.input((1, 25, 5, 64)), (25, 5)),
    "max pool, padded": lambda n: n.max_pool(n.input((1, 9, 7, 5)), (3, 3), (2, 2), padding="SAME"),
    "max pool": lambda n: n.max_pool(n.input((1, 8, 8, 3)), (2, 2), activation="RELU6"),
    "softmax, short": _softmax((2, 12), 0.15),
    "softmax, steep": _softmax((1, 2, 3, 5), 0.9),
    "softmax, flat": _softmax((3, 200), 0.004),
    "softmax, long": _softmax((1, 1001), 0.1),
    "add, broadcast": _broadcast,
    "add, itself": _add_itself,
    "add, a constant": _add_constant,
    "concatenation": _concat,
    "pad": lambda n: n.pad(n.input((1, 4, 5, 6)), [(0, 0), (1, 2), (0, 3), (1, 0)]),
    "squeeze": lambda n: n.operator(
        "SQUEEZE", [n.input((1, 4, 1, 6))], [Spec((4, 6), "int8", 0.05, 3)]
    )[0],
    "reshape": lambda n: n.reshape(n.input((1, 4, 5, 6)), (4, 30)),
}

ACTIVATIONS: dict[str, Build] = {
    f"{code} {scale} {point}": _unary(code, scale, point)
    for code in ("RELU", "RELU6", "QUANTIZE", "LOGISTIC", "TANH")
    for scale, point in ((0.05, 0), (0.011, 17), (0.3, -128), (0.002, 127))
}

STEEP = {f"{code} 441.0 -61": _unary(code, 441.0, -61) for code in ("LOGISTIC", "TANH")}
"""Nothing but the zero point is in the range of their tables, and TFLite Micro takes it for low."""


def _hard_swish(scale: float, zero_point: int, target: float) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.input((1, 16, 16, 2), scale=scale, zero_point=zero_point)
        return net.unary("HARD_SWISH", x, scale=target, zero_point=98)

    return build


STEEP |= {
    f"HARD_SWISH {scale} to {target}": _hard_swish(scale, 98, target)
    for scale, target in ((0.006, 98.9), (1e-7, 1e-8), (0.1, 0.001), (1.0, 0.0079))
}
"""Shifts beyond 15 bits, of the output and of the gate, and sums at the end of 16 bits."""


def _int16_unary(code: str, scale: float) -> Build:
    def build(net: NetworkBuilder) -> int:
        x = net.input((1, 16, 16, 2), "int16", scale)
        return net.operator(code, [x], [Spec((1, 16, 16, 2), "int16", 2.0**-15, 0)])[0]

    return build


STEEP |= {f"{code} {2.0**-31}": _unary(code, 2.0**-31, 3) for code in ("LOGISTIC", "TANH")}
STEEP |= {f"{code} {2.0**-28.5}": _unary(code, 2.0**-28.5, 3) for code in ("LOGISTIC", "TANH")}
"""TFLite Micro shifts by a negative number, so all is low, or by -1, and most is high."""
WRAPPING = {
    f"{code} int16 {scale}": _int16_unary(code, scale)
    for code in ("LOGISTIC", "TANH")
    for scale in (2e9, 1e5, 5.5, 65536 / 12288, 5.3)
}
"""The argument overflows 32 bits; with the first, even its factor does."""

CASES = LAYERS | OTHERS | ACTIVATIONS | STEEP | WRAPPING


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_llvm_equals_tflite_micro(case: str) -> None:
    net = NetworkBuilder("network", seed=5)
    plan = cpu_plan(net.build(CASES[case](net)))
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(*samples_and_golden(plan.network), strict=True):
        assert_equal(evaluate(sample, _unused), wanted)


@needs_gcc
@pytest.mark.parametrize("case", [*LAYERS, *OTHERS, *WRAPPING, "TANH 0.05 0", "RELU 0.05 0"])
def test_c_equals_tflite_micro(case: str, tmp_path: Path) -> None:
    net = NetworkBuilder("network", seed=6)
    plan = cpu_plan(net.build(CASES[case](net)))
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    generated.check(*samples_and_golden(plan.network))


@needs_gcc
@pytest.mark.parametrize("seed", range(4))
def test_random_layers_equal_tflite_micro(seed: int, tmp_path: Path) -> None:
    """Many layers of random shapes, side by side in one network."""
    net = NetworkBuilder("network", seed=seed)
    outputs = [_random_layer(net) for _ in range(15)]
    plan = cpu_plan(net.build(*outputs), IoStyle.CALLER if seed % 2 else IoStyle.ARENA)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    generated.check(*samples_and_golden(plan.network, 3))


def _random_layer(net: NetworkBuilder) -> int:
    def draw(low: int, high: int) -> int:
        return int(net.random.integers(low, high, endpoint=True))

    shape = (draw(1, 2), draw(3, 9), draw(3, 9), draw(1, 9))
    scale, zero_point = float(net.random.uniform(0.01, 0.3)), draw(-128, 127)
    x = net.input(shape, scale=scale, zero_point=zero_point)
    kernel, stride = (draw(1, 3), draw(1, 3)), (draw(1, 3), draw(1, 3))
    window = {"padding": ("SAME", "VALID")[draw(0, 1)], "activation": ("NONE", "RELU6")[draw(0, 1)]}
    more = {"per_channel": bool(draw(0, 1)), "bias": bool(draw(0, 1)), **window}
    if draw(0, 1) and window["padding"] == "SAME":
        stride, more["dilation"] = (1, 1), (draw(1, 3), draw(1, 3))
    return [
        lambda: net.conv2d(x, draw(1, 9), kernel, stride, **more),
        lambda: net.depthwise(x, kernel, stride, multiplier=draw(1, 3), **more),
        lambda: net.fully_connected(x, draw(1, 9), per_channel=bool(draw(0, 1))),
        lambda: net.average_pool(x, kernel, stride, **window),
        lambda: net.max_pool(x, kernel, stride, **window),
        lambda: net.softmax(x, beta=float(net.random.uniform(0.2, 2))),
        lambda: net.add(x, net.input(shape[draw(0, 3) :], scale=0.07), activation="RELU"),
        lambda: net.concat([x, x], axis=draw(0, 3)),
    ][draw(0, 7)]()


@needs_gcc
@needs_models
@pytest.mark.parametrize("name", ["hello_world_int8", "kws_dscnn_int8", "ad_autoencoder_int8"])
def test_shared_networks_run_wholly_on_the_cpu(name: str, tmp_path: Path) -> None:
    plan = cpu_plan((SHARED_MODELS / f"{name}.tflite").read_bytes())
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    generated.check(*samples_and_golden(plan.network, 3))


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")
