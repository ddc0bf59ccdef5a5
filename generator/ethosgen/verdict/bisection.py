"""Find, on the simulator, the operator that makes a network's outputs differ.

It cuts the network after its first operators, and runs that part on the simulator and the oracle.
If all live tensors at the cut are equal, only an operator after it can differ.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from ethosgen.backend import is_compiled
from ethosgen.oracle.excerpt import first_operators
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, OutputComparison
from ethosgen.values.report import Culprit, Diagnosis
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import GIVEN
from ethosgen.verdict.trial import Make, Trial, try_out

LIMIT_S = 60.0
"""Time limit of a search, in seconds; after it, the remaining candidates are reported."""


def find_culprit(
    network: Network,
    samples: Sequence[Arrays],
    make: Make,
    limit_s: float = LIMIT_S,
    oracle: str | None = None,
) -> Culprit | None:
    """Return the first operator that makes the simulator differ from the oracle, or fault.

    None if all outputs are equal for these samples, which run in order. EthosgenError if the
    simulator or the oracle cannot run the network at all.
    """
    last = try_out(network, samples, make, oracle)
    if last.is_equal:
        return None
    skipped = 0
    if last.first is not None:
        samples, skipped = _needed(network, samples, last.first.sample)
    deadline = time.monotonic() + limit_s
    equal, differs = 0, len(network.graph.operators)
    untold: set[int] = set()
    while time.monotonic() < deadline:
        cuts = [i for i in range(equal + 1, differs) if i not in untold]
        if not cuts:
            break
        cut = cuts[len(cuts) // 2]
        trial = _try_first(network, cut, samples, make, oracle)
        if trial is None:
            untold.add(cut)
        elif trial.is_equal:
            equal = cut
        else:
            differs, last = cut, trial
    return _culprit(network, differs - 1, last, skipped, unclear=differs - 1 - equal)


def diagnose(
    network: Network,
    samples: Sequence[Arrays],
    golden: OutputComparison | None,
    make: Make,
    watch: Watch,
) -> Diagnosis | None:
    """Explain why a firmware's or the simulator's outputs differ; None if they do not."""
    if golden is None or golden.first is None:
        return None
    if is_compiled(network):
        return Diagnosis(None, "unknown: this file is precompiled and does not list its layers")
    if golden.oracle == GIVEN:
        return Diagnosis(None, "unknown: golden outputs from a file do not list the layers")
    needed, skipped = _needed(network, samples, golden.first.sample)
    try:
        with watch.phase("bisect", "looking for the first operator that differs"):
            culprit = find_culprit(network, needed, make, oracle=golden.oracle)
    except EthosgenError as error:
        return Diagnosis(None, f"unknown: the simulator does not run it ({error})")
    if culprit is None:
        note = f"none: the simulator equals {golden.oracle} here, so only the firmware differs"
        return Diagnosis(None, note, is_firmware=True)
    return Diagnosis(_later(culprit, skipped))


def _needed(
    network: Network, samples: Sequence[Arrays], index: int
) -> tuple[Sequence[Arrays], int]:
    """Return the samples on which sample `index` depends, and the number omitted before them."""
    if network.has_state:
        return samples[: index + 1], 0
    return samples[index : index + 1], index


def _try_first(
    network: Network, count: int, samples: Sequence[Arrays], make: Make, oracle: str | None
) -> Trial | None:
    """Compare the results of the first `count` operators; None if they cannot be compared."""
    try:
        part = first_operators(network, count)
        if part is None:
            return None
        trial = try_out(part, samples, make, oracle)
        _ = trial.is_equal  # the oracle may refuse
    except EthosgenError:
        return None
    return trial


def _culprit(network: Network, index: int, trial: Trial, skipped: int, unclear: int) -> Culprit:
    operator = network.graph.operators[index]
    ran = (p.backend or "npu" for p in trial.plan.partitions if index in p.operators)
    culprit = Culprit(
        operator=index,
        code=operator.custom_code or operator.code,
        output=network.graph.output_name(operator),
        on=next(ran, "cpu"),
        difference=trial.first,
        fault=str(trial.fault or ""),
        unclear=unclear,
    )
    return _later(culprit, skipped)


def _later(culprit: Culprit, skipped: int) -> Culprit:
    """Return the culprit with its sample counted from the first of all samples."""
    if culprit.difference is None:
        return culprit
    sample = culprit.difference.sample + skipped
    return replace(culprit, difference=replace(culprit.difference, sample=sample))
