"""Golden outputs from a file instead of an oracle: those of another program, such as torch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethosgen.samples.files import load_samples
from ethosgen.values.errors import InputError
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison, compare

GIVEN = "given"
"""The name of such a comparison, in place of an oracle's."""

SUFFIX = ".npz"


def holds_outputs(path: Path | None) -> bool:
    """Return whether --golden names a file of outputs; if not, it is a network."""
    return path is not None and path.suffix.lower() == SUFFIX


def require_inputs(golden: Path | None, are_given: bool) -> None:
    """Raise InputError for golden outputs without their inputs."""
    if holds_outputs(golden) and not are_given:
        raise InputError(
            f"'{golden}' holds golden outputs, which random inputs do not have; pass the inputs "
            "that they belong to with --input"
        )


def load_golden_file(path: Path, network: Network, count: int) -> list[Arrays]:
    """Return the golden outputs of `count` samples by the names of the network's outputs.

    Raises InputError for a file that does not fit the network or the samples.
    """
    outputs = load_samples(path, network.outputs, "output")
    if len(outputs) != count:
        raise InputError(
            f"{path}: holds outputs for {counted(len(outputs), 'sample')}, but the inputs are for "
            f"{count}; pass the inputs that they belong to"
        )
    return outputs


def compare_golden_file(
    network: Network, outputs: Sequence[Arrays], path: Path, limit: float | None
) -> OutputComparison:
    """Compare outputs with a file's: all must be equal, or within the limit in steps if any."""
    theirs = load_golden_file(path, network, len(outputs))
    title = f"the outputs in {path.name}"
    compared = replace(compare(GIVEN, list(outputs), theirs), title=title)
    if limit is None or not measure_golden_file(network, outputs, path, limit).passed:
        return compared
    return replace(compared, mismatches=0, close=compared.mismatches, first=None)


def measure_golden_file(
    network: Network, outputs: Sequence[Arrays], path: Path, limit: float | None
) -> Fidelity:
    """Return the fidelity of outputs to a file's, in steps."""
    theirs = load_golden_file(path, network, len(outputs))
    return compare_fidelity(network, outputs, theirs, path.name, "", limit)
