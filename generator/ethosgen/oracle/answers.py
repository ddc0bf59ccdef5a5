"""Golden outputs for samples: the deciding oracle, its outputs, and the comparison with them.

The default oracle decides unless the user names another, or it cannot run the network, as it lacks
an operator or a type. If each lacks something, each runs the operators that it has.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

from ethosgen.oracle import DEFAULT, MIXED, ORACLES, SECOND, Oracle, own_oracle
from ethosgen.oracle.interpreters import LateError, awaited
from ethosgen.oracle.pieces import take_apart, undefined_outputs
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays, LeftOut, OutputComparison, compare

_LOG = logging.getLogger(__name__)

HALF_TOLERANCE = 2.0**-8
"""The tolerance of outputs that float16 values lead to: four of its units in the last place."""

SECOND_S = 30.0
"""Time limit in seconds for the second opinion, which decides nothing."""


@dataclass(frozen=True)
class Question:
    """A network, and the samples that an oracle runs in order.

    `asked` names the oracle that decides, None the usual one. `is_exact` says whether all operators
    of a network have tolerance 0: the kernels declare this, and oracles do not know them.
    """

    network: Network
    samples: Sequence[Arrays]
    asked: str | None = None
    is_exact: Callable[[Network], bool] = field(default=lambda _network: True, repr=False)

    def tolerance(self, oracle: Oracle) -> float:
        """Return the tolerance of float outputs, 0 if all operators are exact."""
        if all(tensor.dtype != "float32" for tensor in self.network.outputs):
            return 0.0
        if self.is_exact(self.network):
            return 0.0
        halves = any(tensor.is_half for g in self.network.graphs for tensor in g.tensors)
        return max(oracle.tolerance, HALF_TOLERANCE) if halves else oracle.tolerance


@dataclass(frozen=True)
class Answer:
    """Golden outputs, and the oracle that computed them.

    `note` is the reason why another oracle than the default decides.
    """

    question: Question
    oracle: Oracle
    outputs: Sequence[Arrays]
    note: str = ""

    @cached_property
    def tolerance(self) -> float:
        """The tolerance of float outputs, 0 if all operators are exact."""
        return self.question.tolerance(self.oracle)

    @cached_property
    def left_out(self) -> LeftOut | None:
        """The elements that C++ leaves undefined; to find them, the network runs again."""
        question = self.question
        return undefined_outputs(question.network, question.samples, self.oracle.name)

    def against(self, outputs: Sequence[Arrays], steps: float = 0.0) -> OutputComparison:
        """Compare outputs; if they differ, without what C++ leaves undefined."""
        compared = self.compared(outputs, steps=steps)
        if not compared.mismatches or self.left_out is None:
            return compared
        return self.compared(outputs, self.left_out, steps)

    def compared(
        self, outputs: Sequence[Arrays], left_out: LeftOut | None = None, steps: float = 0.0
    ) -> OutputComparison:
        """Compare outputs, except the elements in `left_out`."""
        ours, golden = list(outputs), list(self.outputs)
        return compare(self.oracle.name, ours, golden, self.tolerance, left_out, steps)


Opinion = Answer | str | None
"""The other oracle's answer, the reason why it was skipped, or None if it has none."""


def answer(question: Question) -> Answer:
    """Return the answer that decides: the named oracle's, else of the first that has one.

    InputError for an oracle that does not apply to a network, UnsupportedError without any.
    """
    asked, own = question.asked, own_oracle(question.network)
    if own:
        if asked and asked != own.name:
            raise InputError(
                f"{ORACLES[asked].title} cannot run '{question.network.name}', which {own.title} "
                f"decides; leave out --oracle {asked}"
            )
        return _run(question, own)
    oracle = ORACLES[asked] if asked else DEFAULT
    try:
        return _run(question, oracle, "" if oracle is DEFAULT else "as --oracle asks")
    except UnsupportedError as refusal:
        if asked:
            raise
        second = _opinion(question, SECOND)
        return _instead(question, refusal, second)


def answer_twice(question: Question) -> tuple[Answer, Opinion]:
    """Return the answer that decides, and the other oracle's opinion.

    If the default oracle decides, both work at the same time; the other then has SECOND_S.
    """
    asked = question.asked
    if own_oracle(question.network):
        return answer(question), None
    if asked not in (None, DEFAULT.name):
        return answer(question), _opinion(question, DEFAULT)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(_run, question, DEFAULT)
        (second,) = awaited([pool.submit(_second_opinion, question)])
        try:
            (decisive,) = awaited([first])
        except UnsupportedError as refusal:
            if asked:
                raise
            if isinstance(second, str):  # now it may decide, with its full time limit
                second = _opinion(question, SECOND)
            return _instead(question, refusal, second), None
    return decisive, second


def _run(
    question: Question, oracle: Oracle, note: str = "", within_s: float | None = None
) -> Answer:
    return Answer(question, oracle, oracle.run(question.network, question.samples, within_s), note)


def _opinion(question: Question, oracle: Oracle) -> Answer | None:
    """Return an oracle's answer, None for a network that it cannot run."""
    try:
        return _run(question, oracle)
    except UnsupportedError as error:
        _LOG.info("%s", error)
        return None


def _second_opinion(question: Question) -> Opinion:
    try:
        return _run(question, SECOND, within_s=SECOND_S)
    except LateError as late:
        return str(late)
    except UnsupportedError:
        return None


def _instead(question: Question, refusal: UnsupportedError, second: Answer | None) -> Answer:
    """Return the answer that decides for a network that the default oracle refuses.

    It is the second oracle's. Where that differs from the answer operator by operator, each from
    the first oracle that has it, the latter decides: the generated code follows it.
    """
    note = str(refusal).partition(";")[0]
    try:
        pieces = take_apart(question.network, question.samples)
    except UnsupportedError as error:
        _LOG.info("%s", error)
        if second is None:
            raise refusal from None
        return replace(second, note=note)
    outputs = pieces.outputs
    if second is not None and not second.compared(outputs).mismatches:
        return replace(second, note=note)
    return Answer(question, MIXED, outputs, pieces.note)
