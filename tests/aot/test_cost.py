"""The CPU's cost against instructions counted on QEMU (mps3-an547), one operator a network."""

import pytest

from ethosgen.aot import cpu_cycles
from ethosgen.aot.registry import estimate_cycles
from ethosgen.frontend.tflite.reader import parse_network
from tests.support.catalogue.packed import Build
from tests.support.catalogue.products import product, transposed
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


PIXELS = (1, 16, 16, 16)
FORMS: dict[str, tuple[Build, int, int]] = {
    "3 x 3": (lambda n: n.conv2d(n.input(PIXELS), 16, (3, 3)), 104_969, 6_733_816),
    "1 x 1": (lambda n: n.conv2d(n.input(PIXELS), 16, (1, 1)), 22_903, 735_845),
    "depthwise": (lambda n: n.depthwise(n.input(PIXELS)), 34_218, 865_285),
    "dense": (lambda n: n.fully_connected(n.input((4, 256)), 64), 9_813, 335_177),
    "dense int16": (lambda n: n.fully_connected(n.input((4, 256), "int16"), 64), 17_173, 269_375),
    "averages": (lambda n: n.average_pool(n.input(PIXELS), (2, 2), (2, 2)), 12_926, 32_399),
    "maxima": (lambda n: n.max_pool(n.input(PIXELS), (2, 2), (2, 2)), 5_118, 32_395),
    "sums": (lambda n: n.add(n.input(PIXELS), n.input(PIXELS, scale=0.011)), 18_493, 217_115),
    "products": (lambda n: n.mul(n.input(PIXELS), n.input(PIXELS, scale=0.011)), 12_850, 98_396),
    "transposed": (
        lambda n: transposed(n, n.input(PIXELS), (32, 32), 16, (2, 2), (2, 2)), 106_582, 2_725_236,
    ),
    "two matrices": (
        lambda n: product(n, n.input((2, 16, 64)), n.input((2, 64, 16))), 11_948, 177_496,
    ),
    "softmax": (lambda n: n.softmax(n.input((16, 100), scale=0.1)), 17_122, 90_696),
}  # fmt: skip
"""Operators with micro-kernels, and the instructions of a network with and without them."""

INT16: dict[str, tuple[Build, int]] = {
    "3 x 3": (lambda n: n.conv2d(n.input(PIXELS, "int16"), 16, (3, 3)), 174_112),
    "dense, 64-bit sums": (lambda n: n.fully_connected(n.input((4, 1200), "int16"), 16), 30_017),
    "depthwise": (lambda n: n.depthwise(n.input(PIXELS, "int16")), 96_606),
    "averages": (lambda n: n.average_pool(n.input(PIXELS, "int16"), (2, 2), (2, 2)), 16_766),
    "maxima": (lambda n: n.max_pool(n.input(PIXELS, "int16"), (2, 2), (2, 2)), 6_590),
    "sums": (
        lambda n: n.add(n.input(PIXELS, "int16"), n.input(PIXELS, "int16", scale=0.011)), 15_946,
    ),
    "products": (
        lambda n: n.mul(n.input(PIXELS, "int16"), n.input(PIXELS, "int16", scale=0.011)), 9_784,
    ),
    "logistic": (lambda n: n.logistic(n.input(PIXELS, "int16", scale=3e-4)), 24_658),
    "softmax": (lambda n: n.softmax(n.input((16, 100), "int16", scale=3e-4)), 22_872),
}  # fmt: skip
"""Operators of int16 with micro-kernels, and the instructions of a network with them."""


ENDS = {("float32", "int8"): 49_191, ("int8", "float32"): 24_606, ("int16", "float32"): 24_606}
"""Types of QUANTIZE or DEQUANTIZE, and the instructions for 32 x 32 x 16 elements."""


@pytest.mark.parametrize("types", ENDS, ids="-".join)
def test_conversions_at_the_ends_are_estimated(types: tuple[str, str]) -> None:
    before, after = types
    net = NetworkBuilder("cost", 1)
    x = net.input((1, 32, 32, 16), before)
    y = net.dequantize(x) if after == "float32" else net.quantize(x, after, 0.05, 0)
    graph = parse_network(net.build(y), "cost").graph
    estimate = cpu_cycles(graph.operators[0], graph)
    assert estimate is not None
    assert 0.7 < estimate / ENDS[types] < 1.4


@pytest.mark.parametrize("name", INT16)
def test_micro_kernels_of_int16_are_estimated(name: str) -> None:
    build, counted = INT16[name]
    net = NetworkBuilder("cost", seed=9)
    graph = parse_network(net.build(build(net)), "cost").graph
    estimate = cpu_cycles(graph.operators[0], graph)
    assert estimate is not None
    assert 0.7 < estimate / counted < 1.4


@pytest.mark.parametrize("name", FORMS)
def test_both_forms_of_a_kernel_are_estimated(name: str) -> None:
    build, packed, plain = FORMS[name]
    net = NetworkBuilder("cost", seed=9)
    graph = parse_network(net.build(build(net)), "cost").graph
    (op,) = graph.operators
    estimates = cpu_cycles(op, graph), estimate_cycles(op, graph.tensors)
    for estimate, counted in zip(estimates, (packed, plain), strict=True):
        assert estimate is not None
        assert 0.7 < estimate / counted < 1.4


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
    outputs = net.operator(code, inputs, [Spec(shape, dtype)])
    graph = parse_network(net.build(*outputs), "cost").graph
    estimate = estimate_cycles(graph.operators[0], graph.tensors)
    assert estimate is not None
    assert 0.7 < estimate / COUNTED[key] < 1.4
