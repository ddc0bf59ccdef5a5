"""Curves at every input, against LiteRT, and ELU against TFLite Micro."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT, TFLM, Oracle
from tests.support.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder, Spec


@pytest.mark.parametrize("code", ["EXP", "LOG"])
@pytest.mark.parametrize(
    ("scale", "unit"),
    [(0.0001686553005129099, 6.306934210442705e-07), (2e-4, 3e-6), (3e-4, 2e-4), (1e-3, 1e-5)],
)
def test_every_value_equals_litert(code: str, scale: float, unit: float) -> None:
    """On a curve that crosses its whole range within one step, TFLite's 16 bits wrap around."""
    net = NetworkBuilder("curve", 1)
    x = net.input((256, 256), "int16", scale, 0)
    (y,) = net.operator(code, [x], [Spec((256, 256), "int16", unit, 0)])
    network = parse_network(net.build(y), "curve")
    sample = {network.inputs[0].name: np.arange(-32768, 32768, dtype=np.int16).reshape(256, 256)}
    (golden,) = LITERT.run(network, [sample])
    outputs = make_evaluator(cpu_plan(network))(sample, lambda *_: {})
    ((name, wanted),) = golden.items()
    assert np.array_equal(outputs[name], wanted)


@pytest.mark.parametrize(
    ("code", "scale", "unit"),
    [("EXP", 0.14, 0.02), ("EXP", 6.3, 0.004), ("GELU", 10.0, 1e-7), ("LOG", 10.0, 1e-9)],
)
def test_bytes_saturate_beyond_32_bits_as_in_litert(code: str, scale: float, unit: float) -> None:
    assert _differing_bytes(code, scale, unit, -13, LITERT) == 0


def test_an_elu_beyond_32_bits_becomes_the_lowest_as_in_tflite_micro() -> None:
    assert _differing_bytes("ELU", 10.0, 1e-7, -128, TFLM) == 0


def _differing_bytes(code: str, scale: float, unit: float, point: int, oracle: Oracle) -> int:
    net = NetworkBuilder("curve", 1)
    x = net.input((16, 16), "int8", scale, point)
    (y,) = net.operator(code, [x], [Spec((16, 16), "int8", unit, 0)])
    network = parse_network(net.build(y), "curve")
    sample = {network.inputs[0].name: np.arange(-128, 128, dtype=np.int8).reshape(16, 16)}
    (golden,) = oracle.run(network, [sample])
    outputs = make_evaluator(cpu_plan(network))(sample, lambda *_: {})
    ((name, wanted),) = golden.items()
    return int(np.count_nonzero(outputs[name] != wanted))
