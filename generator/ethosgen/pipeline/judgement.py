"""Chooses samples, and compares outputs with TFLite Micro's and LiteRT's."""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen.frontend import read
from ethosgen.oracle.oddities import oddities
from ethosgen.samples.drawing import count_distributions, draw_samples
from ethosgen.samples.files import load_samples
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.integrity import is_compiled
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import FLOAT_TOLERANCE, Arrays, Comparison, compare
from ethosgen.values.report import Drawn
from ethosgen.values.watch import Watch
from ethosgen.values.workload import SAMPLES, default_samples

if TYPE_CHECKING:
    from ethosgen.oracle.reference import Oracle

_log = logging.getLogger(__name__)

SECOND_S = 30.0
"""Time limit in seconds for LiteRT's second opinion, which decides nothing."""


@dataclass(frozen=True)
class Inputs:
    """The source of samples: a file, or `count` random ones from `seed`.

    Without a count, the network's size determines the number of samples.
    """

    path: Path | None
    count: int | None
    seed: int

    def drawn(self, count: int) -> Drawn | None:
        """Describe `count` random samples; None if they come from a file."""
        if self.path is not None:
            return None
        is_short = self.count is None and count < SAMPLES
        return Drawn(self.seed, count_distributions(count), is_short)


def choose_samples(network: Network, inputs: Inputs) -> list[Arrays]:
    """Load the user's samples, or draw random ones."""
    if inputs.path is not None:
        return load_samples(inputs.path, network.inputs)
    return draw_samples(network, inputs.count or default_samples(network), inputs.seed)


def judge(
    network: Network,
    samples: Sequence[Arrays],
    outputs: Sequence[Arrays],
    watch: Watch,
    original: Path | None = None,
    oracle: str | None = None,
) -> tuple[Comparison | None, Comparison | None]:
    """Compare outputs with those of the oracle that decides, and with the other oracle's.

    TFLite Micro decides unless the user names LiteRT, or TFLite Micro cannot run the network,
    as it lacks an operator or a type. Where each lacks something, each runs the operators that it
    has. `original` is the uncompiled original of a compiled `network`, which the oracles run;
    without it a compiled file has no golden output.
    """
    if original is not None:
        theirs = read(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; pass the network before Vela")
        samples = _renamed(samples, network.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, network.outputs, theirs.outputs, theirs)
        network = theirs
    if is_compiled(network):
        return None, None
    with watch.stage("reference", "asking TFLite Micro and LiteRT"):
        first, note, golden, second = _ask_both(network, samples, oracle)

    def against(who: "Oracle", theirs: list[Arrays], why: str) -> Comparison:
        compared = compare_defined(network, samples, who.name, outputs, theirs)
        return replace(compared, title=who.title, version=who.version, note=why)

    decided = against(first, golden, note)
    other = _other(first)
    if second is None:
        return decided, None
    if isinstance(second, str):
        return decided, Comparison(other.name, 0, 0, 0.0, title=other.title, skipped=second)
    differing = compare("", golden, second, tolerance_of(network)).mismatches > 0
    return decided, against(other, second, "; ".join(oddities(network)) if differing else "")


def compare_defined(
    network: Network,
    samples: Sequence[Arrays],
    oracle: str,
    outputs: Sequence[Arrays],
    golden: Sequence[Arrays],
) -> Comparison:
    """Compare outputs with an oracle's; if they differ, without what C++ leaves undefined."""
    from ethosgen.pipeline.pieces import undefined_outputs

    found = compare(oracle, list(outputs), list(golden), tolerance_of(network))
    if not found.mismatches:
        return found
    left_out = undefined_outputs(network, samples, oracle)
    if left_out is None:
        return found
    return compare(oracle, list(outputs), list(golden), tolerance_of(network), left_out)


def _ask_both(
    network: Network, samples: Sequence[Arrays], oracle: str | None
) -> tuple["Oracle", str, list[Arrays], list[Arrays] | str | None]:
    """Return `_ask`'s result, and the other oracle's outputs or the reason why they are missing.

    If TFLite Micro decides, both work at the same time; LiteRT then has SECOND_S.
    """
    from ethosgen.oracle.reference import LITERT, TFLM, LateError, awaited, litert_outputs

    if oracle == LITERT.name:
        first, note, golden = _ask(network, samples, oracle)
        return first, note, golden, TFLM.opinion(network, samples)
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(TFLM.run, network, samples)
        other = pool.submit(litert_outputs, network, samples, SECOND_S)
        second: list[Arrays] | str | None
        try:
            (second,) = awaited([other])
        except LateError as late:
            second = str(late)
        except UnsupportedError:
            second = None
        try:
            (golden,) = awaited([asked])
        except UnsupportedError as error:
            if isinstance(second, str) and not oracle:
                second = LITERT.opinion(network, samples)
            if oracle:
                raise
            if not isinstance(second, list):
                return *_in_pieces(network, samples, error), None
            return LITERT, str(error).partition(";")[0], second, None
    return TFLM, "", golden, second


def decisive_outputs(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> tuple[str, list[Arrays]]:
    """Return the name of the oracle that decides, and its outputs."""
    who, _, outputs = _ask(network, samples, oracle)
    return who.name, outputs


def _ask(
    network: Network, samples: Sequence[Arrays], oracle: str | None
) -> tuple["Oracle", str, list[Arrays]]:
    """Return the oracle that decides, the reason if not TFLite Micro, and its outputs."""
    from ethosgen.oracle.reference import LITERT, TFLM

    if oracle == LITERT.name:
        return LITERT, "as --oracle asks", LITERT.run(network, samples)
    try:
        return TFLM, "", TFLM.run(network, samples)
    except UnsupportedError as error:
        if oracle == TFLM.name:
            raise
        theirs = None if oracle else LITERT.opinion(network, samples)
        if theirs is None:
            return _in_pieces(network, samples, error)
        return LITERT, str(error).partition(";")[0], theirs


def _in_pieces(
    network: Network, samples: Sequence[Arrays], lacking: UnsupportedError
) -> tuple["Oracle", str, list[Arrays]]:
    """Run each operator on an oracle that has it; `lacking` is why neither runs the network."""
    from ethosgen.pipeline.pieces import MIXED, take_apart

    try:
        pieces = take_apart(network, samples)
    except UnsupportedError as error:
        _log.info("%s", error)
        raise lacking from None
    return MIXED, pieces.note(network), pieces.outputs(network)


def _other(oracle: "Oracle") -> "Oracle":
    from ethosgen.oracle.reference import LITERT, TFLM

    return LITERT if oracle is TFLM else TFLM


def tolerance_of(network: Network) -> float:
    """Return the tolerance of float outputs, 0 if all operators are exact."""
    from ethosgen.aot import is_exact

    if all(tensor.dtype != "float32" for tensor in network.outputs):
        return 0.0
    return 0.0 if is_exact(network) else FLOAT_TOLERANCE


def _renamed(
    samples: Sequence[Arrays], ours: Sequence[Tensor], theirs: Sequence[Tensor], original: Network
) -> list[Arrays]:
    """Rename tensors as in the original: Vela keeps their order, but not always their names."""
    if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in theirs]:
        raise InputError(
            f"'{original.name}' is not the original of this network: its inputs or outputs differ; "
            "pass the network that was compiled"
        )
    pairs = [(ours.name, theirs.name) for ours, theirs in zip(ours, theirs, strict=True)]
    return [{new: sample[old] for old, new in pairs if old in sample} for sample in samples]
