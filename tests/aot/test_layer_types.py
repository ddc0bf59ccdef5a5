"""Random layers of every type against TFLite Micro: as C built by gcc, and through LLVM.

Some twenty layers share a network, so that one compiler run serves them all.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.aot import compile_program, make_evaluator
from ethosgen.aot.operators import LIBRARY_ULP
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan
from tests.support.catalogue.layers import LAYERS
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder, Spec
from tests.support.recipes import recipe

Build = Callable[[NetworkBuilder], int]


EACH = 3
"""Layers of a kind in a network."""


@needs_gcc
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_random_layers_equal_tflite_micro(dtype: str, seed: int, tmp_path: Path) -> None:
    net = NetworkBuilder("layers", seed)
    outputs = [build(net, dtype) for build in LAYERS for _ in range(EACH)]
    codes = {net.tensors[op.outputs[0]].name or "": op.code for op in net.operators}
    network = parse_network(net.build(*outputs), "layers.tflite")
    plan = cpu_plan(network, IoStyle.CALLER)
    generated = GeneratedC(compile_program(plan, "net"), tmp_path)
    samples = random_samples(network, 2, seed=3)
    evaluate = make_evaluator(plan)
    for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
        arrays = generated.outputs(sample)
        _assert_close("C", arrays, golden, codes)
        _assert_close("LLVM", evaluate(sample, _unused), golden, codes)


def _assert_close(how: str, outputs: Arrays, golden: Arrays, codes: dict[str, str]) -> None:
    """Fail unless all is equal; SOFTMAX of reals may be off by what expf of the library is."""
    assert set(outputs) == set(golden)
    for name, wanted in golden.items():
        assert outputs[name].dtype == wanted.dtype
        if wanted.dtype == np.float32 and codes[name] == "SOFTMAX":
            np.testing.assert_array_max_ulp(outputs[name], wanted, LIBRARY_ULP)
            continue
        np.testing.assert_array_equal(outputs[name], wanted, f"{how}, {codes[name]} {name}")


def _unused(*_: object) -> dict[str, object]:
    raise AssertionError("there is no partition")


@needs_gcc
def test_int16_sums_are_rescaled_from_64_bits(tmp_path: Path) -> None:
    """Sums that are their biases: small ones at every rounding edge, and ones beyond 32 bits."""
    net = NetworkBuilder("sums", seed=4)
    x = net.input((1, 4), "int16", 0.5)
    biases = np.concatenate([np.arange(-600, 600), net.random.integers(-(1 << 39), 1 << 39, 400)])
    zeros = np.zeros((len(biases), 4), np.int8)
    outputs = []
    for bias_dtype, chosen in (("int64", biases), ("int32", biases[:1200] * 1000)):
        for scale in (0.25, 0.2500001, 0.31):
            w = net.constant(zeros[: len(chosen)], scale=scale)
            bias = net.constant(chosen, bias_dtype, 0.5 * scale)
            outputs.append(net.apply("FULLY_CONNECTED", x, w, bias, scale=1.0))
    _assert_equal(parse_network(net.build(*outputs), "sums.tflite"), tmp_path)


@needs_gcc
def test_int16_softmax_over_the_whole_of_its_curves(tmp_path: Path) -> None:
    net = NetworkBuilder("softmax", seed=5)
    outputs = []
    for scale in (0.00016, 0.0003, 0.01):
        outputs.append(net.softmax(net.input((20, 3), "int16", scale)))
        outputs.append(net.softmax(net.input((3, 1500), "int16", scale)))
    _assert_equal(parse_network(net.build(*outputs), "softmax.tflite"), tmp_path)


@needs_gcc
def test_a_share_of_less_than_half_a_step_is_none(tmp_path: Path) -> None:
    """TFLite Micro's checks end it here; 1/1024 and 1/2048 in steps of 1/256 are 0."""
    net = NetworkBuilder("softmax", seed=5)
    network = parse_network(
        net.build(*(net.softmax(net.input((1, n), name=f"x{n}")) for n in (1024, 2048))), "softmax"
    )
    plan, sample = cpu_plan(network), {t.name: np.zeros(t.shape, np.int8) for t in network.inputs}
    status, outputs = GeneratedC(compile_program(plan, "net"), tmp_path).run(sample)
    assert status == 0
    assert_equal(outputs, {t.name: np.full(t.shape, -128, np.int8) for t in network.outputs})
    assert_equal(make_evaluator(plan)(sample, lambda *_: {}), outputs)


def _assert_equal(network: Network, folder: Path) -> None:
    generated = GeneratedC(compile_program(cpu_plan(network, IoStyle.CALLER), "net"), folder)
    samples = random_samples(network, 2, seed=3)
    generated.check(samples, golden_outputs(network, samples))


@needs_qemu
def test_each_kind_of_layer_on_a_cortex_m(tmp_path: Path) -> None:
    net = NetworkBuilder("layers", seed=5)
    dtypes = ("int8", "int8", "int16", "int16", "float32")
    outputs = [build(net, dtype) for dtype in dtypes for build in LAYERS]
    (tmp_path / "network.tflite").write_bytes(net.build(*outputs))
    report = flow.verify(
        recipe(tmp_path / "network.tflite", npu="none"),
        flow.RunOptions(Inputs(None, 2, 5)),
        watch=Watch(),
    )
    assert report.passed


# ---- what is refused -----------------------------------------------------------------------------


def _conv(net: NetworkBuilder, x: int, w: int, *bias: int, dtype: str = "int8") -> int:
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    spec = Spec((1, 4, 4, 3), dtype, None if dtype == "float32" else 0.5)
    return net.operator("CONV_2D", [x, w, *bias], [spec], options)[0]


def _hybrid(net: NetworkBuilder) -> int:
    weights = net.constant(net.random_integers((3, 1, 1, 2)), scale=0.1)
    return _conv(net, net.input((1, 4, 4, 2), "float32", None), weights, dtype="float32")


def _shifted_weights(net: NetworkBuilder) -> int:
    weights = net.constant(net.random_integers((3, 1, 1, 2)), scale=0.1, zero_point=2)
    return _conv(net, net.input((1, 4, 4, 2)), weights)


def _uneven_groups(net: NetworkBuilder) -> int:
    weights = net.constant(net.random_integers((3, 1, 1, 2)), scale=0.1)
    return _conv(net, net.input((1, 4, 4, 5)), weights)


def _short_bias(net: NetworkBuilder) -> int:
    weights = net.constant(net.random_integers((3, 1, 1, 2)), scale=0.1)
    return _conv(net, net.input((1, 4, 4, 2)), weights, net.constant([1, 2], "int32", 0.005))


def _int32_bias_of_a_depthwise(net: NetworkBuilder) -> int:
    x = net.input((1, 4, 4, 2), "int16")
    weights = net.constant(net.random_integers((1, 1, 1, 2)), scale=0.1, axis=3)
    bias = net.constant([1, 2], "int32", 0.005)
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    return net.apply("DEPTHWISE_CONV_2D", x, weights, bias, scale=0.5, **options)


def _too_large_a_factor(net: NetworkBuilder) -> int:
    x = net.input((1, 4), "int16", 1.0)
    weights = net.constant(net.random_integers((3, 4)), scale=1.0)
    return net.apply("FULLY_CONNECTED", x, weights, scale=1e-5)


def _softmax_of_another_scale(net: NetworkBuilder) -> int:
    return net.unary("SOFTMAX", net.input((2, 4)), {"beta": 1.0}, scale=1 / 128)


def _unequal_depths(net: NetworkBuilder) -> int:
    x, y = net.input((2, 3)), net.input((4, 5))
    return net.operator("BATCH_MATMUL", [x, y], [Spec((2, 5), "int8", 1.0)])[0]


def _scales_of_a_matrix(net: NetworkBuilder) -> int:
    x = net.input((2, 3), "int16", 0.1, 0)
    y = net.tensor(Spec((3, 5), "int8", (0.1,) * 5, 0, data=bytes(15)))
    return net.apply("BATCH_MATMUL", x, y, scale=1.0)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (_hybrid, r"CONV_2D.*dynamic-range quantization: weights of int8"),
        (_uneven_groups, r"CONV_2D.*do not fit its input \(1, 4, 4, 5\)"),
        (_short_bias, r"CONV_2D.*bias has 2 values for 3 channels"),
        (_int32_bias_of_a_depthwise, r"DEPTHWISE_CONV_2D.*bias must be int64.*is int32"),
        (_too_large_a_factor, r"FULLY_CONNECTED.*output scale is too small"),
        (_softmax_of_another_scale, r"SOFTMAX.*must have the scale 0.0039"),
        (_scales_of_a_matrix, r"BATCH_MATMUL.*no interpreter computes here: .*quantize it per"),
        (_unequal_depths, r"BATCH_MATMUL.*\(2, 3\) and \(4, 5\)"),
    ],
)
def test_what_is_not_covered_is_named_with_its_place(build: Build, why: str) -> None:
    net = NetworkBuilder("refused", seed=1)
    plan = cpu_plan(net.build(build(net)))
    with pytest.raises(UnsupportedError, match=rf"operator 1 of 1, {why}"):
        compile_program(plan, "net")


def _first_scale_for_all(net: NetworkBuilder) -> int:
    y = net.constant(net.random_integers((6, 5)), scale=(0.01, 0.02, 0.03, 0.004, 0.05), axis=1)
    x = net.input((4, 6))
    return net.apply("BATCH_MATMUL", x, y, scale=0.3, zero_point=-2)


@needs_gcc
@pytest.mark.parametrize("build", [_shifted_weights, _first_scale_for_all])
def test_what_tflm_ignores_of_weights_is_ignored(build: Build, tmp_path: Path) -> None:
    """It ignores the zero point of a convolution's weights, and all scales of a matrix but one."""
    net = NetworkBuilder("ignored", seed=1)
    _assert_equal(parse_network(net.build(build(net)), "ignored.tflite"), tmp_path)
