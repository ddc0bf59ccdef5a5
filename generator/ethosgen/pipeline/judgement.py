"""Samples, and what TFLite Micro and LiteRT make of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.drawing import count_distributions, draw_samples
from ethosgen.errors import InputError, UnsupportedError
from ethosgen.flatbuffer import is_compiled, read_model
from ethosgen.model import Model, Tensor
from ethosgen.outcome import FLOAT_TOLERANCE, Arrays, Comparison, compare
from ethosgen.report import Drawn
from ethosgen.samples import load_samples
from ethosgen.watch import Watch


@dataclass(frozen=True)
class Inputs:
    """Where samples come from: a file, or `count` random ones from `seed`."""

    path: Path | None
    count: int
    seed: int

    def drawn(self) -> Drawn | None:
        """Return what the random samples are; None where they come from a file."""
        if self.path is not None:
            return None
        return Drawn(self.seed, count_distributions(self.count))


def choose_samples(model: Model, inputs: Inputs) -> list[Arrays]:
    """Load the user's samples, or draw random ones."""
    if inputs.path is not None:
        return load_samples(inputs.path, model.inputs)
    return draw_samples(model, inputs.count, inputs.seed)


def judge(
    model: Model,
    samples: Sequence[Arrays],
    outputs: Sequence[Arrays],
    watch: Watch,
    original: Path | None = None,
) -> tuple[Comparison | None, Comparison | None]:
    """Compare outputs with TFLite Micro's, which decide, and with LiteRT's.

    LiteRT's decide where TFLite Micro cannot run the network, as it lacks an operator or a type.
    `original` is the network to ask instead of `model`: what a compiled file was made from. Without
    it a compiled file has no golden answer.
    """
    from ethosgen.reference import golden_outputs, second_opinion

    if original is not None:
        theirs = read_model(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; the network before Vela is needed")
        samples = _renamed(samples, model.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, model.outputs, theirs.outputs, theirs)
        model = theirs
    if is_compiled(model):
        return None, None
    tolerance = tolerance_of(model)
    with watch.stage("reference", "asking TFLite Micro and LiteRT"):
        second = second_opinion(model, samples)
        try:
            golden = golden_outputs(model, samples)
        except UnsupportedError:
            if second is None:
                raise
            return compare("litert", list(outputs), second, tolerance), None
    return (
        compare("tflm", list(outputs), golden, tolerance),
        compare("litert", list(outputs), second, tolerance) if second is not None else None,
    )


def decisive_outputs(model: Model, samples: Sequence[Arrays]) -> tuple[str, list[Arrays]]:
    """Return the oracle that decides and its outputs: TFLite Micro, or LiteRT where it must."""
    from ethosgen.reference import golden_outputs, second_opinion

    try:
        return "tflm", golden_outputs(model, samples)
    except UnsupportedError:
        second = second_opinion(model, samples)
        if second is None:
            raise
        return "litert", second


def tolerance_of(model: Model) -> float:
    """Return by how much real outputs may differ: 0 where every operator's results are exact."""
    from ethosgen.aot import is_exact

    if all(tensor.dtype != "float32" for tensor in model.outputs):
        return 0.0
    return 0.0 if is_exact(model) else FLOAT_TOLERANCE


def _renamed(
    samples: Sequence[Arrays], ours: Sequence[Tensor], theirs: Sequence[Tensor], original: Model
) -> list[Arrays]:
    """Call tensors as the original does: Vela keeps their order, but not always their names."""
    if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in theirs]:
        raise InputError(
            f"'{original.name}' is not what this network was compiled from: it has other inputs or "
            "outputs"
        )
    pairs = [(ours.name, theirs.name) for ours, theirs in zip(ours, theirs, strict=True)]
    return [{new: sample[old] for old, new in pairs if old in sample} for sample in samples]
