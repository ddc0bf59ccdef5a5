"""The committed network for keywords: what it is, and that it hears words of unseen voices."""

import wave

import kws_accuracy
import kws_features
import kws_network
import kws_speech
import numpy as np
import train_kws
from kws_front_end import CHANNELS, HOP, WINDOW
from tflite_writer import write_tflite

from ethosgen.applications.labels import read_labels
from ethosgen.flow.application import read_settings
from ethosgen.frontend import read

SAID = ["yes", "left", "stop", "go"]
SETTINGS = read_settings(kws_accuracy.SETTINGS)


def sound() -> np.ndarray:
    with wave.open(str(train_kws.SOUND)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_it_is_small_int8_and_has_its_labels() -> None:
    network = read(train_kws.MODEL)
    assert train_kws.MODEL.stat().st_size < 40_000
    assert read_labels(train_kws.MODEL.read_bytes()).split() == kws_network.LABELS
    assert [(t.name, t.shape, t.dtype) for t in network.inputs] == [
        ("features", (1, 48, 40), "int8")
    ]
    assert [(t.name, t.shape, t.dtype) for t in network.outputs] == [("scores", (1, 10), "int8")]
    assert all(t.dtype == "int8" for t in network.graph.tensors if t.data is None)


def test_it_hears_the_words_of_the_sound_and_no_other() -> None:
    heard = kws_accuracy.detect(train_kws.MODEL.read_bytes(), sound(), SETTINGS)
    assert [word for _, word in heard] == SAID
    assert [word for word, _ in train_kws.SAID if word in kws_speech.WORDS] == SAID


def test_no_voice_and_no_other_word_of_the_measurement_was_trained_on() -> None:
    assert not set(kws_speech.VOICES) & set(kws_speech.HELD_OUT)
    assert not set(kws_speech.OTHERS) & set(kws_speech.HELD_OUT_OTHERS)
    every = set(kws_speech.OTHERS) | set(kws_speech.HELD_OUT_OTHERS)
    assert not every & set(kws_speech.WORDS)
    assert {voice.split("+")[1] for _, voice in train_kws.SAID} <= set(kws_speech.HELD_OUT)


def spoken(rng: np.random.Generator, count: int) -> list[kws_speech.Utterance]:
    """Return bursts of tones in place of words, since CI has no espeak-ng."""
    words = [*kws_speech.WORDS, "bed"]
    return [
        kws_speech.Utterance(
            words[i % len(words)],
            np.sin(np.arange(6000) * (0.05 + 0.1 * (i % len(words)))).astype(np.float32),
        )
        for i in range(count)
    ]


def test_streams_have_words_where_they_say() -> None:
    rng = np.random.default_rng(3)
    for stream in kws_speech.draw_streams(spoken(rng, 24), rng, length=8, stretch=0.1):
        assert len(stream.words) == len(stream.starts) == len(stream.ends) == 8
        level = np.abs(stream.sound.astype(int))
        for start, end in zip(stream.starts, stream.ends, strict=True):
            assert 5000 < end - start < 7000
            before = level[max(0, start - 4000) : start - 1000]
            assert level[start:end].mean() > 1.3 * before.mean()


def test_windows_have_the_labels_of_what_is_in_them() -> None:
    rng = np.random.default_rng(4)
    windows = kws_features.all_windows(spoken(rng, 18), rng)
    assert windows.features.shape[1:] == (kws_network.HOPS, CHANNELS)
    counts = np.bincount(windows.labels, minlength=len(kws_network.LABELS))
    assert (counts[2:] == 2 * 3).all() and counts[kws_features.UNKNOWN] >= 2 * 3


def test_training_learns_and_is_deterministic() -> None:
    rng = np.random.default_rng(5)
    windows = kws_features.all_windows(spoken(rng, 27), rng)
    files = []
    for _ in range(2):
        layers = train_kws.train(windows, np.random.default_rng(6), epochs=2)
        files.append(write_tflite(kws_network.quantized(layers, windows.features[:32])))
    assert files[0] == files[1]
    assert kws_accuracy.accuracy(files[0], windows) > 1.5 / len(kws_network.LABELS)


def test_detections_are_counted_once_for_each_word() -> None:
    data = sound()
    heard = kws_accuracy.detect(train_kws.MODEL.read_bytes(), data, SETTINGS)
    ends = [time - HOP for time, _ in heard]
    starts = [end - WINDOW for end in ends]
    stream = kws_speech.Stream(data, ("yes", "left", "no"), tuple(starts[:3]), tuple(ends[:3]))
    total = kws_accuracy.detections(train_kws.MODEL.read_bytes(), [stream])
    assert (total.words, total.detected, total.false) == (3, 2, 2)
