"""Golden outputs from a file instead of an oracle: those of another program, such as torch.

A network's own file may also have them, with their inputs.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ethosgen.samples.files import load_samples
from ethosgen.values.errors import InputError
from ethosgen.values.examples import Examples
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison, compare

GIVEN = "given"
"""The name of such a comparison, in place of an oracle's."""

SUFFIX = ".npz"


Golden = Path | Examples
"""A file of golden outputs or an uncompiled network; or what the network's own file has."""


def holds_outputs(golden: Golden | None) -> bool:
    """Return whether golden outputs are given; if not, --golden is a network or absent."""
    return isinstance(golden, Examples) or (golden is not None and golden.suffix.lower() == SUFFIX)


def require_inputs(golden: Golden | None, are_given: bool) -> None:
    """Raise InputError for golden outputs without their inputs."""
    if holds_outputs(golden) and not are_given:
        raise InputError(
            f"'{golden}' holds golden outputs, which random inputs do not have; pass the inputs "
            "that they belong to with --input"
        )


def load_golden(golden: Golden, network: Network, count: int) -> Sequence[Arrays]:
    """Return the golden outputs of `count` samples by the names of the network's outputs.

    Raises InputError for a file that does not fit the network or the samples.
    """
    if isinstance(golden, Examples):
        return golden.outputs
    outputs = load_samples(golden, network.outputs, "output")
    if len(outputs) != count:
        raise InputError(
            f"{golden}: holds outputs for {counted(len(outputs), 'sample')}, but the inputs are "
            f"for {count}; pass the inputs that they belong to"
        )
    return outputs


def compare_golden_file(
    network: Network, outputs: Sequence[Arrays], golden: Golden, limit: float | None
) -> OutputComparison:
    """Compare outputs with a file's: all must be equal, or within the limit in steps if any."""
    theirs = load_golden(golden, network, len(outputs))
    compared = replace(
        compare(GIVEN, list(outputs), list(theirs)), title=f"the outputs in {golden.name}"
    )
    if limit is None or not measure_golden_file(network, outputs, golden, limit).passed:
        return compared
    return replace(compared, mismatches=0, close=compared.mismatches, first=None)


def measure_golden_file(
    network: Network, outputs: Sequence[Arrays], golden: Golden, limit: float | None
) -> Fidelity:
    """Return the fidelity of outputs to a file's, in steps."""
    theirs = load_golden(golden, network, len(outputs))
    return compare_fidelity(network, outputs, theirs, golden.name, "", limit)
