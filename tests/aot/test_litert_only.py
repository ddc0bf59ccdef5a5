"""Combinations of types that only LiteRT runs, where the first input's type does not show it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import compile_program
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT, TFLM
from ethosgen.values.errors import UnsupportedError
from tests.support.aot_harness import GeneratedC, assert_equal, cpu_plan
from tests.support.catalogue.bench import Bench
from tests.support.catalogue.litert import (
    arg_in_int64,
    gather_by_int64,
    matmul_int16_by_int8,
    shape_in_int64,
)
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder, Spec


@needs_gcc
@pytest.mark.parametrize(
    ("build", "dtype"),
    [
        (matmul_int16_by_int8, "int16"), (shape_in_int64, "float32"),
        (arg_in_int64, "int8"), (arg_in_int64, "float32"),
        (gather_by_int64, "int8"), (gather_by_int64, "float32"),
    ],
)  # fmt: skip
def test_it_equals_litert(build: Any, dtype: str, tmp_path: Path) -> None:
    net = Bench(5)
    network = parse_network(net.build(*build(net, dtype)), "net.tflite")
    samples = net.samples(3)
    wanted = LITERT.run(network, samples)
    generated = GeneratedC(compile_program(cpu_plan(network), "net"), tmp_path)
    for sample, golden in zip(samples, wanted, strict=True):
        outputs = generated.outputs(sample)
        assert any(np.any(array) for array in golden.values())
        assert_equal(outputs, golden)


@needs_gcc
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("code", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_a_pool_between_scales_pools_the_stored_values(
    code: str, dtype: str, tmp_path: Path
) -> None:
    """TFLite Micro refuses it, and LiteRT rescales nothing, but bounds the output."""
    net = Bench(3)
    point = {"int8": 5, "uint8": 120, "int16": 0}[dtype]
    x = net.feed((1, 4, 6, 3), dtype, scale=0.5, zero_point=point)
    options = {
        "padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2,
        "fused_activation_function": "RELU",
    }  # fmt: skip
    y = net.make(code, [x], Spec((1, 2, 3, 3), dtype, 0.25, 2 * point), options)
    network = parse_network(net.build(y), "net.tflite")
    samples = net.samples(3)
    with pytest.raises(UnsupportedError):
        TFLM.run(network, samples)
    generated = GeneratedC(compile_program(cpu_plan(network), "net"), tmp_path)
    for sample, golden in zip(samples, LITERT.run(network, samples), strict=True):
        assert_equal(generated.run(sample)[1], golden)


@needs_gcc
@pytest.mark.parametrize(
    ("code", "dtype"),
    [("POW", "int32"), ("FLOOR_DIV", "int32"), ("FLOOR_MOD", "int32"), ("DIV", "int16")],
)
def test_a_value_that_litert_refuses_ends_the_network(
    code: str, dtype: str, tmp_path: Path
) -> None:
    net = Bench(2)
    a, b = net.feed((2, 3), dtype), net.feed((2, 3), dtype, name="b")
    y = net.make(code, [a, b], net.to(dtype, (2, 3)))
    generated = GeneratedC(compile_program(cpu_plan(net.build(y)), "net"), tmp_path)
    good = net.samples(1)[0] | {"b": np.full((2, 3), 2, dtype)}
    assert generated.run(good)[0] == 0
    bad = good | {"b": np.array([[2, 2, 2], [2, -1 if code == "POW" else 0, 2]], dtype)}
    assert generated.run(bad)[0] == 15


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
@pytest.mark.parametrize("code", ["ADD", "SUB"])
def test_a_sum_that_no_interpreter_computes_is_refused(code: str, dtype: str) -> None:
    """TFLite's kernels abort, but for LiteRT's SUB, which shifts by a negative number."""
    point = 128 if dtype == "uint8" else 0
    net = NetworkBuilder("sum", 1)
    a, b = (net.input((1, 16), dtype, 0.3, point) for _ in range(2))
    (y,) = net.operator(code, [a, b], [Spec((1, 16), dtype, 3.2e-7 if point else 1e-7, point)])
    with pytest.raises(UnsupportedError, match="its output scale is too small"):
        compile_program(cpu_plan(net.build(y)), "net")
