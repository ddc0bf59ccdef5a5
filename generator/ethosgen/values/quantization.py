"""The user's request to the quantizer, its report, and advice to use it."""

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ethosgen.values.network import ABSENT, Network

WEIGHTED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
SUFFIXES = (".onnx", ".tflite", ".pt2")
"""The suffixes of float networks that ethosgen quantizes."""


def quantize_command(name: str) -> str:
    """Return the command that quantizes a float network; "" if ethosgen does not read its format.

    `name` is its file's name.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        return ""
    quantized = f"{path.stem}_int8{path.suffix}"
    return f"ethosgen quantize {shlex.quote(name)} --data SAMPLES.npz -o {shlex.quote(quantized)}"


def command_for(network: Network) -> str:
    """Return the command that quantizes a network; "" if ethosgen cannot quantize its format."""
    source = network.source
    if source is None:
        return quantize_command("FLOAT.tflite")
    named = quantize_command(source.name)
    return named or quantize_command(f"FLOAT.{source.format}")


def is_float(network: Network) -> bool:
    """Return whether a network has layers with float weights, and nothing in it is quantized."""
    tensors = [tensor for graph in network.graphs for tensor in graph.tensors]
    if any(t.quantization is not None and "int" in t.dtype for t in tensors):
        return False
    return any(
        op.code in WEIGHTED
        and op.inputs[1] != ABSENT
        and graph.tensors[op.inputs[1]].dtype == "float32"
        for graph in network.graphs
        for op in graph.operators
    )


FLOAT, INTEGER = "float", "int8"
"""Types of a quantized network's inputs and outputs."""


@dataclass(frozen=True)
class QuantizationRequest:
    """A float network, its calibration data, and the path of the quantized network.

    `activations` is int8 or int16; weights are always int8, with a scale for each output channel.
    `keep` names layers that stay in float. `labels` are the classes of the samples in `test_data`,
    or of the calibration data without any. An existing `output` is replaced only with `force`. `io`
    is FLOAT, or INTEGER for inputs and outputs of the activations' type; None for the quantizer's
    usual one. With `max_loss`, layers become int16 until the accuracy falls by no more than that
    share of the labelled samples. With `max_ms`, an inference may take at most this many
    milliseconds on `board` with `npu`, by default the board's.
    """

    network: Path
    data: Path
    output: Path
    activations: str = "int8"
    keep: tuple[str, ...] = ()
    test_data: Path | None = None
    labels: Path | None = None
    force: bool = False
    io: str | None = None
    max_loss: float | None = None
    max_ms: float | None = None
    board: str | None = None
    npu: str | None = None


@dataclass(frozen=True)
class Accuracy:
    """The labelled samples that both networks classify correctly."""

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


def change_text(lost: float) -> str:
    """Return what a network loses of its accuracy, or gains: "0.25% lost", "0.25% gained"."""
    return f"{abs(lost):.2%} {'gained' if lost < 0 else 'lost'}"


@dataclass(frozen=True)
class Mixture:
    """The layers whose results are int16, so that the accuracy falls by `max_loss` at most.

    `loss` is the share of the labelled samples that is lost, `loss_int8` that without any int16.
    `sensitivities` are the outputs' ratios in decibels with one layer in int8 and the others in
    int16, the most sensitive layer first; there are none if int8 suffices. `trials` is the number
    of networks that were quantized and measured. With a budget of time, `ms` are the estimated
    milliseconds of an inference, and `ms_int8` those without any int16; `without` names operators
    that have no estimate, which both leave out.
    """

    max_loss: float
    loss_int8: float
    loss: float
    wide: tuple[str, ...] = ()
    sensitivities: Mapping[str, float] = field(default_factory=dict)
    trials: int = 0
    max_ms: float | None = None
    ms_int8: float | None = None
    ms: float | None = None
    without: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the mixture as an object of JSON types; a ratio is null if nothing differs."""
        return {
            "max_loss": self.max_loss,
            "loss_int8": self.loss_int8,
            "loss": self.loss,
            "int16_layers": list(self.wide),
            "sensitivities_db": {
                name: round(ratio, 3) if math.isfinite(ratio) else None
                for name, ratio in self.sensitivities.items()
            },
            "trials": self.trials,
            "max_ms": self.max_ms,
            "ms_int8": self.ms_int8,
            "ms": self.ms,
            "without": list(self.without),
        }


@dataclass(frozen=True)
class QuantizationReport:
    """The result of quantization: the error of layers and outputs, and the accuracy if there are
    labels.

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
    weights_before: int
    """Bytes of the float network's weights and biases."""
    weights_after: int
    """Bytes of the same in the quantized network, without scales."""
    integer_ends: Sequence[str] = ()
    """The inputs and outputs that are integers, if that was asked for."""
    mixture: "Mixture | None" = None
    """What became int16 to keep the accuracy, if that was asked for."""

    @property
    def kept_in_vain(self) -> list[Any]:
        """The layers that should have stayed in float and did not."""
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
            "advice": [advice.as_json() for advice in self.advice],
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "weights_before": self.weights_before,
            "weights_after": self.weights_after,
            "integer_ends": list(self.integer_ends),
            "mixture": self.mixture and self.mixture.as_json(),
        }
