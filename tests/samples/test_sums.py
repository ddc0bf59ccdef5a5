"""Samples in which the sums of layers are largest, smallest, or at ties of rounding.

A wrong model of each layer computes its sums right and rounds them wrongly: only such a sample
shows it. What TensorFlow Lite Micro computes proves the right one.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.ends import drive_to_ends
from ethosgen.samples.sums import ROUNDS
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]
POINT = -3
TO = {"scale": 0.4, "zero_point": 5}
HALF = 1 << 30


def pictured(code: str, size: int = 6) -> Network:
    """Return a layer of windows of 3 x 3 alone, whose input has a zero point."""
    net = NetworkBuilder("layer", 3)
    x = net.input((1, size, size, 3), "int8", 0.05, POINT)
    if code == "CONV_2D":
        y = net.conv2d(x, 4, (3, 3), padding="VALID", **TO)
    elif code == "DEPTHWISE_CONV_2D":
        y = net.depthwise(x, (3, 3), padding="VALID", **TO)
    else:
        shape = (1, 2 * size + 1, 2 * size + 1, 4)
        scales = (0.01, 0.02, 0.03, 0.05)
        weights = net.constant(net.random_integers((4, 3, 3, 3)), scale=scales)
        bias = net.constant(np.array([90, -700, 5, 0]), "int32", 0.001)
        size_of = net.constant(np.array(shape), "int32")
        options = {"padding": "VALID", "stride_h": 2, "stride_w": 2}
        outputs = [Spec(shape, "int8", **TO)]
        (y,) = net.operator(code, [size_of, weights, x, bias], outputs, options)
    return parse_network(net.build(y), "layer")


def flat(code: str, rows: int = 1) -> Network:
    net = NetworkBuilder("layer", 4)
    x = net.input((rows, 16), "int8", 0.05, POINT)
    if code == "FULLY_CONNECTED":
        y = net.fully_connected(x, 5, **TO)
    else:
        y = net.constant(net.random_integers((16, 5)), scale=0.02)
        (y,) = net.operator(code, [x, y], [Spec((rows, 5), "int8", **TO)])
    return parse_network(net.build(y), "layer")


def sums_of(network: Network, values: Array) -> Array:
    """Return the sums of a layer, by output channel in the last dimension."""
    (operator,), tensors = network.graph.operators, network.graph.tensors
    weights = tensors[operator.inputs[1]].array().astype(np.int64)
    x = values.astype(np.int64) - POINT
    shape = network.outputs[0].shape
    match operator.code:
        case "FULLY_CONNECTED":
            sums = x @ weights.T
        case "BATCH_MATMUL":
            sums = x @ weights
        case "TRANSPOSE_CONV":
            sums = np.zeros(shape, np.int64)
            for row, column in np.ndindex(x.shape[1:3]):
                products = np.tensordot(weights, x[0, row, column], 1)
                at = (0, slice(2 * row, 2 * row + 3), slice(2 * column, 2 * column + 3))
                sums[at] += np.moveaxis(products, 0, -1)
        case code:
            sums = np.zeros(shape, np.int64)
            for row, column in np.ndindex(shape[1:3]):
                window = x[0, row : row + 3, column : column + 3]
                kernel = weights[0] if code == "DEPTHWISE_CONV_2D" else weights
                axes = (0, 1) if code == "DEPTHWISE_CONV_2D" else (1, 2, 3)
                sums[0, row, column] = (window * kernel).sum(axis=axes)
    position = 3 if operator.code == "TRANSPOSE_CONV" else 2
    bias = tensors[operator.inputs[position]].array() if len(operator.inputs) > position else 0
    return np.asarray(sums + bias)


def to_zero(total: Array) -> Array:
    return np.where(total >= 0, total >> 31, -(-total >> 31))


def nudged(product: Array) -> Array:
    return np.where(product >= 0, product + HALF, product + 1 - HALF)


def away(high: Array, right: Array) -> Array:
    mask = (np.int64(1) << right) - 1
    return (high >> right) + ((high & mask) > (mask >> 1) + (high < 0))


Rounding = Callable[[Array, Array], Array]
RIGHT: Rounding = lambda product, right: away(to_zero(nudged(product)), right)  # noqa: E731
WRONG: dict[str, Rounding] = {
    "floor of the nudged product": lambda product, right: away(nudged(product) >> 31, right),
    "once": lambda product, right: (product + (np.int64(1) << (30 + right))) >> (31 + right),
    "down, then away": lambda product, right: away(product >> 31, right),
    "twice, but up": lambda product, right: (
        (to_zero(nudged(product)) + (np.int64(1) << right >> 1)) >> right
    ),
}


def outputs_of(network: Network, values: Array, rounding: Rounding) -> Array:
    weights = network.graph.tensors[network.graph.operators[0].inputs[1]]
    assert weights.quantization is not None
    pairs = [math.frexp(s * 0.05 / TO["scale"]) for s in weights.quantization.scale]
    multipliers = np.array([round(mantissa * (1 << 31)) for mantissa, _ in pairs])
    right = np.array([-exponent for _, exponent in pairs])
    scaled = rounding(sums_of(network, values) * multipliers, right)
    return np.clip(scaled + TO["zero_point"], -128, 127).astype(np.int8)


PICTURED = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV")
ALL = (*PICTURED, "FULLY_CONNECTED", "BATCH_MATMUL")


@pytest.mark.parametrize("code", ALL)
def test_wrong_roundings_show_at_ties_alone(code: str) -> None:
    network = pictured(code, 3) if code in PICTURED else flat(code)
    (name,), samples = (t.name for t in network.inputs), drive_to_ends(network)
    golden = [next(iter(outputs.values())) for outputs in golden_outputs(network, samples)]
    for sample, right in zip(samples, golden, strict=True):
        assert np.array_equal(outputs_of(network, sample[name], RIGHT), right)
    for how, rounding in WRONG.items():
        differing = [
            index
            for index, (sample, right) in enumerate(zip(samples, golden, strict=True))
            if not np.array_equal(outputs_of(network, sample[name], rounding), right)
        ]
        assert differing and differing[-1] >= len(samples) - ROUNDS, f"{how}: {differing}"
        if code not in PICTURED:  # a picture's many sums meet some ties by chance
            assert min(differing) >= len(samples) - ROUNDS, how


@pytest.mark.parametrize("code", PICTURED)
def test_the_sums_of_pictures_become_largest_and_smallest(code: str) -> None:
    network = pictured(code, 24)
    (name,), samples = (t.name for t in network.inputs), drive_to_ends(network)
    weights = network.graph.tensors[network.graph.operators[0].inputs[1]].array().astype(int)
    if code == "DEPTHWISE_CONV_2D":
        by_sum = [weights[0, :, :, n].reshape(-1) for n in range(3)]
        channels = [0, 1, 2]
    elif code == "CONV_2D":
        by_sum, channels = [*weights.reshape(4, -1)], [0, 1, 2, 3]
    else:  # the outputs of even rows and columns meet four weights, others two or one
        corners = [
            weights[n, down::2, across::2] for n in range(4) for down in (0, 1) for across in (0, 1)
        ]
        by_sum, channels = (
            [part.reshape(-1) for part in corners],
            [n for n in range(4) for _ in range(4)],
        )
    bias = sums_of(network, np.full(network.inputs[0].shape, POINT))[0, -1, -1]
    for number, (above, below) in ((4, (127, -128)), (5, (-128, 127))):
        sums = sums_of(network, samples[number][name])
        for row, channel in zip(by_sum, channels, strict=True):
            end = np.where(row >= 0, above - POINT, below - POINT) @ row + bias[channel]
            assert end in sums[..., channel]


@pytest.mark.parametrize("adj", [(x, y) for x in (False, True) for y in (False, True)])
@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("batches", [1, 3])
def test_the_sums_of_matrices_become_largest_and_smallest(
    adj: tuple[bool, bool], constant: int, batches: int
) -> None:
    shapes = [(batches, 7, 6), (batches, 6, 5)]
    shapes = [(s[0], s[2], s[1]) if turned else s for s, turned in zip(shapes, adj, strict=True)]
    net = NetworkBuilder("product", 2)
    values = net.random_integers(shapes[constant])
    pair = [0, 0]
    pair[constant] = net.constant(values, scale=0.02)
    pair[1 - constant] = net.input(shapes[1 - constant], "int8", 0.05, POINT)
    options = dict(zip(("adj_x", "adj_y"), adj, strict=True))
    (y,) = net.operator("BATCH_MATMUL", pair, [Spec((batches, 7, 5), "int8", **TO)], options)
    network = parse_network(net.build(y), "product")
    (name,), samples = (t.name for t in network.inputs), drive_to_ends(network)
    operands = [values.astype(int), samples[4][name].astype(int) - POINT]
    x, y_values = operands if constant == 0 else operands[::-1]
    x, y_values = (
        np.swapaxes(v, 1, 2) if turned else v for v, turned in zip((x, y_values), adj, strict=True)
    )
    sums = x @ y_values
    known = x if constant == 0 else np.swapaxes(y_values, 1, 2)
    most = np.where(known >= 0, known * (127 - POINT), known * (-128 - POINT)).sum(axis=2)
    reached = sums.max(axis=2 if constant == 0 else 1)
    met = min(7, 5)  # a row of the one meets each row of the other
    assert (reached == most)[:, :met].all()


def test_a_layer_with_a_bias_that_varies_has_samples_of_both() -> None:
    net = NetworkBuilder("layer", 4)
    x, bias = net.input((1, 16), "int8", 0.05, POINT), net.input((5,), "int32", 0.001, 0)
    weights = net.constant(net.random_integers((5, 16)), scale=0.02)
    (y,) = net.operator("FULLY_CONNECTED", [x, weights, bias], [Spec((1, 5), "int8", **TO)])
    network = parse_network(net.build(y), "layer")
    names = {tensor.name for tensor in network.inputs}
    assert all(set(sample) == names for sample in drive_to_ends(network))
