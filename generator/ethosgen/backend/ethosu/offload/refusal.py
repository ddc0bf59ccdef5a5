"""Finds the operators for which Vela refuses a whole network, so that the CPU gets them instead.

Vela says of some operators first that the NPU runs them, and then that their parts "could not run
on NPU" (int8 comparisons, SELECT_V2); it names the part (And, NotEqual) and not the operator. So
the network is compiled again and again, with ever other operators kept from Vela, until those are
found without which it compiles. Each attempt takes some tenths of a second. Where one operator is
refused, those like it mostly are too, so that they are looked at together.

The same finds the operators that end Vela, or from which it does not come back. Then the attempts
have less time, as each that is wrong takes all of it.
"""

import time
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol, TypeVar

from ethosgen.backend.ethosu.offload.vela import DeathError
from ethosgen.values.errors import RefusalError

ATTEMPTS = 100
"""The most compilations for one network; log2(n) for each kind of operator are usual."""

LATE_S = 10.0
"""Seconds for an attempt after one that did not come back: ten times what most networks take."""
SEARCH_S = 120.0
"""Seconds after which what is not tried yet counts as refused."""
SUSPECTS = 3
"""So many refused ones of a kind in a row, and the others of that kind are not tried any more."""

Made = TypeVar("Made")
Result_co = TypeVar("Result_co", covariant=True)


class Attempt(Protocol[Result_co]):
    """Compiles with operators kept on the CPU, each with its reason; raises RefusalError."""

    def __call__(self, kept: Mapping[int, str], limit_s: float | None = None, /) -> Result_co:
        """Return the compiled network, within the given number of seconds."""


def compile_around(
    attempt: Attempt[Made], kinds: Sequence[Hashable]
) -> tuple[Made, dict[int, str]]:
    """Compile a network; return what was made, and what had to be kept.

    `kinds` says what each operator is: where one is refused, others of its kind are suspects.
    RefusalError, the first one, where no choice of operators helps.
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
    """Finds refused operators one after the other, each by halving, and those like them at once."""

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
        """Whether all attempts or all time is gone."""
        return not self._left or time.monotonic() > self._end

    def refusal(self, offered: Collection[int]) -> str | None:
        """Compile with nothing but these operators offered to Vela; return what it says against.

        When the search is spent, what is offered counts as refused.
        """
        if self.is_spent:
            return "not all that it refuses was found in time"
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
        """Return the operator that ends the shortest refused start of a refused list, and why."""
        fine, refused = 0, len(operators)
        while refused - fine > 1:
            middle = (fine + refused) // 2
            words = self.refusal(operators[:middle])
            fine, refused, said = (
                (middle, refused, said) if words is None else (fine, middle, words)
            )
        return operators[refused - 1], said

    def _alike(self, found: Mapping[int, str], culprit: int) -> dict[int, str]:
        """Return those like a culprit that are refused too; after some in a row, all that are left.

        Nothing where the network is refused without all of them as well: there is another cause.
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
