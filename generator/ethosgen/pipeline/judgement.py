"""Samples, and what TFLite Micro and LiteRT make of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.drawing import count_distributions, draw_samples
from ethosgen.errors import InputError, UnsupportedError
from ethosgen.flatbuffer import is_compiled, read_model
from ethosgen.model import Model, Tensor
from ethosgen.oddities import oddities
from ethosgen.outcome import FLOAT_TOLERANCE, Arrays, Comparison, compare
from ethosgen.report import Drawn
from ethosgen.samples import load_samples
from ethosgen.watch import Watch

if TYPE_CHECKING:
    from ethosgen.reference import Oracle


@dataclass(frozen=True)
class Inputs:
    """Where samples come from: a file, or `count` random ones from `seed`.

    `oracle` names who decides about the outputs: "tflm", "litert", or None for TFLite Micro
    wherever it can.
    """

    path: Path | None
    count: int
    seed: int
    oracle: str | None = None

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
    oracle: str | None = None,
) -> tuple[Comparison | None, Comparison | None]:
    """Compare outputs with those of the oracle that decides, and with the other one's.

    TFLite Micro decides unless LiteRT is asked for by name, or TFLite Micro cannot run the network,
    as it lacks an operator or a type. `original` is the network to ask instead of `model`: what a
    compiled file was made from. Without it a compiled file has no golden answer.
    """
    if original is not None:
        theirs = read_model(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; the network before Vela is needed")
        samples = _renamed(samples, model.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, model.outputs, theirs.outputs, theirs)
        model = theirs
    if is_compiled(model):
        return None, None
    with watch.stage("reference", "asking TFLite Micro and LiteRT"):
        first, note, golden = _ask(model, samples, oracle)
        other = _other(first)
        second = None if note and oracle is None else other.opinion(model, samples)

    def against(who: "Oracle", theirs: list[Arrays], why: str) -> Comparison:
        compared = compare(who.name, list(outputs), theirs, tolerance_of(model))
        return replace(compared, title=who.title, version=who.version, note=why)

    decided = against(first, golden, note)
    if second is None:
        return decided, None
    differing = compare("", golden, second, tolerance_of(model)).mismatches > 0
    return decided, against(other, second, "; ".join(oddities(model)) if differing else "")


def decisive_outputs(
    model: Model, samples: Sequence[Arrays], oracle: str | None = None
) -> tuple[str, list[Arrays]]:
    """Return the name of the oracle that decides, and its outputs."""
    who, _, outputs = _ask(model, samples, oracle)
    return who.name, outputs


def _ask(
    model: Model, samples: Sequence[Arrays], oracle: str | None
) -> tuple["Oracle", str, list[Arrays]]:
    """Return the oracle that decides, why it is not TFLite Micro, and its outputs."""
    from ethosgen.reference import LITERT, TFLM

    if oracle == LITERT.name:
        return LITERT, "as --oracle asks", LITERT.run(model, samples)
    try:
        return TFLM, "", TFLM.run(model, samples)
    except UnsupportedError as error:
        theirs = None if oracle else LITERT.opinion(model, samples)
        if theirs is None:
            raise
        return LITERT, str(error).partition(";")[0], theirs


def _other(oracle: "Oracle") -> "Oracle":
    from ethosgen.reference import LITERT, TFLM

    return LITERT if oracle is TFLM else TFLM


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
