"""Curves in int16, against LiteRT, at every input."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT
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
    made = make_evaluator(cpu_plan(network))(sample, lambda *_: {})
    ((name, wanted),) = golden.items()
    assert np.array_equal(made[name], wanted)
