"""Trains a network to reproduce a sound motor's vibration; writes demo/vibration_int8.tflite.

    .venv/bin/python demo/train_vibration.py            # some seconds
    .venv/bin/python demo/train_vibration.py --check    # train again, compare with the file

It never sees damage: a window with damage is what it reproduces badly. The figure is the area under
the ROC curve (AUC): the probability that a damaged window has a larger error than a sound one.
As for the digits, another CPU may train other bytes, so --check also accepts the same size and an
AUC within half a percent.
"""

import argparse
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from convnet import Array, Dense, Layer, forward
from quantize import quantize_network
from rich.console import Console
from tflite_micro.python.tflite_micro import runtime
from tflite_writer import write_tflite
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from training import Adam
from vibration import DAMAGE, WINDOW, windows

MODEL = Path(__file__).parent / "vibration_int8.tflite"
SEED = 1879
SIZES = (WINDOW, 48, 12, 48, WINDOW)
TRAINING, HELD_OUT = 4096, 1000
CALIBRATION = 256
EPOCHS, BATCH, RATE = 150, 64, 0.001
TOLERANCE = 0.005

console = Console()


def network(seed: int) -> list[Layer]:
    """Return the network, untrained: dense layers, with a ReLU behind all but the last."""
    rng = np.random.default_rng(seed)
    layers = [Dense(rng, a, b) for a, b in pairwise(SIZES)]
    for layer in layers[:-1]:
        layer.relu = True
    return list(layers)


def train(sound: Array, epochs: int = EPOCHS) -> list[Layer]:
    """Return a network trained to reproduce `sound`; the rate falls along a cosine."""
    layers, rng = network(SEED), np.random.default_rng(SEED)
    optimizer = Adam(layers)
    for epoch in range(epochs):
        rate = RATE * (1 + np.cos(np.pi * epoch / epochs)) / 2
        order = rng.permutation(len(sound))
        for start in range(0, len(order), BATCH):
            batch = sound[order[start : start + BATCH]]
            gradient = 2 * (forward(layers, batch) - batch) / len(batch)
            for layer in reversed(layers):
                gradient = layer.backward(gradient)
            optimizer.step(rate)
    return layers


def errors(file: bytes, vectors: Array) -> Array:
    """Return each vector's mean squared error, by the file's outputs on TensorFlow Lite Micro."""
    interpreter = runtime.Interpreter.from_bytes(file)
    scales = []
    for details in (interpreter.get_input_details(0), interpreter.get_output_details(0)):
        quantization = details["quantization_parameters"]
        scales.append((float(quantization["scales"][0]), int(quantization["zero_points"][0])))
    (scale, zero_point), (out_scale, out_zero_point) = scales
    inputs = np.clip(np.rint(vectors / scale) + zero_point, -128, 127).astype(np.int8)
    outputs = []
    for vector in inputs:
        interpreter.set_input(vector[np.newaxis], 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0)[0])
    here = (inputs.astype(float) - zero_point) * scale
    there = (np.array(outputs, float) - out_zero_point) * out_scale
    return np.asarray(((here - there) ** 2).mean(axis=1))


def auc(file: bytes, damage: float = DAMAGE) -> float:
    """Return the area under the ROC curve on held-out windows."""
    sound = errors(file, windows(HELD_OUT, SEED + 1))
    damaged = errors(file, windows(HELD_OUT, SEED + 2, damage))
    above = (damaged[:, np.newaxis] > sound).mean()
    return float(above + (damaged[:, np.newaxis] == sound).mean() / 2)


def agrees(fresh: bytes, committed: bytes) -> bool:
    """Print how a new network compares with the committed one; return whether it is acceptable."""
    if fresh == committed:
        console.print(f"{MODEL.name}: the same bytes")
        return True
    ours, theirs = auc(fresh), auc(committed)
    console.print(f"other bytes than {MODEL.name}: AUC {ours:.4f}, the file's {theirs:.4f}")
    return len(fresh) == len(committed) and abs(ours - theirs) <= TOLERANCE


def main() -> int:
    """Train, then write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    sound = windows(TRAINING, SEED)
    with threadpool_limits(limits=1):  # sums depend on the number of threads
        layers = train(sound)
    file = write_tflite(
        quantize_network(layers, sound[:CALIBRATION], name="vibration", output=None)
    )
    if arguments.check:
        return 0 if agrees(file, MODEL.read_bytes()) else 1
    MODEL.write_bytes(file)
    for damage in (DAMAGE, DAMAGE / 2, DAMAGE / 4):
        console.print(f"AUC {auc(file, damage):.4f} held out, damage of {damage:.2f}")
    console.print(f"{len(file):,} B, {MODEL}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
