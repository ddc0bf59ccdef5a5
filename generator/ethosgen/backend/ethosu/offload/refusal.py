"""Find the operators for which Vela refuses a whole network, to run them on the CPU.

For some operators (int8 comparisons, SELECT_V2) Vela first reports that the NPU supports them, and
then that their parts "could not run on NPU"; it names the part (And, NotEqual), not the operator.
So the network is compiled repeatedly without different operators, until the ones to omit are found.
Each attempt takes some tenths of a second. If one operator is refused, similar ones usually are
too, so they are tried together.

The same search finds operators on which Vela crashes or hangs. Attempts then have a shorter time
limit, since each failed one uses it up.
"""

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

from ethosgen.backend.ethosu.offload.vela import DeathError
from ethosgen.values.errors import RefusalError

ATTEMPTS = 100
"""Most compilations for one network; log2(n) for each kind of operator are usual."""

LATE_S = 10.0
"""Time limit in seconds of an attempt after one that timed out: ten times the usual time."""
SEARCH_S = 120.0
"""Time limit in seconds of the search; operators not tried by then count as refused."""
SUSPECTS = 3
"""After this many refused operators of a kind in a row, the rest of the kind is not tried."""

Made = TypeVar("Made")
Result_co = TypeVar("Result_co", covariant=True)


class Attempt(Protocol[Result_co]):
    """Compiles a network without refused operators, each with its reason."""

    def __call__(self, refused: Mapping[int, str], limit_s: float | None = None, /) -> Result_co:
        """Return the compiled network within `limit_s` seconds; RefusalError if Vela refuses."""


def compile_around(
    attempt: Attempt[Made], kinds: Sequence[Hashable]
) -> tuple[Made, dict[int, str]]:
    """Compile a network; return the result and the operators that had to be left out.

    `kinds` has each operator's kind: if one is refused, others of its kind are tried too. Raises
    the first RefusalError if no choice of operators helps.
    """
    try:
        return attempt({}), {}
    except RefusalError as error:
        first = error
    is_late = isinstance(first, DeathError) and first.is_late
    search = _Search(attempt, kinds, LATE_S if is_late else None)
    if search.refusal(range(0)) is not None:
        raise first
    refused = search.culprits()
    try:
        return attempt(refused), refused
    except RefusalError:
        raise first from None


class _Search:
    """Finds refused operators one by one by bisection, similar ones together."""

    def __init__(
        self, attempt: Attempt[object], kinds: Sequence[Hashable], limit_s: float | None
    ) -> None:
        self._attempt = attempt
        self._kinds = kinds
        self._limit_s = limit_s
        self._end = time.monotonic() + SEARCH_S
        self._count = len(kinds)
        self._left = ATTEMPTS

    @property
    def is_spent(self) -> bool:
        """Whether the attempts or the time are used up."""
        return not self._left or time.monotonic() > self._end

    def refusal(self, offered: Collection[int]) -> str | None:
        """Compile with only these operators offered to Vela; return Vela's objection.

        When the search is spent, the offered operators count as refused.
        """
        if self.is_spent:
            return "the time was too short to find all operators that it refuses"
        self._left -= 1
        try:
            left_out = {i: "" for i in range(self._count) if i not in offered}
            self._attempt(left_out, self._limit_s)
        except RefusalError as error:
            return error.why
        return None

    def culprits(self) -> dict[int, str]:
        """Return the operators to leave out, each with its reason."""
        refused: dict[int, str] = {}
        while (message := self.refusal(self._without(refused))) is not None:
            if self.is_spent:
                return refused | dict.fromkeys(self._without(refused), _reason(message))
            culprit, message = self._first(self._without(refused), message)
            refused[culprit] = _reason(message)
            refused |= self._alike(refused, culprit)
        return refused

    def _without(self, refused: Collection[int]) -> list[int]:
        return [i for i in range(self._count) if i not in refused]

    def _first(self, operators: Sequence[int], message: str) -> tuple[int, str]:
        """Return the last operator of the shortest refused prefix of a list, and the reason."""
        fine, refused = 0, len(operators)
        while refused - fine > 1:
            middle = (fine + refused) // 2
            words = self.refusal(operators[:middle])
            fine, refused, message = (
                (middle, refused, message) if words is None else (fine, middle, words)
            )
        return operators[refused - 1], message

    def _alike(self, known: Mapping[int, str], culprit: int) -> dict[int, str]:
        """Return refused operators of a culprit's kind; after several in a row, all the rest.

        Return none if the network is refused even without all of them: the cause is another.
        """
        kinds = self._kinds
        alike = [i for i in self._without(known) if kinds[i] == kinds[culprit]]
        rest = [i for i in self._without(known) if i not in alike]
        if not alike or self.refusal(rest) is not None:
            return {}
        refused: dict[int, str] = {}
        in_a_row = 0
        for index in alike:
            message = known[culprit]
            if in_a_row < SUSPECTS:
                words = self.refusal([*rest, index])
                if words is None:
                    rest.append(index)
                    in_a_row = 0
                    continue
                in_a_row, message = in_a_row + 1, _reason(words)
            refused[index] = message
        return refused


def _reason(message: str) -> str:
    return f"with it Vela refuses the whole network ({message})"
