"""Comparisons in int16, which LiteRT computes in two ways and TFLite Micro lacks."""

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.litert import litert_outputs
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network
from tests.support.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder, Spec

CODES = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


def _compare(code: str, scales: tuple[float | None, float | None]) -> Network:
    net = NetworkBuilder("comparison", 1)
    first = net.input((64, 1), "int16", scales[0], 0)
    second = net.input((1, 64), "int16", scales[1], 0)
    (y,) = net.operator(code, [first, second], [Spec((64, 64), "bool")])
    return parse_network(net.build(y), "comparison")


def _differing(network: Network) -> tuple[int, int]:
    """Return the number of elements that differ from LiteRT's, and of those that hold."""
    rng = np.random.default_rng(5)
    near = rng.integers(-300, 300, (64, 1)).astype(np.int16)
    first, second = (tensor.name for tensor in network.inputs)
    sample = {first: near, second: rng.permutation(near).reshape(1, 64)}
    (golden,) = litert_outputs(network, [sample])
    outputs = make_evaluator(cpu_plan(network))(sample, lambda *_: {})
    ((name, wanted),) = golden.items()
    return int(np.count_nonzero(outputs[name] != wanted)), int(np.count_nonzero(wanted))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("scale", [1.291e-5, 3.0517578125e-05, 0.05, 0.9, None])
def test_equal_scales_compare_as_in_litert(code: str, scale: float | None) -> None:
    """EQUAL compared the stored values: with a small scale 2274 and 2452 were not equal."""
    if code == "NOT_EQUAL" and scale is None:
        pytest.skip("LiteRT leaves the result unset")
    differing, holding = _differing(_compare(code, (scale, scale)))
    assert differing == 0 and 0 < holding < 64 * 64


@pytest.mark.parametrize("code", CODES)
def test_two_scales_compare_as_in_litert(code: str) -> None:
    """EQUAL and NOT_EQUAL compare represented values, the others stored ones."""
    differing, holding = _differing(_compare(code, (0.02, 0.01)))
    assert differing == 0 and 0 < holding < 64 * 64


def test_what_nobody_computes_is_refused() -> None:
    cases = (("NOT_EQUAL", (None, None)), ("EQUAL", (0.9, 1.0)))
    for code, scales in cases:
        with pytest.raises(UnsupportedError, match=code):
            make_evaluator(cpu_plan(_compare(code, scales)))({}, lambda *_: {})


def test_litert_is_no_oracle_for_what_it_leaves_undefined() -> None:
    network = _compare("EQUAL", (0.9, 1.0))
    sample = {t.name: np.zeros(t.shape, np.int16) for t in network.inputs}
    with pytest.raises(UnsupportedError, match="LiteRT leaves the result of EQUAL"):
        litert_outputs(network, [sample])
    assert litert_outputs(_compare("LESS", (0.9, 1.0)), [sample])
