"""Every operator that rescales, with factors from 1/8 to 2**27: the errata know what wraps.

TFLite Micro runs each operator alone with inputs that drive it to its ends. What the NPU model then
computes differently must be in the table, since `--no-check` relies on it.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ethosgen import aot
from ethosgen.backend import backend_of, find_accelerator
from ethosgen.backend.protocol import DivisionTask
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.excerpt import gather
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.ends import drive_to_ends
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.errata import errata_of
from ethosgen.verdict.execution import simulate_samples
from tests.support.networks import NetworkBuilder

FACTORS = [2.0**k * m for k in (-3, 0, 1, 8, 15, 16, 18, 22, 27) for m in (1, 1.9999)]
SCALE = 0.5
WEIGHT = 0.006
POINTS = {"int8": (-128, 0, 127), "int16": (0,)}
SIDE = {"int8": 16, "int16": 32}

Layer = Callable[[NetworkBuilder, int, str, dict[str, Any]], int]


def _other(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    """Quantize to the other integer type."""
    other, point = ("int16", 0) if dtype == "int8" else ("int8", 5)
    return net.quantize(x, other, to["scale"], point)


def _product(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    side, point = SIDE[dtype], 3 if dtype == "int8" else 0
    return net.mul(x, net.input((1, side, side, 1), dtype, SCALE, point), **to)


def _multiple(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    return net.mul(x, net.constant(np.array([[[[7]]]], dtype), None, SCALE, 0), **to)


def _shaped(net: NetworkBuilder, x: int, shape: tuple[int, ...]) -> int:
    net.tensors[x] = dataclasses.replace(net.tensors[x], shape=shape)
    return x


def _matrices(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    shape = (1, SIDE[dtype], SIDE[dtype])
    y = net.input(shape, dtype, SCALE, 3 if dtype == "int8" else 0)
    return net.apply("BATCH_MATMUL", _shaped(net, x, shape), y, **to)


def _dense(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any], *others: int) -> int:
    side = SIDE[dtype]
    weights = others or [net.constant(net.random_integers((4, side)), scale=WEIGHT)]
    options = {} if others else {"quantized_bias_type": "int32"}
    rows = _shaped(net, x, (side, side))
    return net.apply("FULLY_CONNECTED", rows, *weights, **options, **to)


def _dense_of_two(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    return _dense(net, x, dtype, to, net.input((4, SIDE[dtype]), "int8", WEIGHT, 0))


def _dense_beside_32_bits(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    weights = net.constant(net.random_integers((4, SIDE[dtype])), scale=WEIGHT)
    bias = net.constant(net.random.integers(-2000, 2000, 4), "int32", SCALE * WEIGHT)
    return _dense(net, x, dtype, to, weights, bias)


def _window_beside_32_bits(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    weights = net.constant(net.random_integers((4, 3, 3, 1)), scale=WEIGHT)
    bias = net.constant(net.random.integers(-2000, 2000, 4), "int32", SCALE * WEIGHT)
    return net.apply("CONV_2D", x, weights, bias, padding="SAME", stride_h=1, stride_w=1, **to)


def _transposed(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    size = (1, 2 * SIDE[dtype], 2 * SIDE[dtype], 4)
    weights = net.constant(net.random_integers((4, 3, 3, 1)), scale=WEIGHT)
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    return net.apply("TRANSPOSE_CONV", size, weights, x, **options, **to)


def _sum(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    return net.apply("SUM", x, [1], keep_dims=True, **to)


def _square(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    shape = net.tensors[x].shape
    y = net.input(shape, dtype, SCALE, 3 if dtype == "int8" else 0)
    return net.apply("SQUARED_DIFFERENCE", x, y, **to)


def _slope(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    slopes = net.constant(net.random_integers((1, 1, 1), dtype), scale=0.02)
    return net.apply("PRELU", x, slopes, **to)


def _copied_beside(code: str, options: dict[str, Any]) -> Layer:
    """Return a copy of two inputs, of which the second has a scale of its own."""

    def layer(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
        y = net.input(net.tensors[x].shape, dtype, 0.37 * SCALE, to["zero_point"])
        return net.apply(code, x, y, **options, **to)

    return layer


def _every_second(net: NetworkBuilder, x: int, dtype: str, to: dict[str, Any]) -> int:
    side = SIDE[dtype]
    ends = ([0, 0, 0, 0], [1, side, side, 1], [1, 2, 2, 1])
    return net.apply("STRIDED_SLICE", x, *ends, **to)


LAYERS: dict[str, Layer] = {
    "MUL": _product,
    "MUL by a constant": _multiple,
    "QUANTIZE": lambda net, x, t, to: net.quantize(x, t, to["scale"], to["zero_point"]),
    "QUANTIZE to another type": _other,
    "RELU": lambda net, x, t, to: net.relu(x, **to),
    "RELU6": lambda net, x, t, to: net.unary("RELU6", x, **to),
    "LEAKY_RELU": lambda net, x, t, to: net.unary("LEAKY_RELU", x, {"alpha": 0.3}, **to),
    "ABS": lambda net, x, t, to: net.unary("ABS", x, **to),
    "MEAN": lambda net, x, t, to: net.mean(x, (1, 2), **to),
    "CONV_2D": lambda net, x, t, to: net.conv2d(x, 4, (3, 3), bias=False, **to),
    "DEPTHWISE_CONV_2D": lambda net, x, t, to: net.depthwise(x, (3, 3), bias=False, **to),
    "FULLY_CONNECTED": lambda net, x, t, to: net.fully_connected(x, 4, bias=False, **to),
    "ADD": lambda net, x, t, to: net.add(x, x, **to),
    "SUB": lambda net, x, t, to: net.sub(x, net.relu(x), **to),
    "BATCH_MATMUL": _matrices,
    "FULLY_CONNECTED with a declared bias": _dense,
    "FULLY_CONNECTED with computed weights": _dense_of_two,
    "FULLY_CONNECTED beside 32 bits": _dense_beside_32_bits,
    "CONV_2D beside 32 bits": _window_beside_32_bits,
    "TRANSPOSE_CONV": _transposed,
    "SUM": _sum,
    "SQUARED_DIFFERENCE": _square,
    "PRELU": _slope,
    "PACK": _copied_beside("PACK", {"axis": 0, "values_count": 2}),
    "CONCATENATION": _copied_beside("CONCATENATION", {"axis": 3}),
    "STRIDED_SLICE": _every_second,
}
INT8_ONLY = frozenset({"PRELU"})
"""What TFLite Micro runs in int8 only."""
INT16_ONLY = frozenset({"CONCATENATION"})
"""What TFLite Micro copies to another scale in int16 only."""
INT8_BEFORE_U85 = frozenset({"BATCH_MATMUL", "FULLY_CONNECTED with computed weights"})
"""What U55 runs in int8 only."""


def _alone(name: str, dtype: str) -> Network:
    """Return one network of a layer with every factor and zero point, each on its own."""
    net, outputs, side = NetworkBuilder("factors", 1), list[int](), SIDE[dtype]
    for factor in FACTORS:
        if name in ("ADD", "SUB") and factor > 2**14:
            continue  # Regor refuses them
        for point in POINTS[dtype]:
            x = net.input((1, side, side, 1), dtype, SCALE, point)
            base = SCALE * SCALE if name.startswith("MUL") else SCALE
            scale = float(np.float32(base / factor))
            outputs.append(LAYERS[name](net, x, dtype, {"scale": scale, "zero_point": point}))
    network = parse_network(net.build(*outputs), "factors")
    bouquet = gather(network, range(len(network.graph.operators)))
    assert bouquet is not None
    return bouquet.network


def _differing(network: Network, npu: str) -> Iterator[tuple[str, float, int]]:
    """Yield operator, factor and zero point of what runs on the NPU, unknown, and differs."""
    accelerator = find_accelerator(npu)
    samples = drive_to_ends(network)
    golden = golden_outputs(network, samples)
    task = DivisionTask(network, accelerator, IoStyle.ARENA, aot.ProcessorSide())
    kept = errata_of(task)
    plan = backend_of(accelerator).compile(task, {})
    outputs = simulate_samples(plan, samples, Watch())
    on_cpu = {left.operator for left in plan.cpu_operators}
    assert len(on_cpu) < len(network.graph.operators), "nothing runs on the NPU"
    tensors = network.graph.tensors
    for index, op in enumerate(network.graph.operators):
        x, y = tensors[op.inputs[0]], tensors[op.outputs[0]]
        pairs = zip(outputs, golden, strict=True)
        differs = any(not np.array_equal(ours[y.name], wanted[y.name]) for ours, wanted in pairs)
        if differs and index not in kept and index not in on_cpu:
            assert x.quantization and y.quantization
            factor = x.quantization.scale[0] / y.quantization.scale[0]
            yield op.code, factor, x.quantization.zero_point[0]


def _cases() -> Iterator[tuple[str, str, str]]:
    for name in LAYERS:
        if name not in INT16_ONLY:
            yield name, "int8", "ethos-u55-128"
            yield name, "int8", "ethos-u85-256"
        if name not in INT8_ONLY:
            yield name, "int16", "ethos-u85-256"
            if name not in INT8_BEFORE_U85:
                yield name, "int16", "ethos-u55-128"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype", "npu"), [*_cases()])
def test_no_factor_is_missing_from_the_errata(name: str, dtype: str, npu: str) -> None:
    assert not list(_differing(_alone(name, dtype), npu))
