"""The CPU's cost against instructions counted on QEMU (mps3-an547), one operator a network."""

import pytest

from ethosgen.aot.operators import estimate_cycles
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.networks import NetworkBuilder, Spec

COUNTED = {
    ("TRANSPOSE_CONV", "int8", (16, 8, 8, 3, 2)): 2_151_669,
    ("TRANSPOSE_CONV", "int8", (16, 16, 16, 2, 2)): 2_725_236,
    ("TRANSPOSE_CONV", "int16", (16, 8, 16, 3, 1)): 4_369_669,
    ("TRANSPOSE_CONV", "float32", (16, 16, 8, 3, 2)): 1_668_206,
    ("BATCH_MATMUL", "int8", (2, 16, 32, 16)): 95_574,
    ("BATCH_MATMUL", "int8", (2, 16, 64, 16)): 177_496,
    ("BATCH_MATMUL", "int16", (2, 16, 64, 16)): 244_069,
    ("BATCH_MATMUL", "float32", (2, 16, 64, 16)): 204_096,
}
"""Sizes are height, input and output channels, kernel and stride; batch, rows, depth, columns."""


@pytest.mark.parametrize("key", COUNTED, ids=str)
def test_estimates_are_near_what_was_counted(key: tuple[str, str, tuple[int, ...]]) -> None:
    code, dtype, sizes = key
    net = NetworkBuilder("cost", 1)
    if code == "TRANSPOSE_CONV":
        height, depth, channels, kernel, stride = sizes
        shape = (1, height * stride, height * stride, channels)
        weights = net.random_integers((channels, kernel, kernel, depth))
        inputs = [net.constant(list(shape), "int32"), net.constant(weights)]
        inputs.append(net.input((1, height, height, depth), dtype, None, 0))
    else:
        batch, rows, depth, columns = sizes
        shape = (batch, rows, columns)
        inputs = [net.input((batch, rows, depth), dtype, None, 0)]
        inputs.append(net.input((batch, depth, columns), dtype, None, 0))
    made = net.operator(code, inputs, [Spec(shape, dtype)])
    graph = parse_network(net.build(*made), "cost").graph
    estimate = estimate_cycles(graph.operators[0], graph.tensors)
    assert estimate is not None
    assert 0.7 < estimate / COUNTED[key] < 1.4
