"""Weights of float16 behind DEQUANTIZE, as converters write them for a float network."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.aot import can_run, compile_program
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT
from ethosgen.values.errors import UnsupportedError
from tests.support.aot_harness import GeneratedC, cpu_plan
from tests.support.catalogue.bench import Bench
from tests.support.needs import needs_gcc
from tests.support.networks import Spec


@needs_gcc
def test_a_layer_with_float16_weights_equals_litert(tmp_path: Path) -> None:
    net = Bench(3)
    x = net.feed((2, 5), "float32")
    weights = net.constant(net.random.uniform(-2, 2, (4, 5)), "float16")
    bias = net.constant(net.random.uniform(-2, 2, (4,)), "float16")
    ready = [
        net.make("DEQUANTIZE", [half], Spec(shape, "float32"))
        for half, shape in ((weights, (4, 5)), (bias, (4,)))
    ]
    options = {"fused_activation_function": "NONE"}
    y = net.make("FULLY_CONNECTED", [x, *ready], Spec((2, 4), "float32"), options)
    network = parse_network(net.build(y, ready[1]), "halves.tflite")
    assert all(can_run(op, network.graph) for op in network.graph.operators)
    samples = net.samples(3)
    wanted = LITERT.run(network, samples)
    program = compile_program(cpu_plan(network), "net")
    assert "dequantize" not in program.sources["net_graph.c"]
    generated = GeneratedC(program, tmp_path)
    for sample, golden in zip(samples, wanted, strict=True):
        outputs = generated.outputs(sample)
        for name, array in golden.items():
            np.testing.assert_allclose(outputs[name], array, rtol=1e-6, atol=1e-6)
            assert np.any(array)


def test_float16_that_is_computed_is_refused() -> None:
    net = Bench(3)
    x = net.input((2, 5), "float16", None)
    y = net.make("DEQUANTIZE", [x], Spec((2, 5), "float32"))
    with pytest.raises(UnsupportedError, match="no CPU code for float16"):
        compile_program(cpu_plan(net.build(y)), "net")
