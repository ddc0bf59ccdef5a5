"""MLPerf Tiny's streaming wake words: the benchmark's script sends sound to firmware on QEMU.

stream_wav_uart.py of the runner, unchanged, sends ten seconds of the benchmark's own sound frame by
frame, and saves the features and the scores that the firmware answers. The runner's main.py plays
the sound over I2S from an interface board instead, and records the pulses of a pin: QEMU has
neither. The script needs numpy below 2, scipy and pyserial.
"""

import wave
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications import Settings
from ethosgen.applications.mlperf import MLPERF
from ethosgen.applications.sound_features import FEATURES, FRAME
from ethosgen.frontend import read
from ethosgen.oracle import TFLM
from ethosgen.values.network import Network

Array = np.ndarray[Any, Any]

MODEL = "sww01"
NETWORK = "streaming_wakeword/trained_models/str_ww_ref_model.tflite"
_SOUND = "sww_data_dir/short_wav_easy10s.wav"
_SCRIPT = "stream_wav_uart.py"
_THRESHOLD = 115
"""The reference firmware reports a wake word above this score."""

Drive = Callable[[Sequence[str | Path]], str]


def stream(network: Path, runner: Path, folder: Path, drive: Drive) -> tuple[str, str]:
    """Stream sound with the script; return a summary of the answers, and the faults in them."""
    saved = folder / "saved.npz"
    log = drive([_SCRIPT, "--wav_file", runner / _SOUND, "--specfile", saved])
    if not saved.exists():
        return "nothing", log[-200:]
    wanted_features, wanted_scores = expected(read(network), _first_channel(runner / _SOUND))
    with np.load(saved) as arrays:
        features, scores = (arrays[name] for name in ("specgram", "activations"))
    count = len(wanted_features)
    told = f"{count} frames, a wake word in {int((scores[:count, 0] > _THRESHOLD).sum())} of them"
    wrong = sum(
        int((got[:count] != wanted).sum())
        for got, wanted in ((features, wanted_features), (scores, wanted_scores))
    )
    return told, f"{wrong} values differ" if wrong else ""


def _first_channel(path: Path) -> Array:
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples[:: file.getnchannels()]


def expected(network: Network, sound: Array) -> tuple[Array, Array]:
    """Return the features and the scores of each whole frame."""
    frames = sound[: len(sound) // FRAME * FRAME].astype("<i2").reshape(-1, FRAME)
    lines = MLPERF.expect(
        [row.tobytes() for row in frames],
        [network],
        lambda _, items: TFLM.run(network, items),
        Settings({}),
    )
    values = [[int(word) for word in line.partition("[")[2][:-1].split(",")] for line in lines]
    features, scores = np.array(values[::2]), np.array(values[1::2])
    assert features.shape == (len(frames), FEATURES)
    return features, scores
