"""The demo's audio front end: TensorFlow Lite Micro's constants, and what it makes of sound."""

import hashlib

import kws_front_end
import numpy as np
import pytest
from kws_front_end import CHANNELS, FILE, RATE, WINDOW

from ethosgen.frontend import read
from ethosgen.oracle.tflm import golden_outputs

PUBLISHED = {
    "hann": "ca6ab5bacdf6a239",
    "band_weights": "e6958308c77335c5",
    "band_unweights": "557b29ceb873ff55",
    "band_starts": "e48ac2a566c1abb8",
    "band_weight_starts": "30150e05b6ba4040",
    "band_widths": "c438489ff6412b4c",
    "gains": "c84d83b8b98ba1e1",
}
"""SHA-256 of the constants in TFLM's audio_preprocessor_int8.tflite at d5a83db0d, 16 digits."""
OPERATORS = """
SignalWindow RESHAPE SignalFftAutoScale SignalRfft SignalEnergy CAST STRIDED_SLICE CONCATENATION
CAST SignalFilterBank SignalFilterBankSquareRoot SignalFilterBankSpectralSubtraction
SignalPCAN SignalFilterBankLog CAST MUL ADD DIV ADD MINIMUM MAXIMUM CAST
""".split()


def features(sound: np.ndarray) -> np.ndarray:
    """Return the features of each window of a stream."""
    hops = range(0, len(sound) - WINDOW + 1, kws_front_end.HOP)
    samples = [{"audio": sound[np.newaxis, hop : hop + WINDOW]} for hop in hops]
    outputs = golden_outputs(read(FILE), samples)
    return np.array([output["features"] for output in outputs])


def test_the_committed_file_is_what_the_script_writes() -> None:
    assert kws_front_end.front_end() == FILE.read_bytes()


@pytest.mark.parametrize("name", PUBLISHED)
def test_its_constants_are_those_of_micro_speech(name: str) -> None:
    (tensor,) = [t for t in read(FILE).graph.tensors if t.name == name]
    assert hashlib.sha256(tensor.data or b"").hexdigest()[:16] == PUBLISHED[name]


def test_its_operators_are_those_of_micro_speech() -> None:
    graph = read(FILE).graph
    assert [op.custom_code or op.code for op in graph.operators] == OPERATORS
    (audio,), (bands,) = graph.input_tensors(), graph.output_tensors()
    assert (audio.shape, audio.dtype) == ((1, WINDOW), "int16")
    assert (bands.shape, bands.dtype) == ((CHANNELS,), "int8")


def test_a_tone_is_in_its_band_and_silence_in_none() -> None:
    times = np.arange(RATE // 2) / RATE
    silence = np.zeros(RATE, np.int16)
    loudest = []
    for frequency in (300, 1000, 3000):
        tone = (8000 * np.sin(2 * np.pi * frequency * times)).astype(np.int16)
        levels = features(np.concatenate([silence, tone]))
        assert (levels[:40] == -128).all()
        loudest.append(int(levels[52].argmax()))
    mel = 1127 * np.log1p(np.array([125, 7500, 300, 1000, 3000]) / 700)
    bands = (mel[2:] - mel[0]) / (mel[1] - mel[0]) * (CHANNELS + 1) - 1
    assert loudest == pytest.approx(bands, abs=1)
