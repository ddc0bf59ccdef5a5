"""Find, on the simulator, the operator that makes a network's outputs differ.

It cuts the network after its first operators, and runs that part on the simulator and the oracle.
If all live tensors at the cut are equal, only an operator after it can differ.
"""

import time
from collections.abc import Callable, Sequence
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
TARGET_LIMIT_S = 150.0
"""The same of a search with firmware, each of which is compiled."""
Attempt = Callable[[Network, Sequence[Arrays]], Trial]
"""Runs a network, or a part of it, with samples."""


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

    def attempt(part: Network, inputs: Sequence[Arrays]) -> Trial:
        return try_out(part, inputs, make, oracle)

    return _find(network, samples, attempt, limit_s)


def _find(
    network: Network, samples: Sequence[Arrays], attempt: Attempt, limit_s: float
) -> Culprit | None:
    """Return the first operator that makes a run differ from the oracle, as `find_culprit`."""
    last = attempt(network, samples)
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
        trial = _try_first(network, cut, samples, attempt)
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
    on_target: Attempt | None = None,
) -> Diagnosis | None:
    """Explain why a firmware's or the simulator's outputs differ; None if they do not.

    If the simulator's are equal, `on_target` tries firmware of the network's first operators.
    """
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
        if on_target is not None:
            with watch.phase("bisect", "looking for the first operator whose firmware differs"):
                culprit = _quietly(network, needed, on_target)
        later = None if culprit is None else _later(culprit, skipped)
        return Diagnosis(later, note, is_firmware=True)
    return Diagnosis(_later(culprit, skipped))


def _quietly(network: Network, samples: Sequence[Arrays], on_target: Attempt) -> Culprit | None:
    """Return the first operator whose firmware differs, None if it cannot be found."""
    try:
        return _find(network, samples, on_target, TARGET_LIMIT_S)
    except EthosgenError:
        return None


def _needed(
    network: Network, samples: Sequence[Arrays], index: int
) -> tuple[Sequence[Arrays], int]:
    """Return the samples on which sample `index` depends, and the number omitted before them."""
    if network.has_state:
        return samples[: index + 1], 0
    return samples[index : index + 1], index


def _try_first(
    network: Network, count: int, samples: Sequence[Arrays], attempt: Attempt
) -> Trial | None:
    """Compare the results of the first `count` operators; None if they cannot be compared."""
    try:
        part = first_operators(network, count)
        if part is None:
            return None
        trial = attempt(part, samples)
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
