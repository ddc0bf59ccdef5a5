"""Golden outputs: exact on what can be computed by hand, and answers for what cannot be run."""

import numpy as np
import pytest

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle import LITERT
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder


def parse(net: NetworkBuilder, *outputs: int) -> Network:
    return parse_network(net.build(*outputs), net.name)


def rescaled() -> NetworkBuilder:
    """A network whose answer is its input, doubled and shifted: scale 0.5 → 0.25, zero point 1."""
    net = NetworkBuilder("rescaled")
    x = net.input((1, 2, 3), scale=0.5, zero_point=0, name="x")
    net.unary("QUANTIZE", x, scale=0.25, zero_point=1, name="y")
    return net


def test_golden_outputs_are_tflite_micros() -> None:
    values = np.array([[[-128, -3, 0], [1, 62, 127]]], np.int8)
    (sample,) = golden_outputs(parse(rescaled()), [{"x": values}])
    assert sample["y"].dtype == np.int8
    assert sample["y"].tolist() == [[[-128, -5, 1], [3, 125, 127]]]


def test_litert_is_a_second_opinion() -> None:
    network = parse(rescaled())
    samples = random_samples(network, 3, seed=0)
    second = LITERT.run(network, samples)
    for golden, other in zip(golden_outputs(network, samples), second, strict=True):
        np.testing.assert_array_equal(golden["y"], other["y"])


def test_several_outputs_are_told_apart_by_name() -> None:
    net = NetworkBuilder("two_ways")
    x = net.input((1, 4), scale=0.5, zero_point=0, name="x")
    small = net.unary("QUANTIZE", x, scale=1.0, zero_point=0, name="half")
    large = net.unary("QUANTIZE", x, scale=0.25, zero_point=0, name="double")
    (outputs,) = golden_outputs(
        parse(net, large, small), [{"x": np.array([[2, 4, -6, 8]], np.int8)}]
    )
    assert list(outputs) == ["double", "half"]
    assert outputs["double"].tolist() == [[4, 8, -12, 16]]
    assert outputs["half"].tolist() == [[1, 2, -3, 4]]


def test_a_large_activation_fits_the_arena() -> None:
    net = NetworkBuilder("large")
    x = net.input((1, 256, 256, 16), name="x")
    net.max_pool(x, (2, 2), name="y")
    network = parse(net)
    (golden,) = golden_outputs(network, random_samples(network, 1, seed=0))
    assert golden["y"].shape == (1, 128, 128, 16)


def test_random_samples_are_deterministic_and_full_range() -> None:
    net = NetworkBuilder("mixed")
    a = net.input((1, 64, 64, 1), "int8", name="a")
    net.input((1, 4096), "int16", 0.1, name="b")
    net.input((1, 16), "float32", None, name="c")
    net.input((1, 64), "bool", None, name="d")
    network = parse(net, net.relu(a))
    first, again = random_samples(network, 2, seed=7), random_samples(network, 5, seed=7)
    for name in ("a", "b", "c", "d"):
        np.testing.assert_array_equal(first[1][name], again[1][name])
        assert not np.array_equal(first[0][name], first[1][name])
    assert (first[0]["a"].min(), first[0]["a"].max()) == (-128, 127)
    assert first[0]["b"].dtype == np.int16
    assert first[0]["b"].min() < -32000
    assert first[0]["c"].dtype == np.float32
    assert set(first[0]["d"].ravel().tolist()) == {False, True}
    assert not np.array_equal(first[0]["a"], random_samples(network, 1, seed=8)[0]["a"])


def test_inputs_must_fit() -> None:
    network = parse(rescaled())
    with pytest.raises(InputError, match="input 'x' is missing; found: z"):
        golden_outputs(network, [{"z": np.zeros((1, 2, 3), np.int8)}])
    with pytest.raises(
        InputError, match=r"'x' is int8 \[6\], but the network expects int8 \[1, 2, 3\]"
    ):
        golden_outputs(network, [{"x": np.zeros(6, np.int8)}])
    with pytest.raises(InputError, match="'x' is uint8"):
        LITERT.run(network, [{"x": np.zeros((1, 2, 3), np.uint8)}])


def test_what_tflite_micro_cannot_run_is_said() -> None:
    net = NetworkBuilder("exotic")
    x = net.input((1, 4))
    net.operator("CUSTOM", [x], [Spec((1, 4), "int8", 0.5, 0)], custom_code="Mine")
    network = parse(net)
    samples = random_samples(network, 1, seed=0)
    with pytest.raises(UnsupportedError, match=r"cannot run 'exotic': .* op code CUSTOM"):
        golden_outputs(network, samples)
    with pytest.raises(UnsupportedError):
        LITERT.run(network, samples)


def test_what_tflite_micros_own_checks_end_is_no_damage() -> None:
    """512 elements share a softmax: it divides by a power of two that it does not allow for."""
    net = NetworkBuilder("flat")
    net.softmax(net.input((1, 512), name="x"))
    with pytest.raises(UnsupportedError, match="aborted on 'flat'"):
        golden_outputs(parse(net), [{"x": np.zeros((1, 512), np.int8)}])


def test_no_samples_need_no_outputs() -> None:
    assert golden_outputs(parse(rescaled()), []) == []
