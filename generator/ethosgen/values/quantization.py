"""What a user asks of the quantizer, and its report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class QuantizationRequest:
    """A float network, its calibration data, and where the quantized network goes.

    `activations` is int8 or int16; weights are always int8, with a scale for each output channel.
    `keep` names layers that stay in float. `labels` are the classes of the samples in `test_data`,
    or of the calibration data without any. An existing `output` is replaced only with `force`.
    """

    network: Path
    data: Path
    output: Path
    activations: str = "int8"
    keep: tuple[str, ...] = ()
    test_data: Path | None = None
    labels: Path | None = None
    force: bool = False


@dataclass(frozen=True)
class Accuracy:
    """How many of the labelled samples both networks classify correctly."""

    samples: int
    right_before: int
    right_after: int

    @property
    def before(self) -> float:
        """The float network's share."""
        return self.right_before / self.samples

    @property
    def after(self) -> float:
        """The quantized network's share."""
        return self.right_after / self.samples


@dataclass(frozen=True)
class QuantizationReport:
    """What quantization did: the error of layers and outputs, and the accuracy if there are labels.

    `layers` and `advice` have `as_json`. `sqnr_db` is the lowest signal-to-quantization-noise ratio
    of the outputs, on `measured` of the calibration samples; infinite if nothing differs.
    """

    network: Path
    output: Path
    activations: str
    keep: Sequence[str]
    samples: int
    measured: int
    inputs: Mapping[str, tuple[int, ...]]
    layers: Sequence[Any]
    sqnr_db: float
    accuracy: Accuracy | None
    advice: Sequence[Any]
    bytes_before: int
    bytes_after: int

    @property
    def kept_in_vain(self) -> list[Any]:
        """The layers that were to stay in float and did not."""
        return [layer for layer in self.layers if layer.name in self.keep and layer.is_quantized]

    @property
    def left_in_float(self) -> list[Any]:
        """The layers that were not quantized."""
        return [layer for layer in self.layers if not layer.is_quantized]

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types; a ratio is null if nothing differs."""
        accuracy = self.accuracy and {
            "samples": self.accuracy.samples,
            "before": self.accuracy.before,
            "after": self.accuracy.after,
        }
        return {
            "network": str(self.network),
            "output": str(self.output),
            "activations": self.activations,
            "keep": list(self.keep),
            "samples": self.samples,
            "measured_samples": self.measured,
            "inputs": {name: list(shape) for name, shape in self.inputs.items()},
            "layers": [layer.as_json() for layer in self.layers],
            "sqnr_db": round(self.sqnr_db, 6) if math.isfinite(self.sqnr_db) else None,
            "accuracy": accuracy,
            "advice": [one.as_json() for one in self.advice],
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
        }
