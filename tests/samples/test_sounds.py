"""Sounds as samples: their lengths and types, and what is refused."""

import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.samples.labelled import load_labelled
from ethosgen.samples.pictures import Preparation
from ethosgen.values.errors import InputError
from ethosgen.values.network import Quantization, Tensor

AUDIO = Tensor(0, "audio", (1, 4), "int16")
VALUES = np.array([0, 1, -32768, 32767, 9, 8, 7, 6, 5, 4], np.int16)
SCALE = Quantization((1 / 128,), (0,))
PAD = Preparation(pad=True)


def sound(
    path: Path, values: np.ndarray = VALUES, channels: int = 1, width: int = 2, rate: int = 16000
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(values.tobytes())
    return path


def test_sounds_of_the_inputs_length(tmp_path: Path) -> None:
    sound(tmp_path / "no" / "a.wav", VALUES[:4])
    sound(tmp_path / "yes" / "b.WAV", VALUES[4:8])
    data = load_labelled(tmp_path, [AUDIO], None)
    assert (data.labels.tolist(), data.names) == ([0, 1], ("no", "yes"))
    assert [data.steps(i)[0]["audio"].tolist() for i in range(2)] == [
        [VALUES[:4].tolist()],
        [VALUES[4:8].tolist()],
    ]
    assert data.note == "16,000 Hz, v as int16"


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (replace(AUDIO, dtype="float32"), [0, 1 / 32768, -1, 32767 / 32768]),
        (
            replace(AUDIO, dtype="int8", quantization=Quantization((1 / 128,), (0,))),
            [0, 0, -128, 127],
        ),
    ],
)
def test_other_types_get_values_from_minus_one_to_one(
    tmp_path: Path, tensor: Tensor, expected: list[float]
) -> None:
    sound(tmp_path / "0" / "a.wav", VALUES[:4])
    data = load_labelled(tmp_path, [tensor], None)
    assert data.steps(0)[0]["audio"].tolist() == [expected]
    assert data.note == f"16,000 Hz, v / 32,768 as {tensor.dtype}"


def test_a_sequence_takes_whole_steps_and_silence_fills_the_last(tmp_path: Path) -> None:
    sound(tmp_path / "0" / "a.wav")
    data = load_labelled(tmp_path, [AUDIO], None, True)
    steps = [step["audio"].reshape(-1).tolist() for step in data.steps(0)]
    assert steps == [VALUES[:4].tolist(), VALUES[4:8].tolist()]
    padded = load_labelled(tmp_path, [AUDIO], None, True, PAD)
    assert padded.steps(0)[2]["audio"].tolist() == [[5, 4, 0, 0]]


@pytest.mark.parametrize(("length", "expected"), [(2, [0, 1, 0, 0]), (10, VALUES[:4].tolist())])
def test_other_lengths_need_a_word(tmp_path: Path, length: int, expected: list[int]) -> None:
    sound(tmp_path / "0" / "a.wav", VALUES[:length])
    with pytest.raises(InputError, match=rf"has {length} values, but the input needs 4; .*--pad"):
        load_labelled(tmp_path, [AUDIO], None)
    data = load_labelled(tmp_path, [AUDIO], None, preparation=PAD)
    assert data.steps(0)[0]["audio"].tolist() == [expected]


def test_what_is_no_sound_for_a_network(tmp_path: Path) -> None:
    path = tmp_path / "0" / "a.wav"
    sound(path, VALUES[:8], channels=2)
    with pytest.raises(InputError, match=r"a\.wav: has 2 channels of 16 bits"):
        load_labelled(tmp_path, [AUDIO], None)
    sound(path, VALUES[:2], width=1)
    with pytest.raises(InputError, match="has 1 channel of 8 bits"):
        load_labelled(tmp_path, [AUDIO], None)
    for bad in (b"", b"RIFF\0\0\0\0WAVEfmt "):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"not a readable \.wav file"):
            load_labelled(tmp_path, [AUDIO], None)
    sound(path, VALUES[:4])
    sound(tmp_path / "0" / "b.wav", VALUES[:4], rate=8000)
    with pytest.raises(InputError, match="has sounds of 8,000 Hz and of 16,000 Hz; resample them"):
        load_labelled(tmp_path, [AUDIO], None)
    sound(path, VALUES[:0])
    with pytest.raises(InputError, match="has 0 values"):
        load_labelled(tmp_path, [AUDIO], None, True)
