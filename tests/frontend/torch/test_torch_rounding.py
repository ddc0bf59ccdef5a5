"""Why an LSTM and the digits are not PyTorch's to the step: TFLite's roundings alone."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ethosgen.oracle import TFLM
from ethosgen.studies.quantization import quantize
from ethosgen.values.quantization import QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.float_networks import digits_pt2, trained_digits
from tests.support.needs import needs_torch
from tests.support.pt2_files import pt2_files
from tests.support.torch_alone import Array, Layer, Recording, once_rounded, recorded

pytestmark = [needs_torch, pytest.mark.slow]

LSTM_SAMPLES = 40
DIGITS = 100


def with_tflm(layer: Layer) -> list[Array]:
    return [outputs[layer.output.name] for outputs in TFLM.run(layer.network, list(layer.inputs))]


def main(layer: Layer) -> str:
    """Return the operator that computes: functions have a QUANTIZE before and after them."""
    return next((code for code in layer.codes if code not in ("QUANTIZE", "SLICE")), "")


def steps(computed: list[Array], expected: tuple[Array, ...]) -> Array:
    """Return the differences of all samples' elements in steps."""
    pairs = zip(computed, expected, strict=True)
    return np.concatenate([(a.astype(int) - b.astype(int)).ravel() for a, b in pairs])


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    (path,) = pt2_files(tmp_path_factory, "ethosu", "lstm")
    random = np.random.default_rng(3)
    sequences = [random.standard_normal((1, 6, 8)).astype(np.float32) for _ in range(LSTM_SAMPLES)]
    return recorded(path, [{"steps": sequence} for sequence in sequences])


def test_each_layer_of_an_lstm_alone_is_within_a_step(lstm: Recording) -> None:
    ours, once = defaultdict(list), []
    for layer in lstm.layers():
        ours[main(layer)].append(steps(with_tflm(layer), layer.expected))
        rounded = [once_rounded(layer, sample) for sample in layer.inputs]
        once.append(steps(rounded, layer.expected))
    assert set(ours) == {"ADD", "MUL", "FULLY_CONNECTED", "LOGISTIC", "TANH"}
    for code, steps_of_code in ours.items():
        differences = np.abs(np.concatenate(steps_of_code))
        assert np.max(differences) <= 1, code
        assert np.mean(differences) < 0.01, code
    exact = np.abs(np.concatenate(once))
    assert exact.size > 50_000
    assert np.max(exact) <= 1
    assert np.mean(exact) < 0.0001


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder: Path = tmp_path_factory.mktemp("digits")
    layers, calibration, held_out = trained_digits()
    np.savez(folder / "data.npz", image=calibration.transpose(0, 3, 1, 2))
    asked = QuantizationRequest(
        digits_pt2(folder / "float.pt2", layers), folder / "data.npz", folder / "made.pt2"
    )
    quantize(asked, Watch())
    images = held_out.images[:DIGITS].transpose(0, 3, 1, 2)
    samples = [{"image": np.ascontiguousarray(image[np.newaxis])} for image in images]
    return recorded(folder / "made.pt2", samples)


def test_only_ties_of_an_average_pool_part_the_digits_from_torch(digits: Recording) -> None:
    layers = {layer.codes[-1]: layer for layer in digits.layers()}
    pool = layers.pop("AVERAGE_POOL_2D")
    differing, ties = [], []
    for sample, mean, expected in zip(pool.inputs, with_tflm(pool), pool.expected, strict=True):
        (image,) = sample.values()
        _, height, width, channels = image.shape
        blocks = image.astype(int).reshape(height // 2, 2, width // 2, 2, channels)
        differing.append(mean != expected)
        ties.append(blocks.sum((1, 3))[np.newaxis] % 4 == 2)
    assert np.mean(differing) > 0.02
    assert not np.any(np.array(differing) & ~np.array(ties))
    names = "DEPTHWISE_CONV_2D CONV_2D MAX_POOL_2D ADD FULLY_CONNECTED SOFTMAX"
    assert set(layers) == set(names.split())
    for code, layer in layers.items():
        differences = np.abs(steps(with_tflm(layer), layer.expected))
        assert np.max(differences) <= 1, code
        assert np.mean(differences) < 0.01, code
