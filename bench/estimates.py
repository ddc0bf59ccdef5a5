"""How far estimates of cycles are from the instructions that QEMU counts for single layers."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.command import Figures
from bench.layers import Layer, board_without_helium, drawn, layers_of, run_layers
from bench.measure import networks
from ethosgen import aot
from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.values.allocation import Allocation
from ethosgen.values.extension import Extension
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.cpu_only import plan_cpu_only
from tests.support.eager_accelerator import eager_copy

INT16_CODES = (
    *("ADD", "MUL", "AVERAGE_POOL_2D", "MAX_POOL_2D"),
    *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "SOFTMAX", "PAD"),
)
"""The operators that are measured with int16 too."""


@dataclass(frozen=True)
class Subject:
    """Whose estimates: our kernels', or those of an accelerator, on one processor."""

    title: str
    accelerator: str = ""
    has_helium: bool = True

    def estimate(self, layer: Layer) -> int | None:
        """Return the estimate of what QEMU counts, None if there is none."""
        network = layer.network
        if not self.accelerator:
            extension = Extension.HELIUM if self.has_helium else Extension.DSP
            return aot.cpu_cycles(network.graph.operators[0], network.graph, extension)
        asked = load_wrapped(self.accelerator).beside(self.has_helium)
        offer = next(
            iter(asked.offers(plan_cpu_only(network, IoStyle.ARENA), Allocation()).values())
        )
        if offer.refusal:
            return None
        return offer.start if asked.devices else offer.cycles


SUBJECTS = (
    Subject("our kernels"),
    Subject("our kernels, no Helium", has_helium=False),
    Subject("CMSIS-NN", "cmsis-nn"),
    Subject("CMSIS-NN, no Helium", "cmsis-nn", has_helium=False),
    Subject("`start` of the matrix engine", "matrix-engine"),
)


def measure() -> Iterator[Figures]:
    """Yield the estimate and the count of each layer of each subject."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-estimates-") as name:
        folder = Path(name)
        layers = [*layers_of(networks(), folder), *drawn(folder)]
        layers += [layer for layer in drawn(folder, "int16") if layer.code in INT16_CODES]
        for subject in SUBJECTS:
            known = [(layer, subject.estimate(layer)) for layer in layers]
            taken = [layer for layer, estimate in known if estimate is not None]
            for layer, count in zip(taken, _counts(subject, taken, folder), strict=True):
                yield row(subject, layer, count)


def row(subject: Subject, layer: Layer, count: int) -> Figures:
    """Return a layer's figures."""
    return {
        "whose": subject.title,
        "operator": layer.code,
        "dtype": layer.dtype,
        "layer": layer.path.stem,
        "estimate": subject.estimate(layer),
        "instructions": count,
    }


def _counts(subject: Subject, layers: Sequence[Layer], folder: Path) -> Iterator[int]:
    board = "corstone300" if subject.has_helium else board_without_helium(folder)
    used = ["--accelerator", eager_copy(subject.accelerator, folder)] if subject.accelerator else []
    for sample in run_layers(layers, board, "--npu", "none", "--trust-compiler", *used):
        yield sample.cpu_instructions or 0
