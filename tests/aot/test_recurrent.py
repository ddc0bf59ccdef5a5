"""SVDF and LSTM on the CPU against TFLite Micro, over sequences of samples."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.outcome import Arrays
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan, samples_and_golden
from tests.support.arena_npu import check_program
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

Build = Callable[[NetworkBuilder], int]


def _float(net: NetworkBuilder, shape: tuple[int, ...]) -> int:
    return net.input(shape, "float32", scale=None, zero_point=0)


INTEGER: dict[str, Build] = {
    "svdf, state of int16": lambda n: svdf(n, n.input((1, 9), scale=0.02), 7, 5),
    "svdf, state of int16, rank 2, batch": lambda n: svdf(n, n.input((3, 6)), 4, 3, rank=2),
    "svdf, state of int8": lambda n: svdf(
        n, n.input((2, 9)), 5, 4, rank=2, state="int8", zero_point=-9
    ),
    "svdf, one step": lambda n: svdf(n, n.input((1, 9)), 4, 1),
    "lstm of int8": lambda n: lstm(n, n.input((1, 3, 9), scale=0.02), 7),
    "lstm of int8, batch": lambda n: lstm(n, n.input((3, 2, 5), scale=0.02), 6, zero_point=-30),
    "lstm of int8, by time, clipped": lambda n: lstm(
        n, n.input((4, 2, 5), scale=0.03), 6, by_time=True, cell_clip=0.6
    ),
    "lstm of int8, cell of few bits": lambda n: lstm(
        n, n.input((1, 4, 9), scale=0.02), 7, cell_power=8
    ),
    "lstm of int8, cell of many bits": lambda n: lstm(
        n, n.input((1, 4, 9), scale=0.02), 7, cell_power=14
    ),
    "lstm of int8, cell of most bits": lambda n: lstm(
        n, n.input((1, 4, 9), scale=0.02), 7, cell_power=43
    ),
    "lstm of int16": lambda n: lstm(n, n.input((2, 3, 9), "int16", 5e-5, 0), 7),
    "two of them": lambda n: lstm(n, lstm(n, n.input((1, 3, 5), scale=0.02), 6), 4, zero_point=-20),
}


@needs_gcc
@pytest.mark.parametrize("name", INTEGER)
def test_integers_are_exact(name: str, tmp_path: Path) -> None:
    net = NetworkBuilder("recurrent", seed=4)
    program = check_program(cpu_plan(net.build(INTEGER[name](net))), tmp_path, count=6)
    assert program.state_bytes and {v.memory for v in program.variables} == {"state"}


FLOAT: dict[str, Build] = {
    "svdf": lambda n: svdf(n, _float(n, (2, 9)), 5, 4, rank=2),
    "svdf, limited": lambda n: svdf(n, _float(n, (1, 9)), 5, 4, activation="RELU6"),
    "lstm": lambda n: lstm(n, _float(n, (2, 3, 9)), 7),
    "lstm, by time, clipped": lambda n: lstm(
        n, _float(n, (4, 2, 5)), 6, by_time=True, cell_clip=0.3
    ),
}


@pytest.mark.parametrize("name", FLOAT)
def test_floats_are_near(name: str) -> None:
    """The C library's expf and tanhf are not those that TFLite Micro's wheel was built with."""
    net = NetworkBuilder("recurrent", seed=4)
    x = FLOAT[name](net)
    plan = cpu_plan(decode_network(net.build(x), "recurrent"))
    samples, golden = samples_and_golden(plan.network, 6)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        outputs = evaluate(sample, _never)
        for tensor, array in wanted.items():
            np.testing.assert_allclose(outputs[tensor], array, rtol=1e-5, atol=1e-6)


@needs_gcc
@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
def test_nan_becomes_a_bound_of_svdfs_activation(activation: str, tmp_path: Path) -> None:
    net = NetworkBuilder("nan", seed=1)
    plan = cpu_plan(net.build(svdf(net, _float(net, (1, 4)), 2, 3, activation=activation)))
    name = plan.network.inputs[0].name
    rows = ([np.nan, 1, 2, 3], [0, 1, -0.0, 3], [np.inf, 1, -np.inf, 3])
    samples = [{name: np.array([row], np.float32)} for row in rows]
    generated, run = GeneratedC(compile_program(plan, "nan"), tmp_path), make_evaluator(plan)
    for sample, wanted in zip(samples, golden_outputs(plan.network, samples), strict=True):
        outputs = generated.outputs(sample)
        for got in (outputs, run(sample, _never)):
            for output, value in wanted.items():
                np.testing.assert_array_equal(got[output], value)


@pytest.mark.parametrize(
    ("place", "words"),
    [(9, "peepholes"), (16, "a projection"), (20, "layer normalization")],
)
def test_variants_without_a_kernel_are_named(place: int, words: str) -> None:
    net = NetworkBuilder("recurrent", seed=4)
    lstm(net, net.input((1, 3, 9), scale=0.02), 7)
    operator = net.operators[-1]
    inputs = list(operator.inputs)
    inputs[place] = inputs[1]
    net.operators[-1] = dataclasses.replace(operator, inputs=tuple(inputs))
    with pytest.raises(UnsupportedError, match=words):
        compile_program(cpu_plan(net.build()), "net")


def _never(*_: object) -> Arrays:
    raise AssertionError("a partition in a plan without one")


@needs_gcc
def test_sums_of_svdf_wrap_and_are_defined(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Three products of int16 reach beyond 32 bits: a signed sum would be undefined in C."""
    net = NetworkBuilder("recurrent", seed=4)
    out = svdf(net, net.input((1, 9), scale=0.02), 5, 6)
    layer = net.operators[-1]
    _, feature, time, _, state = layer.inputs
    for index in (feature, time):
        weights = net.tensors[index]
        greatest = np.full(weights.shape, np.iinfo(weights.dtype).max, weights.dtype)
        net.tensors[index] = dataclasses.replace(weights, data=greatest.tobytes())
    held = net.tensors[state]
    net.tensors[state] = dataclasses.replace(held, scale=0.02 * 0.01 * 127 / 1000)
    plan = cpu_plan(net.build(out))
    (name,) = (tensor.name for tensor in plan.network.inputs)
    samples = [{name: np.full((1, 9), value, np.int8)} for value in (127,) * 7 + (-128,) * 9]
    golden = golden_outputs(plan.network, samples)
    flags = ["-fsanitize=signed-integer-overflow"]
    generated = GeneratedC(compile_program(plan, "net"), tmp_path, flags=flags)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden, strict=True):
        assert_equal(generated.run(sample)[1], wanted)
        assert_equal(evaluate(sample, lambda *_: {}), wanted)
    assert "runtime error" not in capfd.readouterr().err
