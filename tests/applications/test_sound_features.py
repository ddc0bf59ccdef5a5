"""The features of sound: against double precision, and their levels."""

import numpy as np
import pytest

from ethosgen.applications.sound_features import FEATURES, FRAME, features_of, levels, tables
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Tensor
from tests.support.mlperf_networks import network_of

WINDOW = 2 * FRAME
RATE = 16000


@pytest.fixture(scope="module")
def tensor() -> Tensor:
    return parse_network(network_of("sww01"), "sww").inputs[0]


def _sound(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    loud = 10 ** np.repeat(rng.uniform(0, 4.5, 30), FRAME)
    tone = np.sin(np.cumsum(np.repeat(rng.uniform(0.01, 3, 30), FRAME)))
    return np.clip((tone + rng.normal(0, 0.2, len(tone))) * loud, -32768, 32767).astype(np.int16)


def _ones(sound: np.ndarray) -> np.ndarray:
    """Return the features from 0 to 1, by the benchmark's definition in double precision."""
    real = np.concatenate([np.zeros(FRAME + 1), sound.astype(np.float64) / 32768])
    emphasized = real[1:] - (1 - 2**-5) * real[:-1]
    starts = np.arange(len(sound) // FRAME)[:, None] * FRAME
    hamming = 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    spectra = np.fft.rfft(emphasized[starts + np.arange(WINDOW)] * hamming)
    mel = 1127 * np.log1p(np.arange(WINDOW // 2 + 1) * RATE / WINDOW / 700)
    edges = np.linspace(0, 1127 * np.log1p(RATE / 2 / 700), FEATURES + 2)[:, None]
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    triangles = np.minimum((mel - low) / (middle - low), (high - mel) / (high - middle)).clip(0)
    powers = (np.abs(spectra) ** 2 / WINDOW) @ triangles.T
    return ((10 * np.log10(powers.clip(1e-30)) + 52) / 64).clip(0, 1)


@pytest.mark.parametrize("seed", range(4))
def test_features_are_those_of_double_precision(seed: int, tensor: Tensor) -> None:
    assert tensor.quantization is not None
    sound = _sound(seed)
    exact = _ones(sound) / tensor.quantization.scale[0] + tensor.quantization.zero_point[0]
    wanted = np.trunc(exact).clip(-128, 127)
    different = features_of(sound, tensor) != wanted
    assert (np.abs(exact - np.rint(exact))[different] < 1e-3).all() and different.mean() < 0.002
    assert len(np.unique(wanted)) > 50


def test_silence_has_the_least_features(tensor: Tensor) -> None:
    assert (features_of(np.zeros(3 * FRAME, np.int16), tensor) == -128).all()
    assert features_of(np.zeros(FRAME - 1, np.int16), tensor).shape == (0, FEATURES)


def test_levels_rise(tensor: Tensor) -> None:
    finite = levels(tensor)[np.isfinite(levels(tensor))]
    assert (np.diff(finite) > 0).all() and 0 < finite[0] < 0.01


def test_features_of_another_quantization_end_at_its_zero_point() -> None:
    tensor = parse_network(network_of("kws01"), "kws").inputs[0]
    assert tensor.quantization is not None and tensor.quantization.zero_point == (3,)
    features = features_of(np.concatenate([np.zeros(FRAME, np.int16), _sound(0)]), tensor)
    assert (features[0] == 3).all() and features.min() == 3
    assert features.max() == 3 + int(1 / tensor.quantization.scale[0])


def test_a_level_that_no_sound_reaches_is_infinite_in_c(tensor: Tensor) -> None:
    constants = tables(tensor).levels
    assert len(constants) == 255 and ("INFINITY" in constants) == bool(
        np.isinf(levels(tensor)).any()
    )
