"""Features of streams of sound, as the firmware computes them, and windows of them to train on.

They come from demo/kws_front_end.tflite on TensorFlow Lite Micro, hop by hop with its state, so
training and firmware see the same numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from convnet import Array
from kws_front_end import CHANNELS, FILE, HOP, WINDOW
from kws_network import HOPS, LABELS
from kws_speech import WORDS, Stream, Utterance, draw_streams
from rich.progress import track
from tflite_micro.python.tflite_micro import runtime

SPAN = (HOPS - 1) * HOP + WINDOW
"""Samples that the network sees at a time."""
SILENCE, UNKNOWN = LABELS.index("silence"), LABELS.index("unknown")


@dataclass(frozen=True)
class Windows:
    """Features int8 [n, 48, 40], labels int64 [n]."""

    features: Array
    labels: Array


def features_of(sound: Array) -> Array:
    """Return the features of each hop of a stream, int8 [hops, 40]."""
    interpreter = runtime.Interpreter.from_file(str(FILE))
    starts = range(0, len(sound) - WINDOW + 1, HOP)
    features = np.empty((len(starts), CHANNELS), np.int8)
    for hop, start in enumerate(starts):
        interpreter.set_input(sound[np.newaxis, start : start + WINDOW], 0)
        interpreter.invoke()
        features[hop] = interpreter.get_output(0)
    return features


def label_of(word: str) -> int:
    """Return the number of a word's label."""
    return LABELS.index(word) if word in WORDS else UNKNOWN


def draw_windows(stream: Stream, rng: np.random.Generator) -> Windows:
    """Return windows of a stream: each word whole, some in part, and the pauses.

    The first third of a word, or its last, is no word yet: such a window is labelled unknown.
    """
    features = features_of(stream.sound)
    taken: list[Array] = []
    labels: list[int] = []

    def take(low: int, high: int, label: int, count: int) -> None:
        """Take up to `count` windows that begin between two samples."""
        hops = range(max(0, -(-low // HOP)), min(len(features) - HOPS, high // HOP) + 1)
        chosen: list[int] = []
        if hops:
            chosen = rng.choice(hops, min(count, len(hops)), replace=False).tolist()
        taken.extend(features[hop : hop + HOPS] for hop in chosen)
        labels.extend([label] * len(chosen))

    behind = 0
    for word, start, end in zip(stream.words, stream.starts, stream.ends, strict=True):
        label, part = label_of(word), (end - start) // 3
        if label == UNKNOWN:  # and so is any part of it
            take(end - SPAN, start, UNKNOWN, 1)
            take(start + part - SPAN, end - part, UNKNOWN, 2)
        else:
            take(end - SPAN, start, label, 3)
            cut = end - part if rng.random() < 0.5 else start + part - SPAN
            take(cut, cut + HOP, UNKNOWN, 1 if rng.random() < 0.5 else 0)
        take(behind, start - SPAN + HOP, SILENCE, 1)
        behind = end
    return Windows(np.array(taken, np.int8).reshape(-1, HOPS, CHANNELS), np.array(labels, np.int64))


def all_windows(
    utterances: Sequence[Utterance], rng: np.random.Generator, repeats: int = 1, stretch: float = 0
) -> Windows:
    """Return windows of all utterances, each heard `repeats` times in other noise."""
    streams = [
        stream for _ in range(repeats) for stream in draw_streams(utterances, rng, stretch=stretch)
    ]
    parts = [draw_windows(stream, rng) for stream in track(streams, "features", transient=True)]
    return Windows(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
    )
