"""Trains the demo's network for keywords, quantizes it, and writes demo/kws_int8.tflite.

    .venv/bin/python demo/train_kws.py            # needs espeak-ng; some minutes of one core
    .venv/bin/python demo/train_kws.py --check    # train again, compare with the committed file

It also writes demo/kws_words.wav, some words of voices that it was not trained on. All voices are
synthetic, so expect less accuracy with people: for a product, train on people's recordings of your
words, with features of the same front end.
"""

import argparse
import sys
import wave
from pathlib import Path

import numpy as np
from convnet import Array, Layer
from kws_accuracy import MODEL, accuracy
from kws_features import Windows, all_windows
from kws_front_end import CHANNELS, RATE
from kws_network import HOPS, LABELS, keyword_network, quantized, real
from kws_speech import (
    HELD_OUT,
    HELD_OUT_OTHERS,
    OTHERS,
    VOICES,
    WORDS,
    draw_streams,
    draw_utterances,
    speak,
)
from rich.console import Console
from tflite_writer import write_tflite
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from training import Adam, descend

from ethosgen.applications.labels import append_labels

SOUND = Path(__file__).parent / "kws_words.wav"
SEED = 1876  # the year of the telephone
EPOCHS = 14
BATCH = 64
STEP = 0.003
CALIBRATION = 512
REPEATS, STRETCH = 3, 0.15
TOLERANCE = 0.02
"""The largest difference in accuracy between a newly trained and the committed network."""
SAID = (
    ("yes", "en-us+f3"),
    ("computer", "en-gb+robert"),
    ("left", "en-gb-scotland+m3"),
    ("stop", "en-us+steph3"),
    ("go", "en-gb-x-rp+pedro"),
)
"""The words of kws_words.wav and their voices."""

console = Console()


def train(windows: Windows, rng: np.random.Generator, epochs: int = EPOCHS) -> list[Layer]:
    """Return a trained network; the rate falls along a cosine."""
    layers = keyword_network(rng)
    optimizer = Adam(layers)
    for epoch in range(epochs):
        order = rng.permutation(len(windows.labels))
        rate = STEP * (1 + np.cos(np.pi * epoch / epochs)) / 2
        losses = []
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            features = masked(real(windows.features[batch]), rng)
            losses.append(descend(layers, features, windows.labels[batch]))
            optimizer.step(rate)
        console.log(f"epoch {epoch + 1:2}/{epochs}  loss {np.mean(losses):.4f}")
    return layers


def masked(features: Array, rng: np.random.Generator) -> Array:
    """Silence some bands and some hops of each window, as SpecAugment does (arXiv 1904.08779)."""
    for window in features:
        band, bands = rng.integers(0, CHANNELS), rng.integers(0, 7)
        hop, hops = rng.integers(0, HOPS), rng.integers(0, 5)
        window[:, band : band + bands] = 0
        window[hop : hop + hops] = 0
    return features


def make_network(rng: np.random.Generator) -> bytes:
    """Return a newly trained file, with its labels.txt."""
    spoken = draw_utterances(VOICES, WORDS, 5, rng) + draw_utterances(VOICES, OTHERS, 1, rng)
    windows = all_windows(spoken, rng, REPEATS, STRETCH)
    console.log(f"{len(windows.labels):,} windows")
    with threadpool_limits(limits=1):  # sums depend on the number of threads
        layers = train(windows, rng)
    chosen = rng.choice(len(windows.labels), CALIBRATION, replace=False)
    return append_labels(write_tflite(quantized(layers, windows.features[chosen])), LABELS)


def write_sound(path: Path) -> None:
    """Write the words of SAID in some noise, as a WAV file."""
    spoken = [speak(word, voice, 150, 50) for word, voice in SAID]
    (stream,) = draw_streams(spoken, np.random.default_rng(SEED), shuffle=False)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(stream.sound.astype("<i2").tobytes())


def agrees(fresh: bytes, committed: bytes, windows: Windows) -> bool:
    """Print how a new network compares with the committed one; return whether it is acceptable."""
    if fresh == committed:
        console.print(f"{MODEL.name}: the same bytes")
        return True
    ours, theirs = accuracy(fresh, windows), accuracy(committed, windows)
    console.print(f"other bytes than {MODEL.name}: accuracy {ours:.2%}, the file's {theirs:.2%}")
    return len(fresh) == len(committed) and abs(ours - theirs) <= TOLERANCE


def main() -> int:
    """Train, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    rng = np.random.default_rng(SEED)
    network = make_network(rng)
    unheard = draw_utterances(HELD_OUT, WORDS, 3, rng)
    unheard += draw_utterances(HELD_OUT, HELD_OUT_OTHERS, 1, rng)
    windows = all_windows(unheard, rng)
    if arguments.check:
        return 0 if agrees(network, MODEL.read_bytes(), windows) else 1
    MODEL.write_bytes(network)
    write_sound(SOUND)
    right = accuracy(network, windows)
    console.print(f"{right:.2%} of {len(windows.labels):,} windows held out, {len(network):,} B")
    console.print("next: .venv/bin/python demo/kws_accuracy.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
