"""The committed autoencoder of a motor's vibration: what docs/applications.md says of it."""

import numpy as np
import train_vibration
from convnet import forward
from vibration import DAMAGE, RATE, WINDOW, minute, windows

from ethosgen.frontend import read
from tests import ROOT

MODEL = ROOT / "demo" / "vibration_int8.tflite"


def test_it_tells_damaged_windows_from_sound_ones() -> None:
    file = MODEL.read_bytes()
    assert train_vibration.auc(file) >= 0.999
    assert train_vibration.auc(file, DAMAGE / 2) >= 0.9
    assert train_vibration.auc(file, 0.0) < 0.6  # it does not see what is not there


def test_it_is_small_and_wholly_int8() -> None:
    network = read(MODEL)
    assert MODEL.stat().st_size < 20_000
    assert [operator.code for operator in network.graph.operators] == ["FULLY_CONNECTED"] * 4
    ports = (*network.inputs, *network.outputs)
    assert [(tensor.shape, tensor.dtype) for tensor in ports] == [((1, WINDOW), "int8")] * 2


def test_training_lowers_the_error() -> None:
    sound = windows(512, 1)
    before, after = (train_vibration.train(sound, epochs) for epochs in (0, 40))
    left, right = (
        float(((forward(weights, sound) - sound) ** 2).mean()) for weights in (before, after)
    )
    assert right < left / 2


def test_the_signal_is_damaged_where_it_says() -> None:
    signal = minute(1)
    assert len(signal) == 60 * RATE
    parts = [signal[: 25 * RATE], signal[25 * RATE : 40 * RATE], signal[40 * RATE :]]
    high = [float(np.abs(np.diff(part, 4)).mean()) for part in parts]
    assert high[1] > 1.2 * max(high[0], high[2])
