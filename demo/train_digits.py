"""Trains the demo network, quantizes it, and writes demo/digits_int8.tflite.

    .venv/bin/python demo/train_digits.py            # half a minute
    .venv/bin/python demo/train_digits.py --check    # train again, compare with the committed file

Training is seeded and runs on one BLAS thread, so it always gives the same bytes on one machine.
Another numpy or another kind of CPU adds floats in a different order, and training amplifies the
difference. So --check requires the same bytes, or the same size and the same accuracy within half
a percent.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from convnet import Array, Layer, digits_network, forward
from digits import CALIBRATION, Digits, load_split
from quantize import quantize_network
from rich.console import Console
from tflite_micro.python.tflite_micro import runtime
from tflite_writer import write_tflite
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from training import Adam, descend

MODEL = Path(__file__).parent / "digits_int8.tflite"
SEED = 1797
EPOCHS = 80
BATCH = 64
RATE = 0.004
TOLERANCE = 0.005
"""The largest difference in accuracy between a newly trained and the committed network."""

console = Console()


def train(training: Digits, epochs: int = EPOCHS) -> list[Layer]:
    """Return a trained network; the rate falls along a cosine."""
    layers = digits_network(SEED)
    optimizer = Adam(layers)
    rng = np.random.default_rng(SEED)
    for epoch in range(epochs):
        order = rng.permutation(len(training.labels))
        rate = RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2
        losses = []
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            images = shift(training.images[batch], rng)
            losses.append(descend(layers, images, training.labels[batch]))
            optimizer.step(rate)
        console.log(f"epoch {epoch + 1:2}/{epochs}  loss {np.mean(losses):.4f}")
    return layers


def shift(images: Array, rng: np.random.Generator) -> Array:
    """Move half of the images by up to one pixel, since 1,437 images are few."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    dy, dx = rng.integers(0, 3, (2, len(images)))
    still = rng.random(len(images)) < 0.5
    dy[still] = dx[still] = 1
    return np.stack(
        [image[y : y + 8, x : x + 8] for image, y, x in zip(padded, dy, dx, strict=True)]
    )


def accuracy(network: bytes, digits: Digits) -> float:
    """Return the share of digits that TensorFlow Lite Micro classifies correctly with this file."""
    interpreter = runtime.Interpreter.from_bytes(network)
    quantization = interpreter.get_input_details(0)["quantization_parameters"]
    scale, zero_point = quantization["scales"][0], quantization["zero_points"][0]
    images = np.clip(np.rint(digits.images / scale) + zero_point, -128, 127).astype(np.int8)
    right = 0
    for image, label in zip(images, digits.labels, strict=True):
        interpreter.set_input(image[np.newaxis], 0)
        interpreter.invoke()
        right += int(interpreter.get_output(0).argmax() == label)
    return right / len(digits.labels)


def agrees(fresh: bytes, committed: bytes, held_out: Digits) -> bool:
    """Print how a new network compares with the committed one; return whether it is acceptable."""
    if fresh == committed:
        console.print(f"{MODEL.name}: the same bytes")
        return True
    ours, theirs = accuracy(fresh, held_out), accuracy(committed, held_out)
    console.print(f"other bytes than {MODEL.name}: accuracy {ours:.2%}, the file's {theirs:.2%}")
    return len(fresh) == len(committed) and abs(ours - theirs) <= TOLERANCE


def main() -> int:
    """Train, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    training, held_out = load_split()
    with threadpool_limits(limits=1):  # sums depend on the number of threads
        layers = train(training)
    logits = forward(layers, held_out.images)
    console.print(f"float: {np.mean(logits.argmax(axis=1) == held_out.labels):.2%} held out")
    network = write_tflite(quantize_network(layers, training.images[:CALIBRATION]))
    if arguments.check:
        return 0 if agrees(network, MODEL.read_bytes(), held_out) else 1
    MODEL.write_bytes(network)
    console.print(f"int8:  {accuracy(network, held_out):.2%} held out, {len(network):,} B, {MODEL}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
