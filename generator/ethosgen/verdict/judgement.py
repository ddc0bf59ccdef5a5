"""Chooses samples, and compares outputs with the oracles'."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.backend import is_compiled
from ethosgen.frontend import examples_of, read
from ethosgen.oracle import DEFAULT, ORACLES, SECOND, own_oracle
from ethosgen.oracle.answers import Answer, answer, answer_twice
from ethosgen.oracle.oddities import oddities
from ethosgen.samples.drawing import SAMPLES, count_distributions, default_samples, draw_samples
from ethosgen.samples.files import load_samples, samples_of, stack_samples
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays, OutputComparison
from ethosgen.values.report import Drawn
from ethosgen.values.watch import Watch
from ethosgen.verdict.golden_file import Golden, compare_golden_file, holds_outputs
from ethosgen.verdict.trial import question_of


@dataclass(frozen=True)
class Inputs:
    """The source of samples: a file, arrays by input, or `count` random ones from `seed`.

    Without a count, the network's size determines the number of samples.
    """

    path: Path | None
    count: int | None
    seed: int
    arrays: Mapping[str, Any] | None = None

    @property
    def are_given(self) -> bool:
        """Whether the user passes the samples; if not, they are random."""
        return self.path is not None or self.arrays is not None

    def drawn(self, network: Network, count: int) -> Drawn | None:
        """Describe `count` random samples; None if the user passes them, or there are no inputs."""
        if self.are_given or not network.inputs:
            return None
        is_short = self.count is None and count < SAMPLES
        return Drawn(self.seed, count_distributions(count), is_short)


@dataclass(frozen=True)
class Criteria:
    """The references of outputs, besides the default oracles.

    `golden` is the uncompiled original of a compiled network, or golden outputs for the samples,
    which then decide. `oracle` decides instead of the default one. `fidelity` is the limit of
    differences from the network's own runtime, in steps; `steps` is the difference from the oracle
    that the user allows, 0 for equality.
    """

    golden: Golden | None = None
    oracle: str | None = None
    fidelity: float | None = None
    steps: float = 0.0


USUAL = Criteria()
"""The defaults."""


def with_examples(network: Network, inputs: Inputs, criteria: Criteria) -> tuple[Inputs, Criteria]:
    """Return samples and golden outputs of the network's own file, if the user passes neither."""
    if inputs.are_given or inputs.count is not None or criteria.golden is not None:
        return inputs, criteria
    examples = examples_of(network)
    if examples is None:
        return inputs, criteria
    limit = examples.steps if criteria.fidelity is None else criteria.fidelity
    arrays = stack_samples(examples.inputs)
    return replace(inputs, arrays=arrays), replace(criteria, golden=examples, fidelity=limit)


def choose_samples(network: Network, inputs: Inputs) -> list[Arrays]:
    """Load the user's samples, or draw random ones."""
    if inputs.path is not None:
        return load_samples(inputs.path, network.inputs)
    if inputs.arrays is not None:
        return samples_of(inputs.arrays, network.inputs)
    return draw_samples(network, inputs.count or default_samples(network), inputs.seed)


def judge(
    network: Network,
    samples: Sequence[Arrays],
    outputs: Sequence[Arrays],
    watch: Watch,
    criteria: Criteria = USUAL,
) -> tuple[OutputComparison | None, OutputComparison | None]:
    """Compare outputs with those of the oracle that decides, and with the other oracle's.

    For a compiled network the oracles run the original; without it there is no golden output.
    Golden outputs from a file decide alone.
    """
    original = criteria.golden
    if original is not None and holds_outputs(original):
        return compare_golden_file(network, outputs, original, criteria.fidelity), None
    if isinstance(original, Path):
        theirs = read(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; pass the uncompiled network")
        samples = _renamed(samples, network.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, network.outputs, theirs.outputs, theirs)
        network = theirs
    if is_compiled(network):
        return None, None
    own = own_oracle(network)
    titles = own.title if own else f"{DEFAULT.title} and {SECOND.title}"
    with watch.phase("reference", f"asking {titles}"):
        decisive, second = answer_twice(question_of(network, samples, criteria.oracle))
    decided = _titled(decisive, outputs, criteria.steps, decisive.note)
    other = SECOND if decisive.oracle is DEFAULT else DEFAULT
    if second is None:
        return decided, None
    if isinstance(second, str):
        return decided, OutputComparison(other.name, 0, 0, 0.0, title=other.title, skipped=second)
    note = "; ".join(oddities(network)) if second.compared(decisive.outputs).mismatches else ""
    return decided, _titled(second, outputs, criteria.steps, note)


def _titled(answer: Answer, outputs: Sequence[Arrays], steps: float, note: str) -> OutputComparison:
    """Compare outputs with an answer, under its oracle's title."""
    compared, oracle = answer.against(outputs, steps), answer.oracle
    return replace(compared, title=oracle.title, version=oracle.version, note=note)


def golden_answer(network: Network, samples: Sequence[Arrays], oracle: str | None = None) -> Answer:
    """Return the answer of the oracle that decides: the named one, or the default."""
    return answer(question_of(network, samples, oracle))


def tolerance_of(network: Network, oracle: str) -> float:
    """Return the tolerance of float outputs, 0 if all operators are exact."""
    return question_of(network, ()).tolerance(ORACLES[oracle])


def _renamed(
    samples: Sequence[Arrays], ours: Sequence[Tensor], theirs: Sequence[Tensor], original: Network
) -> list[Arrays]:
    """Rename tensors as in the original: compilers keep their order, but not always the names."""
    if [(t.shape, t.dtype) for t in ours] != [(t.shape, t.dtype) for t in theirs]:
        raise InputError(
            f"'{original.name}' is not the original of this network: its inputs or outputs differ; "
            "pass the network that was compiled"
        )
    pairs = [(ours.name, theirs.name) for ours, theirs in zip(ours, theirs, strict=True)]
    return [{new: sample[old] for old, new in pairs if old in sample} for sample in samples]
