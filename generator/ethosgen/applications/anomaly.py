"""Anomaly detection: a network that reproduces normal vectors, a threshold, hysteresis."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.applications.application import (
    TEMPLATES,
    Networks,
    Run,
    Settings,
    require_networks,
    require_one_port,
)
from ethosgen.applications.vectors import load_vectors
from ethosgen.samples.quantizing import quantized, real
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Tensor

_TYPES = {"int8": "s8", "uint8": "u8", "int16": "s16"}
"""Types of tensors, and the suffixes of the C functions that quantize to them."""
_PART_OF_STEP = 256
"""Differences are counted in this part of a step of the input; as in application.c."""
_DRAWN_NORMAL, _DRAWN_ODD, _DRAWN_AGAIN = 40, 8, 12
_THOUSAND = 1000
_PERCENT = 100


@dataclass(frozen=True)
class Anomaly:
    """Detects anomalies in a stream of vectors."""

    name: str = "anomaly"
    templates: str = TEMPLATES
    title: str = "detect anomalies in a stream of vectors, with an autoencoder"
    accepts: str = ".csv or .npy, .npz: a vector in each row, or one column to cut into vectors"
    files: tuple[str, ...] = (
        "application.c",
        "detector.c",
        "detector.h",
        "sensor.h",
        "sensor_host.c",
        "settings.h",
    )

    def check(self, networks: Networks) -> None:
        """Raise InputError unless there is one network whose output has its input's elements."""
        require_networks(self.name, networks, 1, "one network, which reproduces its input")
        require_one_port(self.name, networks[0], tuple(_TYPES))
        source, output = networks[0].inputs[0], networks[0].outputs[0]
        if source.elements != output.elements:
            raise InputError(
                f"--app {self.name} needs a network that reproduces its input, such as an "
                f"autoencoder, but '{networks[0].name}' makes "
                f"{counted(output.elements, 'value')} of {source.elements:,}"
            )
        for tensor in (source, output):
            if tensor.quantization is None or not tensor.quantization.is_per_tensor:
                raise InputError(f"--app {self.name} needs a scale, but '{tensor.name}' has none")
        if not _fits(source, output):
            scales = (
                tensor.quantization.scale[0] for tensor in (source, output) if tensor.quantization
            )
            raise InputError(
                f"--app {self.name} cannot compute the error of '{networks[0].name}' in 64 bits: "
                f"its scales are {' and '.join(f'{scale:g}' for scale in scales)}, for "
                f"{counted(source.elements, 'value')}"
            )

    def facts(self, networks: Networks) -> dict[str, Any]:
        """Return the output's step in parts of the input's, and the suffix of the type."""
        source, output = networks[0].inputs[0], networks[0].outputs[0]
        return {"output_parts": _output_parts(source, output), "short_type": _TYPES[source.dtype]}

    def item_bytes(self, networks: Networks) -> int:
        """Return the size of a vector of floats."""
        return 4 * networks[0].inputs[0].elements

    def item_s(self, settings: Settings) -> float | None:
        """Return the sensor's period."""
        return settings["SENSOR_PERIOD_MS"] / _THOUSAND

    def load(self, paths: Sequence[Path], networks: Networks) -> list[bytes]:
        """Read the vectors of all files, in order."""
        size = networks[0].inputs[0].elements
        vectors = [vector for path in paths for vector in load_vectors(path, size)]
        return [vector.astype("<f4").tobytes() for vector in vectors]

    def draw(self, networks: Networks, seed: int) -> list[bytes]:
        """Return quiet vectors, then some with large values, then quiet ones again."""
        tensor = networks[0].inputs[0]
        low, high = (float(real(np.array(q), tensor)) for q in _limits(tensor))
        rng = np.random.default_rng(seed)
        middle, half = (low + high) / 2, (high - low) / 2
        sizes = [0.05] * _DRAWN_NORMAL + [1.0] * _DRAWN_ODD + [0.05] * _DRAWN_AGAIN
        vectors = [middle + half * size * rng.uniform(-1, 1, tensor.elements) for size in sizes]
        return [vector.astype("<f4").tobytes() for vector in vectors]

    def expect(
        self, items: Sequence[bytes], networks: Networks, run: Run, settings: Settings
    ) -> list[str]:
        """Return a line for each vector: time, error, threshold, and the detector's state."""
        source, target = networks[0].inputs[0], networks[0].outputs[0]
        inputs = [
            quantized(np.frombuffer(item, "<f4"), source).reshape(source.shape) for item in items
        ]
        outputs = run(0, [{source.name: window} for window in inputs])
        errors = [
            _mean_squared_error(window, output[target.name], source, target)
            for window, output in zip(inputs, outputs, strict=True)
        ]
        return _lines(errors, settings)


def _limits(tensor: Tensor) -> tuple[int, int]:
    limits = np.iinfo(tensor.dtype)
    return int(limits.min), int(limits.max)


def _output_parts(source: Tensor, output: Tensor) -> int:
    assert source.quantization is not None and output.quantization is not None
    return round(output.quantization.scale[0] / source.quantization.scale[0] * _PART_OF_STEP)


def _fits(source: Tensor, output: Tensor) -> bool:
    """Return whether the C's sums and products fit into 64 bits, and its parts into 32."""
    assert source.quantization is not None
    if source.quantization.scale[0] == 0:
        return False
    parts = _output_parts(source, output)
    spans = [high - low for low, high in map(_limits, (source, output))]
    most = spans[0] * _PART_OF_STEP + spans[1] * parts
    return parts < 1 << 31 and most**2 * max(source.elements, _THOUSAND) < 1 << 64


def _mean_squared_error(
    wanted: np.ndarray[Any, Any], answered: np.ndarray[Any, Any], source: Tensor, output: Tensor
) -> int:
    """Return the mean in thousandths of the input's step squared, rounded down."""
    assert source.quantization is not None and output.quantization is not None
    here = wanted.astype(np.int64).ravel() - source.quantization.zero_point[0]
    there = answered.astype(np.int64).ravel() - output.quantization.zero_point[0]
    difference = here * _PART_OF_STEP - there * _output_parts(source, output)
    total = int((difference * difference).sum(dtype=np.uint64))
    return total // len(here) * _THOUSAND // _PART_OF_STEP**2


def _lines(errors: Sequence[int], settings: Settings) -> list[str]:
    """Return the detector's lines, by its definition in settings.h."""
    learned = errors[: settings["LEARNING_VECTORS"]]
    threshold = settings["FIXED_THRESHOLD"]
    lines, is_anomalous, streak = [], False, 0
    for number, error in enumerate(errors):
        if not settings["FIXED_THRESHOLD"] and number < len(learned):
            threshold = max(learned[: number + 1]) * settings["THRESHOLD_PERCENT"] // _PERCENT
            word = "learning"
        else:
            release = threshold * settings["RELEASE_PERCENT"] // _PERCENT
            streak = streak + 1 if (error < release if is_anomalous else error > threshold) else 0
            word = "anomaly" if is_anomalous else "normal"
            if streak == settings["END_VECTORS" if is_anomalous else "BEGIN_VECTORS"]:
                is_anomalous, streak = not is_anomalous, 0
                word = f"ANOMALY {'BEGINS' if is_anomalous else 'ENDS'}"
        time = decimal(number * settings["SENSOR_PERIOD_MS"])
        lines.append(f"{time:>10} s  error{decimal(error):>12} of{decimal(threshold):>12}  {word}")
    return lines


def decimal(thousandths: int) -> str:
    """Return a number of thousandths as a decimal fraction, as report.c writes it."""
    return f"{thousandths // _THOUSAND}.{thousandths % _THOUSAND:03}"


ANOMALY = Anomaly()
