"""Finds the operators for which Vela refuses a whole network, so that the CPU runs them instead.

For some operators Vela first says that the NPU runs them, and then that their parts "could not run
on NPU" (int8 comparisons, SELECT_V2); it names the part (And, NotEqual) and not the operator. So
the network is compiled repeatedly, with different operators kept from Vela, until those are found
without which it compiles. Each attempt takes some tenths of a second. If one operator is refused,
similar ones usually are too, so they are tried together.

The same search finds operators on which Vela crashes or hangs. Attempts then have less time, as
each wrong one uses up all of it.
"""

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

from ethosgen.backend.ethosu.offload.vela import DeathError
from ethosgen.values.errors import RefusalError

ATTEMPTS = 100
"""Limit of compilations for one network; log2(n) for each kind of operator are usual."""

LATE_S = 10.0
"""Time limit in seconds of an attempt after one that timed out: ten times what most need."""
SEARCH_S = 120.0
"""Time limit in seconds of the search; operators not tried by then count as refused."""
SUSPECTS = 3
"""After this many refused operators of a kind in a row, the rest of the kind is not tried."""

Made = TypeVar("Made")
Result_co = TypeVar("Result_co", covariant=True)


class Attempt(Protocol[Result_co]):
    """Compiles with operators kept on the CPU, each with its reason; raises RefusalError."""

    def __call__(self, kept: Mapping[int, str], limit_s: float | None = None, /) -> Result_co:
        """Return the compiled network, within the given number of seconds."""


def compile_around(
    attempt: Attempt[Made], kinds: Sequence[Hashable]
) -> tuple[Made, dict[int, str]]:
    """Compile a network; return the result and the operators that had to be kept.

    `kinds` has each operator's kind: if one is refused, others of its kind are suspects. Raises the
    first RefusalError if no choice of operators helps.
    """
    try:
        return attempt({}), {}
    except RefusalError as error:
        first = error
    is_late = isinstance(first, DeathError) and first.is_late
    search = _Search(attempt, kinds, LATE_S if is_late else None)
    if search.refusal(range(0)) is not None:
        raise first
    kept = search.culprits()
    try:
        return attempt(kept), kept
    except RefusalError:
        raise first from None


class _Search:
    """Finds refused operators one by one by bisection, and similar ones together."""

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
        """Whether all attempts or all time are used up."""
        return not self._left or time.monotonic() > self._end

    def refusal(self, offered: Collection[int]) -> str | None:
        """Compile with only these operators offered to Vela; return Vela's objection.

        When the search is spent, the offered operators count as refused.
        """
        if self.is_spent:
            return "not all operators that it refuses were found in time"
        self._left -= 1
        try:
            kept = {i: "" for i in range(self._count) if i not in offered}
            self._attempt(kept, self._limit_s)
        except RefusalError as error:
            return error.why
        return None

    def culprits(self) -> dict[int, str]:
        """Return the operators to keep, each with its reason."""
        found: dict[int, str] = {}
        while (said := self.refusal(self._without(found))) is not None:
            if self.is_spent:
                return found | dict.fromkeys(self._without(found), _reason(said))
            culprit, said = self._first(self._without(found), said)
            found[culprit] = _reason(said)
            found |= self._alike(found, culprit)
        return found

    def _without(self, kept: Collection[int]) -> list[int]:
        return [i for i in range(self._count) if i not in kept]

    def _first(self, operators: Sequence[int], said: str) -> tuple[int, str]:
        """Return the last operator of the shortest refused prefix of a refused list, and why."""
        fine, refused = 0, len(operators)
        while refused - fine > 1:
            middle = (fine + refused) // 2
            words = self.refusal(operators[:middle])
            fine, refused, said = (
                (middle, refused, said) if words is None else (fine, middle, words)
            )
        return operators[refused - 1], said

    def _alike(self, found: Mapping[int, str], culprit: int) -> dict[int, str]:
        """Return refused operators similar to a culprit; after some in a row, all remaining ones.

        Nothing if the network is refused even without all of them: then there is another cause.
        """
        kinds = self._kinds
        alike = [i for i in self._without(found) if kinds[i] == kinds[culprit]]
        rest = [i for i in self._without(found) if i not in alike]
        if not alike or self.refusal(rest) is not None:
            return {}
        kept: dict[int, str] = {}
        in_a_row = 0
        for index in alike:
            said = found[culprit]
            if in_a_row < SUSPECTS:
                words = self.refusal([*rest, index])
                if words is None:
                    rest.append(index)
                    in_a_row = 0
                    continue
                in_a_row, said = in_a_row + 1, _reason(words)
            kept[index] = said
        return kept


def _reason(said: str) -> str:
    return f"with it Vela refuses the whole network ({said})"
