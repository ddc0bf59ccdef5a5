"""Measures demo/kws_int8.tflite on voices, and on other words, that it was not trained on.

    .venv/bin/python demo/kws_accuracy.py         # needs espeak-ng; a minute

Windows are judged one by one; then whole streams, as the application does: hop by hop, with its
recognizer and its settings. All runs on TensorFlow Lite Micro.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from convnet import Array
from kws_features import Windows, all_windows, features_of
from kws_front_end import HOP, RATE, WINDOW
from kws_network import HOPS, LABELS
from kws_speech import HELD_OUT, HELD_OUT_OTHERS, WORDS, Stream, draw_streams, draw_utterances
from rich.console import Console
from rich.progress import track
from tflite_micro.python.tflite_micro import runtime

from ethosgen.applications.kws import Recognizer
from ethosgen.flow.application import read_settings

MODEL = Path(__file__).parent / "kws_int8.tflite"
SETTINGS = Path(__file__).parents[1] / "templates" / "apps" / "kws"
SEED = 1920
LATE = RATE
"""A word may be detected until so many samples after its end."""

console = Console()


@dataclass
class Detections:
    """Counts of the words in streams that were detected, and of detections that are none."""

    words: int = 0
    detected: int = 0
    false: int = 0
    samples: int = 0

    @property
    def text(self) -> str:
        """The counts, for people."""
        hours = self.samples / RATE / 3600
        return (
            f"{self.detected:,} of {self.words:,} words detected "
            f"({self.detected / self.words:.1%}), {self.false} false ones in "
            f"{hours * 60:.0f} minutes ({self.false / hours:.0f} an hour)"
        )


def scores_of(network: bytes, features: Array) -> Array:
    """Return the scores of windows [n, 48, 40] on TensorFlow Lite Micro, 0 to 255, int64."""
    interpreter = runtime.Interpreter.from_bytes(network)
    scores = np.empty((len(features), len(LABELS)), np.int64)
    for number, window in enumerate(features):
        interpreter.set_input(window[np.newaxis], 0)
        interpreter.invoke()
        scores[number] = interpreter.get_output(0).ravel() + np.int64(128)
    return scores


def accuracy(network: bytes, windows: Windows) -> float:
    """Return the share of windows whose label has the best score."""
    best = scores_of(network, windows.features).argmax(axis=1)
    return float(np.mean(best == windows.labels))


def detect(network: bytes, sound: Array, settings: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the detections in a stream: the sample at which each is made, and the word."""
    features = features_of(sound)
    turns = range(HOPS - 1, len(features), settings["INFERENCE_HOPS"])
    windows = np.array([features[hop + 1 - HOPS : hop + 1] for hop in turns])
    recognizer, heard = Recognizer(LABELS, settings), []
    for hop, scores in zip(turns, scores_of(network, windows), strict=True):
        now = WINDOW + hop * HOP
        detected = recognizer.step(scores, now * 1000 // RATE)
        if detected is not None:
            heard.append((now, detected[0]))
    return heard


def detections(network: bytes, streams: Sequence[Stream]) -> Detections:
    """Count what the application detects in streams."""
    settings, total = read_settings(SETTINGS), Detections()
    for stream in track(streams, "listening", transient=True):
        heard = detect(network, stream.sound, settings)
        for word, start, end in zip(stream.words, stream.starts, stream.ends, strict=True):
            mine = [
                detection
                for detection in heard
                if detection[1] == word and start < detection[0] < end + LATE
            ]
            total.words += word in WORDS
            total.detected += bool(mine)
            heard = [detection for detection in heard if detection not in mine[:1]]
        total.false += len(heard)
        total.samples += len(stream.sound)
    return total


def main() -> int:
    """Print the accuracy of the committed network."""
    rng, network = np.random.default_rng(SEED), MODEL.read_bytes()
    spoken = draw_utterances(HELD_OUT, WORDS, 3, rng)
    spoken += draw_utterances(HELD_OUT, HELD_OUT_OTHERS, 1, rng)
    windows, streams = all_windows(spoken, rng), draw_streams(spoken, rng)
    console.print(f"windows  {accuracy(network, windows):.1%} of {len(windows.labels):,}")
    best = scores_of(network, windows.features).argmax(axis=1)
    for number, label in enumerate(LABELS):
        mine = windows.labels == number
        console.print(f"  {label:8} {np.mean(best[mine] == number):6.1%} of {mine.sum():,}")
    console.print(f"streams  {detections(network, streams).text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
