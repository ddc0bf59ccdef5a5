"""The CPU's operators at the ends: all input values, large factors, extreme zero points.

TFLite Micro's wheel wraps where a rescaled value plus its zero point exceeds 32 bits.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays
from tests.support.aot_harness import GeneratedC, cpu_plan
from tests.support.needs import needs_gcc
from tests.support.networks import NetworkBuilder

IN_SCALE, SCALE = 0.5692890286445618, 0.047576796263456345
"""The input's scale, and that of weights and of a second input: with OUT_SCALE their factor is so
little below a power of two that products reach the ends of 32 bits."""
OUT_SCALE = 2.583021974089661e-08
SHIFTS = (-1, 0, 4, 8, 16, 20, 21)
"""OUT_SCALE is multiplied by these powers of two."""
MOST_SUMMED = 2.0**16
"""ADD and SUB with a larger factor are refused: no interpreter computes them."""
POINTS = (-128, 127)
SHAPE = (1, 16, 16, 1)

Build = Callable[[NetworkBuilder, int, dict[str, Any]], int]

OPERATORS: dict[str, Build] = {
    "CONV_2D": lambda net, x, out: net.conv2d(x, 4, (3, 3), bias=False, **out),
    "CONV_2D per tensor": lambda net, x, out: net.conv2d(
        x, 4, (1, 1), per_channel=False, bias=False, **out
    ),
    "DEPTHWISE_CONV_2D": lambda net, x, out: net.depthwise(
        x, (1, 1), multiplier=8, bias=False, **out
    ),
    "FULLY_CONNECTED": lambda net, x, out: net.fully_connected(x, 8, bias=False, **out),
    "ADD": lambda net, x, out: net.add(x, x, **out),
    "SUB": lambda net, x, out: net.sub(x, net.relu(x), **out),
    "MUL": lambda net, x, out: net.mul(x, net.input(SHAPE, "int8", SCALE, 3), **out),
    "QUANTIZE": lambda net, x, out: net.quantize(x, "int8", out["scale"], out["zero_point"]),
    "RELU": lambda net, x, out: net.relu(x, **out),
    "RELU6": lambda net, x, out: net.unary("RELU6", x, **out),
    "LEAKY_RELU": lambda net, x, out: net.unary("LEAKY_RELU", x, {"alpha": -1.5}, **out),
    "ABS": lambda net, x, out: net.unary("ABS", x, **out),
    "MEAN": lambda net, x, out: net.mean(x, (1,), **out),
}


class OneScale(np.random.Generator):
    """Draws SCALE as every scale of weights."""

    def uniform(self, *bounds: Any) -> Any:
        return np.full(bounds[-1], SCALE)


def ends(network: Network) -> list[Arrays]:
    """Return all values, in both directions, and the ends everywhere."""
    ramp = np.arange(-128, 128, dtype=np.int8).reshape(SHAPE)
    whole = [np.full(SHAPE, value, np.int8) for value in (-128, 127)]
    return [
        {tensor.name: values for tensor in network.inputs}
        for values in (ramp, ramp[:, ::-1, ::-1], *whole)
    ]


@needs_gcc
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("code", OPERATORS)
def test_the_c_is_exact_for_every_factor_and_zero_point(
    tmp_path: Path, code: str, point: int
) -> None:
    net = NetworkBuilder("ends", 1)
    net.random = OneScale(np.random.PCG64(1))
    x = net.input(SHAPE, "int8", IN_SCALE, point)
    scales = [OUT_SCALE * 2.0**shift for shift in SHIFTS]
    outputs = [
        OPERATORS[code](net, x, {"scale": scale, "zero_point": zero_point})
        for scale in scales
        for zero_point in POINTS
        if IN_SCALE / scale <= MOST_SUMMED or code not in ("ADD", "SUB")
    ]
    network = parse_network(net.build(*outputs), "ends")
    program = compile_program(cpu_plan(network), "ends")
    samples = ends(network)
    firmware = GeneratedC(program, tmp_path, flags=["-O2"])
    for sample, golden in zip(samples, golden_outputs(network, samples), strict=True):
        status, arrays = firmware.run(sample)
        wrong = [
            name for name, values in golden.items() if not np.array_equal(arrays[name], values)
        ]
        assert status == 0 and not wrong


def test_the_sign_of_what_is_no_number_is_none() -> None:
    """TVM took it that x == x where the code runs on this machine, but not in C."""
    tensors = tuple(Tensor(i, name, (4,), "float32") for i, name in enumerate("xy"))
    graph = Graph("main", tensors, (Operator(0, "SIGN", (0,), (1,)),), (0,), (1,))
    run = make_evaluator(cpu_plan(Network("sign", (graph,))))
    outputs = run({"x": np.array([np.nan, -2, 0, 3], np.float32)}, None)
    assert np.array_equal(outputs["y"], np.array([np.nan, -1, 0, 1], np.float32), equal_nan=True)
