"""Quantization of data, against TensorFlow Lite Micro's QUANTIZE."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import DEFAULT
from ethosgen.samples.quantizing import quantized, real
from ethosgen.values.errors import InputError
from ethosgen.values.network import Quantization, Tensor
from tests.support.networks import NetworkBuilder

COUNT = 512


def values(scale: float, zero_point: int) -> np.ndarray:
    """Draw floats of which many are halves between two steps, or saturate."""
    random = np.random.default_rng(1)
    steps = random.integers(-300, 300, COUNT - 8) / 2 - zero_point
    far = 2.0**30 * scale  # beyond int32 the C++ cast is undefined
    below = 0.49999997 * scale
    ends = [far, -far, 1e4, -1e4, 0.0, -0.0, below, -below]
    return np.array([*(steps * scale), *ends], np.float32)


@pytest.mark.parametrize(
    ("dtype", "scale", "zero_point"),
    [("int8", 0.5, 3), ("int8", 1 / 255, -128), ("int16", 0.25, 0)],
)
def test_floats_become_what_tflite_makes_of_them(
    tmp_path: Path, dtype: str, scale: float, zero_point: int
) -> None:
    net = NetworkBuilder("quantizes")
    x = net.input((1, COUNT), "float32", scale=None, name="x")
    path = tmp_path / "quantizes.tflite"
    path.write_bytes(net.build(net.quantize(x, dtype, scale, zero_point)))
    network = frontend.read(path)
    reals = values(scale, zero_point).reshape(1, COUNT)
    (outputs,) = DEFAULT.run(network, [{"x": reals}])
    (output,) = network.outputs
    assert np.array_equal(quantized(reals, output), outputs[output.name])


PIXEL = Tensor(0, "pixel", (4,), "int8", Quantization((0.5,), (3,)))


def test_halves_go_away_from_zero_and_infinities_saturate() -> None:
    reals = np.array([0.25, -0.25, np.inf, -np.inf])
    assert quantized(reals, PIXEL).tolist() == [4, 2, 127, -128]


def test_integers_of_the_own_type_are_taken_as_they_are() -> None:
    integers = np.array([1, -2, 3, 4], np.int8)
    assert quantized(integers, PIXEL) is integers


def test_floats_for_a_float_input_only_change_their_width() -> None:
    tensor = Tensor(0, "x", (2,), "float32")
    assert quantized(np.array([0.1, np.nan]), tensor).dtype == np.float32


def test_the_reverse() -> None:
    assert real(np.array([3, 4, -128], np.int8), PIXEL).tolist() == [0.0, 0.5, -65.5]


@pytest.mark.parametrize(
    ("array", "tensor", "says"),
    [
        (np.array([np.nan]), PIXEL, "has NaN"),
        (np.array([1], np.uint8), PIXEL, "'pixel' is uint8, but must be int8, or floats"),
        (np.array([1.0]), Tensor(0, "ids", (1,), "int32"), "'ids' has no scale"),
    ],
)
def test_what_cannot_be_quantized(array: np.ndarray, tensor: Tensor, says: str) -> None:
    with pytest.raises(InputError, match=says):
        quantized(array, tensor)
