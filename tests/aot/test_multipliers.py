"""Scales at which single and double precision give different multipliers.

TFLite Micro's wheel multiplies scales in double precision, LiteRT those of some operators in
single. Int16 layers show it: their multiplier has 16 bits.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from ethosgen.aot import make_evaluator
from ethosgen.aot.tir.quantization import quantize_multiplier, shorten
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT, TFLM, Oracle
from ethosgen.values.network import Network
from tests.support.aot_harness import cpu_plan
from tests.support.catalogue.recurrent import lstm
from tests.support.networks import NetworkBuilder, Spec

COUNT = 4
RANGES = ((1e-5, 4e-5), (3e-3, 9e-3), (3e-5, 6e-5))
"""Of the scales of an input, weights and an output."""


def _telling_scales(seed: int) -> Iterator[tuple[float, float, float]]:
    """Yield scales of an input, weights and an output whose product's precision matters."""
    rng = np.random.default_rng(seed)
    count = 0
    while count < COUNT:
        first, second, out = (
            np.float32(rng.uniform(*r)) for r in ((1e-5, 4e-5), (3e-3, 9e-3), (3e-5, 6e-5))
        )
        single, double = float(first * second), float(first) * float(second)
        if _short(single / float(out)) != _short(double / float(out)):
            count += 1
            yield float(first), float(second), float(out)


def _short(real: float) -> tuple[int, int]:
    return shorten(quantize_multiplier(real))


def _differing(network: Network, oracle: Oracle, seed: int = 1, limit: int = 32768) -> int:
    rng = np.random.default_rng(seed)
    sample = {
        tensor.name: rng.integers(-most, most, tensor.shape).astype(tensor.dtype)
        for tensor in network.inputs
        for most in (limit if tensor.dtype == "int16" else 128,)
    }
    (golden,) = oracle.run(network, [sample])
    outputs = make_evaluator(cpu_plan(network))(sample, lambda *_: {})
    return sum(int(np.count_nonzero(outputs[name] != golden[name])) for name in golden)


@pytest.mark.parametrize("scales", list(_telling_scales(1)))
@pytest.mark.parametrize("bias", [None, "int64"])
def test_fully_connected(scales: tuple[float, float, float], bias: str | None) -> None:
    net = NetworkBuilder("dense", 1)
    x = net.input((8, 26), "int16", scales[0], 0)
    operands = [x, net.constant(net.random_integers((8, 26)), scale=scales[1])]
    if bias is not None:
        operands.append(net.constant(np.zeros(8, bias), scale=scales[0] * scales[1]))
    (y,) = net.operator("FULLY_CONNECTED", operands, [Spec((8, 8), "int16", scales[2], 0)])
    assert _differing(parse_network(net.build(y), "dense"), TFLM) == 0


@pytest.mark.parametrize("scales", list(_telling_scales(2)))
@pytest.mark.parametrize(("dtype", "oracle"), [("int16", TFLM), ("int8", LITERT)])
def test_batch_matmul(scales: tuple[float, float, float], dtype: str, oracle: Oracle) -> None:
    """TFLite Micro lacks int16 by int8, whose product LiteRT rounds to single precision."""
    net = NetworkBuilder("matmul", 1)
    first = net.input((1, 8, 26), "int16", scales[0], 0)
    second = net.input((1, 26, 8), dtype, scales[1], 0)
    (y,) = net.operator("BATCH_MATMUL", [first, second], [Spec((1, 8, 8), "int16", scales[2], 0)])
    limit = 32768 if dtype == "int8" else 2048
    assert _differing(parse_network(net.build(y), "matmul"), oracle, limit=limit) == 0


@pytest.mark.parametrize("seed", range(3))
def test_lstm(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(4000):
        scale = float(np.float32(rng.uniform(2e-4, 8e-4)))
        net = NetworkBuilder("lstm", 1)
        x = net.input((12, 10, 16), "int16", scale, 0)
        y = lstm(net, x, 24)
        weights = [t.scale for t in net.tensors[1:5] if isinstance(t.scale, float)]
        single = [float(np.float32(scale) * np.float32(w)) for w in weights]
        double = [scale * float(np.float32(w)) for w in weights]
        if any(_short(4096 * s) != _short(4096 * d) for s, d in zip(single, double, strict=True)):
            break
    else:
        raise AssertionError("no scale tells them apart")
    assert _differing(parse_network(net.build(y), "lstm"), TFLM, limit=4000) == 0
