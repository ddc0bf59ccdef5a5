"""Data sets for the runner of MLPerf Tiny, made of TensorFlow Lite Micro's own answers.

The real ones cannot be downloaded everywhere. A file has a random input in the runner's format.
Its label is the class that TensorFlow Lite Micro chooses; a class that it never chooses gets one of
the other files, because the runner wants all of them. So the accuracy and the AUC of a firmware
without a wrong bit are known. Of anomaly detection the labels are drawn: its answer is an error.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications.mlperf import find_benchmark
from ethosgen.oracle import TFLM
from ethosgen.values.network import Network

Array = np.ndarray[Any, Any]

_FILES = 24
_LARGE_FILES = 8
_LARGE_BYTES = 10_000
"""The runner loads some kilobytes a second: of large inputs there are fewer."""
_WINDOW, _STRIDE = 640, 128
"""Floats of an input of anomaly detection, and between two of a file."""


@dataclass(frozen=True)
class DataSet:
    """A data set: each file's label, and the results that follow from the oracle."""

    model: str
    labels: Array
    results: Array

    @property
    def accuracy(self) -> float:
        """The percentage of files whose largest result is that of the label."""
        return 100 * float(np.mean(self.results.argmax(axis=1) == self.labels))

    @property
    def auc(self) -> float:
        """The area under the curve: of the second class, of the error, or the mean of all."""
        scores = self.results / self.results.sum(axis=1, keepdims=True)
        if scores.shape[1] == 1:
            return _auc(self.labels == 1, self.results[:, 0])
        classes = range(scores.shape[1]) if scores.shape[1] > 2 else (1,)
        return float(np.mean([_auc(self.labels == each, scores[:, each]) for each in classes]))


def write_data(network: Network, folder: Path, seed: int = 0) -> DataSet:
    """Write a data set for a network below a folder, as the runner reads it."""
    benchmark = find_benchmark(network)
    assert benchmark is not None
    place = folder / benchmark.model
    place.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    if benchmark.is_error:
        return _write_vectors(network, place, rng)
    flip = 0x80 if benchmark.is_image else 0
    inputs, outputs, labels = _inputs_of_classes(network, rng)
    rows = []
    for number, (values, label) in enumerate(zip(inputs, labels, strict=True)):
        name = f"sample_{number:03}.bin"
        (place / name).write_bytes((values.view(np.uint8) ^ np.uint8(flip)).tobytes())
        rows.append(f"{name},{outputs.shape[1]},{label}")
    (place / "y_labels.csv").write_text("\n".join(rows) + "\n")
    return DataSet(benchmark.model, labels, outputs.round(3))


def _inputs_of_classes(network: Network, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return inputs with the network's outputs and their labels, of which each class has one."""
    source, target = network.inputs[0], network.outputs[0]
    assert target.quantization is not None
    scale, zero = target.quantization.scale[0], target.quantization.zero_point[0]
    count = _FILES if source.bytes < _LARGE_BYTES else _LARGE_FILES
    inputs = np.stack([_smooth(rng, source.shape) for _ in range(count)])
    answers = TFLM.run(network, [{source.name: values} for values in inputs])
    scores = np.stack([answer[target.name].ravel() for answer in answers]).astype(np.float64)
    scores = (scores - zero) * scale
    labels = scores.argmax(axis=1)
    for missing in sorted({*range(target.elements)} - {*labels.tolist()}):
        counts = np.bincount(labels, minlength=target.elements)
        labels[np.flatnonzero(labels == counts.argmax())[0]] = missing
    return inputs, scores, labels


def _smooth(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return noise of a random size, mean and smoothness, along random axes."""
    values = rng.normal(size=shape)
    for axis in range(1, len(shape)):
        if shape[axis] > 1 and rng.random() < 0.7:
            values = np.cumsum(values, axis=axis)
    values = (values - values.mean()) / (values.std() + 1e-9)
    values = values * rng.uniform(5, 90) + rng.uniform(-110, 110)
    noise: Array = np.clip(np.round(values), -128, 127).astype(np.int8)
    return noise


def _write_vectors(network: Network, place: Path, rng: np.random.Generator) -> DataSet:
    source, target = network.inputs[0], network.outputs[0]
    assert source.quantization is not None and target.quantization is not None
    rows, labels, errors = [], [], []
    for number in range(8):
        label = number % 2
        size = rng.uniform(2, 6) + 2 * label
        file = (rng.normal(size=_WINDOW + _STRIDE * 2) * size - 30).astype("<f4")
        name = f"{'anomaly' if label else 'normal'}_{number:03}.bin"
        (place / name).write_bytes(file.tobytes())
        rows.append(f"{name},2,{label},{_WINDOW * 4},{_STRIDE * 4}")
        windows = [file[i : i + _WINDOW] for i in range(0, file.size - _WINDOW + 1, _STRIDE)]
        errors.append(np.mean([_error(network, window) for window in windows]))
        labels.append(label)
    (place / "y_labels.csv").write_text("\n".join(rows) + "\n")
    return DataSet("ad01", np.array(labels), np.array(errors)[:, None])


def _error(network: Network, window: Array) -> float:
    """Return the mean squared error of a window, to three digits as the firmware tells it."""
    source, target = network.inputs[0], network.outputs[0]
    assert source.quantization is not None and target.quantization is not None
    steps = window / np.float32(source.quantization.scale[0])
    rounded = np.trunc(steps + np.copysign(np.float32(0.5), steps))
    values = np.clip(rounded + source.quantization.zero_point[0], -128, 127).astype(np.int8)
    answer = TFLM.run(network, [{source.name: values.reshape(source.shape)}])[0][target.name]
    there = answer.ravel().astype(np.float64) - target.quantization.zero_point[0]
    return round(float(np.mean((there * target.quantization.scale[0] - window) ** 2)), 3)


def _auc(is_positive: Array, scores: Array) -> float:
    """Return the part of pairs of a positive and a negative whose scores are in order."""
    positive, negative = scores[is_positive], scores[~is_positive]
    above = (positive[:, None] > negative).sum() + (positive[:, None] == negative).sum() / 2
    return float(above / (len(positive) * len(negative)))
