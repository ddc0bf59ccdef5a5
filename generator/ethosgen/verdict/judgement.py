"""Chooses samples, and compares outputs with the oracles'."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.backend import is_compiled
from ethosgen.frontend import read
from ethosgen.oracle import DEFAULT, MIXED, ORACLES, SECOND, Oracle, own_oracle
from ethosgen.oracle.interpreters import LateError, awaited
from ethosgen.oracle.oddities import oddities
from ethosgen.oracle.pieces import take_apart, undefined_outputs
from ethosgen.samples.drawing import count_distributions, draw_samples
from ethosgen.samples.files import load_samples, samples_of
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network, Tensor
from ethosgen.values.outcome import Arrays, Comparison, LeftOut, compare
from ethosgen.values.report import Drawn
from ethosgen.values.watch import Watch
from ethosgen.values.workload import SAMPLES, default_samples
from ethosgen.verdict.given import compare_given, holds_outputs

_log = logging.getLogger(__name__)

SECOND_S = 30.0
"""Time limit in seconds for the second opinion, which decides nothing."""


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
        """Whether the user passes the samples; if not, they are drawn."""
        return self.path is not None or self.arrays is not None

    def drawn(self, count: int) -> Drawn | None:
        """Describe `count` random samples; None if the user passes them."""
        if self.are_given:
            return None
        is_short = self.count is None and count < SAMPLES
        return Drawn(self.seed, count_distributions(count), is_short)


@dataclass(frozen=True)
class Criteria:
    """What outputs are compared with, apart from the usual oracles.

    `golden` is the uncompiled original of a compiled network, or golden outputs for the samples,
    which then decide. `oracle` decides instead of the default one. `fidelity` is the limit of
    differences from the network's own runtime, in steps; `steps` is what the user allows from the
    oracle's, 0 for equality.
    """

    golden: Path | None = None
    oracle: str | None = None
    fidelity: float | None = None
    steps: float = 0.0


USUAL = Criteria()
"""The defaults."""


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
) -> tuple[Comparison | None, Comparison | None]:
    """Compare outputs with those of the oracle that decides, and with the other oracle's.

    The default oracle decides unless the user names another, or it cannot run the network, as it
    lacks an operator or a type. Where each lacks something, each runs the operators that it has.
    For a compiled network the oracles run the original; without it there is no golden output.
    Golden outputs from a file decide alone.
    """
    original = criteria.golden
    if original is not None and holds_outputs(original):
        return compare_given(network, outputs, original, criteria.fidelity), None
    if original is not None:
        theirs = read(original)
        if is_compiled(theirs):
            raise InputError(f"'{original}' is compiled too; pass the uncompiled network")
        samples = _renamed(samples, network.inputs, theirs.inputs, theirs)
        outputs = _renamed(outputs, network.outputs, theirs.outputs, theirs)
        network = theirs
    if is_compiled(network):
        return None, None
    own = own_oracle(network)
    asked = own.title if own else f"{DEFAULT.title} and {SECOND.title}"
    with watch.stage("reference", f"asking {asked}"):
        answer, second = _ask_both(network, samples, criteria.oracle)

    def against(who: Oracle, theirs: list[Arrays], why: str) -> Comparison:
        compared = compare_defined(network, samples, who.name, outputs, theirs, criteria.steps)
        return replace(compared, title=who.title, version=who.version, note=why)

    decided = against(answer.oracle, answer.outputs, answer.note)
    other = SECOND if answer.oracle is DEFAULT else DEFAULT
    if second is None:
        return decided, None
    if isinstance(second, str):
        return decided, Comparison(other.name, 0, 0, 0.0, title=other.title, skipped=second)
    tolerance = tolerance_of(network, other.name)
    differing = compare("", answer.outputs, second, tolerance).mismatches > 0
    return decided, against(other, second, "; ".join(oddities(network)) if differing else "")


def compare_defined(
    network: Network,
    samples: Sequence[Arrays],
    oracle: str,
    outputs: Sequence[Arrays],
    golden: Sequence[Arrays],
    steps: float = 0.0,
) -> Comparison:
    """Compare outputs with an oracle's; if they differ, without what C++ leaves undefined."""
    return Reference(network, samples, oracle, golden).against(outputs, steps)


class Reference:
    """An oracle's outputs for samples, to compare with several times.

    `left_out` are the elements that C++ leaves undefined; it is None until outputs differ.
    """

    def __init__(
        self,
        network: Network,
        samples: Sequence[Arrays],
        oracle: str,
        outputs: Sequence[Arrays],
    ) -> None:
        self.oracle = oracle
        self.outputs = list(outputs)
        self.left_out: LeftOut | None = None
        self._asked = network, samples, oracle
        self._tolerance = tolerance_of(network, oracle)
        self._has_looked = False

    def against(self, outputs: Sequence[Arrays], steps: float = 0.0) -> Comparison:
        """Compare outputs; find undefined elements once, and only if outputs differ."""
        found = self._compare(outputs, steps)
        if not found.mismatches or self._has_looked:
            return found
        self._has_looked = True
        self.left_out = undefined_outputs(*self._asked)
        return found if self.left_out is None else self._compare(outputs, steps)

    def _compare(self, outputs: Sequence[Arrays], steps: float) -> Comparison:
        left_out = self.left_out
        return compare(self.oracle, list(outputs), self.outputs, self._tolerance, left_out, steps)


@dataclass(frozen=True)
class Answer:
    """Golden outputs, the oracle that decides, and the reason if that is not the default one."""

    oracle: Oracle
    outputs: list[Arrays]
    note: str = ""


Opinion = list[Arrays] | str | None
"""The other oracle's outputs, the reason why they were skipped, or None if it has none."""


def _ask_both(
    network: Network, samples: Sequence[Arrays], asked: str | None
) -> tuple[Answer, Opinion]:
    """Return the answer that decides, and the other oracle's opinion.

    If the default oracle decides, both work at the same time; the other then has SECOND_S.
    """
    if own_oracle(network):
        return _ask(network, samples, asked), None
    if asked not in (None, DEFAULT.name):
        return _ask(network, samples, asked), DEFAULT.opinion(network, samples)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(DEFAULT.run, network, samples)
        (second,) = awaited([pool.submit(_second_opinion, network, samples)])
        try:
            (golden,) = awaited([first])
        except UnsupportedError as error:
            if asked:
                raise
            if isinstance(second, str):  # it may decide now, and has all its time
                second = SECOND.opinion(network, samples)
            return _instead(network, samples, error, second), None
    return Answer(DEFAULT, golden), second


def _second_opinion(network: Network, samples: Sequence[Arrays]) -> Opinion:
    try:
        return SECOND.run(network, samples, SECOND_S)
    except LateError as late:
        return str(late)
    except UnsupportedError:
        return None


def decisive_outputs(
    network: Network, samples: Sequence[Arrays], oracle: str | None = None
) -> tuple[str, list[Arrays]]:
    """Return the name of the oracle that decides, and its outputs."""
    answer = _ask(network, samples, oracle)
    return answer.oracle.name, answer.outputs


def _ask(network: Network, samples: Sequence[Arrays], asked: str | None) -> Answer:
    """Return the answer that decides: the named oracle's, else of the first that has one."""
    own = own_oracle(network)
    if own:
        if asked and asked != own.name:
            raise InputError(
                f"{ORACLES[asked].title} cannot run '{network.name}', which {own.title} "
                f"decides; leave out --oracle {asked}"
            )
        return Answer(own, own.run(network, samples))
    oracle = ORACLES[asked] if asked else DEFAULT
    note = "" if oracle is DEFAULT else "as --oracle asks"
    try:
        return Answer(oracle, oracle.run(network, samples), note)
    except UnsupportedError as error:
        if asked:
            raise
        return _instead(network, samples, error, SECOND.opinion(network, samples))


def _instead(
    network: Network,
    samples: Sequence[Arrays],
    refusal: UnsupportedError,
    second: list[Arrays] | None,
) -> Answer:
    """Return the answer that decides for a network that the default oracle refuses.

    It is the second oracle's. Where that differs from the answer operator by operator, each from
    the first oracle that has it, the latter decides: the generated code follows it.
    """
    note = str(refusal).partition(";")[0]
    try:
        pieces = take_apart(network, samples)
    except UnsupportedError as error:
        _log.info("%s", error)
        if second is None:
            raise refusal from None
        return Answer(SECOND, second, note)
    outputs = pieces.outputs(network)
    if second is not None:
        tolerance = tolerance_of(network, SECOND.name)
        if not compare(SECOND.name, outputs, second, tolerance).mismatches:
            return Answer(SECOND, second, note)
    return Answer(MIXED, outputs, pieces.note(network))


def tolerance_of(network: Network, oracle: str) -> float:
    """Return the tolerance of float outputs, 0 if all operators are exact."""
    from ethosgen.aot import is_exact

    if all(tensor.dtype != "float32" for tensor in network.outputs):
        return 0.0
    return 0.0 if is_exact(network) else ORACLES[oracle].tolerance


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
