"""Samples that drive each operator of a network to its ends."""

from typing import Any

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.excerpt import gather
from ethosgen.samples.ends import COUNT, drive_to_ends
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]

SCALE, OTHER = 0.1300717, 0.0700293
"""No small multiple of one is a multiple of the other, or of an output's scale."""


def layers() -> Network:
    net = NetworkBuilder("layers", 5)
    x = net.input((1, 6, 6, 4), "int8", 0.05, 3)
    y = net.conv2d(x, 5, (3, 3), padding="VALID", stride=(3, 3))
    z = net.fully_connected(net.reshape(y, (1, 20)), 7)
    return parse_network(net.build(net.add(z, net.relu(z))), "layers")


def test_each_operator_has_inputs_and_outputs_of_its_own() -> None:
    network = layers()
    bouquet = gather(network, range(len(network.graph.operators)))
    assert bouquet is not None
    codes = [op.code for op in bouquet.network.graph.operators]
    assert codes == [op.code for op in network.graph.operators]
    read = [i for op in bouquet.network.graph.operators for i in op.inputs]
    assert all(read.count(i) == 1 for i in bouquet.network.graph.inputs)
    assert len(bouquet.network.inputs) == len(codes) + 1, "ADD has two"
    for index, tensor in enumerate(bouquet.network.outputs):
        assert bouquet.origin_of[tensor.name] == bouquet.origins[index]


def test_sums_of_layers_become_largest_and_smallest() -> None:
    network = layers()
    for index, code in ((0, "CONV_2D"), (2, "FULLY_CONNECTED")):
        alone = gather(network, [index])
        assert alone is not None
        (operator,), graph = alone.network.graph.operators, alone.network.graph
        assert operator.code == code
        weights = graph.tensors[operator.inputs[1]].array().astype(np.int64)
        rows = weights.reshape(len(weights), -1)
        most = np.where(rows > 0, 127 * rows, -128 * rows).sum(axis=1)
        samples = drive_to_ends(alone.network)
        assert len(samples) == COUNT
        (name,) = samples[0]
        values = samples[4][name].astype(np.int64)
        if code == "CONV_2D":  # windows do not overlap: each has the pattern of one channel
            windows = values.reshape(2, 3, 2, 3, 4).transpose(0, 2, 1, 3, 4).reshape(4, -1)
            reached = [int(window @ rows[n]) for n, window in enumerate(windows)]
            assert reached == most[:4].tolist()
        else:
            assert int(values.reshape(-1) @ rows[0]) == most[0]
        assert set(np.unique(samples[0][name])) == {-128} and set(np.unique(samples[1][name])) == {
            127
        }


def test_two_inputs_meet_at_all_their_ends() -> None:
    alone = gather(layers(), [4])
    assert alone is not None
    first, second = (tensor.name for tensor in alone.network.inputs)
    met = {(int(s[first].flat[0]), int(s[second].flat[0])) for s in drive_to_ends(alone.network)}
    assert {(-128, -128), (127, 127), (-128, 127), (127, -128)} <= met


def driven_alone(code: str, dtype: str, shape: tuple[int, ...], inputs: int = 1) -> list[Arrays]:
    net = NetworkBuilder("alone", 1)
    read = [net.input(shape, dtype, 0.1, 0) for _ in range(inputs)]
    (y,) = net.operator(code, read, [Spec(shape, dtype, 0.3, 0)])
    return drive_to_ends(parse_network(net.build(y), "alone"))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_single_input_has_one_element_at_the_other_end(dtype: str) -> None:
    info = np.iinfo(dtype)
    for sample, (rest, end) in zip(
        driven_alone("TANH", dtype, (1, 5, 5, 2))[2:4],
        [(info.min, info.max), (info.max, info.min)],
        strict=True,
    ):
        (values,) = sample.values()
        assert np.count_nonzero(values == end) == 1
        assert np.count_nonzero(values == rest) == values.size - 1


def test_small_inputs_of_a_table_meet_every_value_of_8_bits() -> None:
    samples = driven_alone("TANH", "int8", (1, 9, 10))
    assert set(np.concatenate([v.ravel() for s in samples for v in s.values()])) == {
        *range(-128, 128)
    }


def test_a_table_of_16_bits_meets_edges_and_middles_of_its_segments() -> None:
    edges, middles = (
        next(iter(sample.values())).ravel().astype(int)
        for sample in driven_alone("TANH", "int16", (1, 100))[4:6]
    )
    assert set(edges % 128) == {0, 127}
    assert set(middles % 128) == {64}
    assert len(set(middles)) == 100


@pytest.mark.parametrize(("code", "sign"), [("ADD", 1), ("SUB", -1)])
def test_two_inputs_meet_at_ties(code: str, sign: int) -> None:
    first, second = (v.astype(int) for v in driven_alone(code, "int8", (1, 8, 8), 2)[7].values())
    steps = (first + sign * second) / 3  # scales of 0.1 and 0.3: never halfway, at best a third
    assert np.allclose(abs(steps - np.rint(steps)), 1 / 3)
    assert abs(steps).max() < 128
    first, second = (v.astype(int) for v in driven_alone("MUL", "int8", (1, 8, 8), 2)[7].values())
    steps = first * second / 30
    assert np.allclose(abs(steps - np.floor(steps) - 0.5), 0)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_one_element_at_the_other_end_shows_a_wrong_fast_path_for_equal_inputs(dtype: str) -> None:
    """A kernel that takes inputs for equal by their first and last elements is found."""

    def wrong(first: Array, second: Array) -> Array:
        flat = first.ravel()
        is_equal = flat[0] == flat[-1] and second.flat[0] == second.flat[-1]
        return (
            np.full_like(first, max(flat[0], second.flat[0])) if is_equal else right(first, second)
        )

    def right(first: Array, second: Array) -> Array:
        return np.maximum(first, second)

    samples = [list(s.values()) for s in driven_alone("MAXIMUM", dtype, (1, 5, 5, 2), 2)]
    showing = [
        n for n, pair in enumerate(samples) if not np.array_equal(wrong(*pair), right(*pair))
    ]
    assert showing == [7], "its reverse shows it in MINIMUM"


def steps_of(code: str, dtype: str, *shapes: tuple[int, ...], constant: bool = False) -> Array:
    """Return the real results of two inputs at ties, in steps of the output."""
    net = NetworkBuilder("alone", 1)
    x = net.input(shapes[0], dtype, SCALE, 0)
    values = net.random_integers(shapes[1], dtype)
    y = net.constant(values, scale=OTHER) if constant else net.input(shapes[1], dtype, OTHER, 0)
    shape = np.broadcast_shapes(*shapes)
    output = Spec(shape, dtype, SCALE * OTHER * 900 if code == "MUL" else 0.3100713, 0)
    network = parse_network(net.build(net.operator(code, [x, y], [output])[0]), "alone")
    varying = [*drive_to_ends(network)[7].values()]
    first = varying[0].astype(float) * SCALE
    second = (values if constant else varying[1]).astype(float) * OTHER
    real = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}[code](first, second)
    return np.asarray(real / output.scale)


@pytest.mark.parametrize("code", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize(
    ("dtype", "most"), [("int8", 0.02), ("int16", 3e-3)], ids=["int8", "int16"]
)
@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 6, 6, 4), (1, 6, 6, 4)),
        ((1, 6, 6, 4), (4,)),
        ((1, 1, 1, 4), (1, 6, 6, 4)),
        ((1, 6, 1, 4), (1, 1, 6, 4)),
        ((1, 6, 6, 4), ()),
    ],
)
def test_two_inputs_of_any_shapes_meet_at_ties(
    code: str, dtype: str, most: float, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    steps = steps_of(code, dtype, *shapes)
    distances = abs(steps - np.floor(steps) - 0.5)
    is_crossed = shapes == ((1, 6, 1, 4), (1, 1, 6, 4))  # an element of one meets six of the other
    assert np.quantile(distances, 0.1 if is_crossed else 0.5) < most
    assert is_crossed or abs(steps).max() <= np.iinfo(dtype).max + 1


def test_an_input_meets_ties_beside_a_constant() -> None:
    steps = steps_of("ADD", "int8", (1, 6, 6, 4), (4,), constant=True)
    assert np.median(abs(steps - np.floor(steps) - 0.5)) < 0.1


def test_a_rescaled_input_of_16_bits_meets_ties() -> None:
    (values,) = driven_alone("QUANTIZE", "int16", (1, 8, 8))[7].values()
    steps = values / 3
    assert np.allclose(abs(steps - np.floor(steps) - 0.5), 1 / 6)
