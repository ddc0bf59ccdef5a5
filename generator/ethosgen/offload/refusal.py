"""Finds the operators for which Vela refuses a whole network, so that the CPU gets them instead.

Vela says of some operators first that the NPU runs them, and then that their parts "could not run
on NPU" (int8 comparisons, SELECT_V2); it names the part (And, NotEqual) and not the operator. So
the network is compiled again and again, with ever other operators kept from Vela, until those are
found without which it compiles. Each attempt takes some hundredths of a second.

The same finds the operators that end Vela, or from which it does not come back. Then the attempts
have less time, as each that is wrong takes all of it.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from ethosgen.errors import RefusalError
from ethosgen.offload.vela import DeathError

ATTEMPTS = 100
"""The most compilations for one network; some five are usual, and twice log2(n) for each find."""

LATE_S = 10.0
"""Seconds for an attempt after one that did not come back: ten times what most networks take."""
SEARCH_S = 120.0
"""Seconds after which what is not tried yet counts as refused."""

Made = TypeVar("Made")
Result_co = TypeVar("Result_co", covariant=True)


class Attempt(Protocol[Result_co]):
    """Compiles with operators kept on the CPU, each with its reason; raises RefusalError."""

    def __call__(self, kept: Mapping[int, str], limit_s: float | None = None, /) -> Result_co:
        """Return what was made, within so many seconds."""


def compile_around(attempt: Attempt[Made], count: int) -> tuple[Made, dict[int, str]]:
    """Compile a network of so many operators; return what was made, and what had to be kept.

    RefusalError, the first one, where no choice of operators helps.
    """
    try:
        return attempt({}), {}
    except RefusalError as error:
        first = error
    is_late = isinstance(first, DeathError) and first.is_late
    search = _Search(attempt, count, LATE_S if is_late else None)
    if search.refusal(range(0)) is not None:
        raise first
    kept = search.culprits(range(count))
    try:
        return attempt(kept), kept
    except RefusalError:
        raise first from None


class _Search:
    """Halves a network until what is refused is one operator."""

    def __init__(self, attempt: Attempt[object], count: int, limit_s: float | None) -> None:
        self._attempt = attempt
        self._limit_s = limit_s
        self._end = time.monotonic() + SEARCH_S
        self._count = count
        self._left = ATTEMPTS

    def refusal(self, offered: Collection[int]) -> str | None:
        """Compile with nothing but these operators offered to Vela; return what it says against.

        When all attempts or all time is spent, what is offered counts as refused.
        """
        if not self._left or time.monotonic() > self._end:
            return "not all that it refuses was found in time"
        self._left -= 1
        try:
            kept = {i: "" for i in range(self._count) if i not in offered}
            self._attempt(kept, self._limit_s)
        except RefusalError as error:
            return error.why
        return None

    def culprits(self, operators: Sequence[int]) -> dict[int, str]:
        """Return the operators to keep of some, each with its reason."""
        said = self.refusal(operators)
        if said is None:
            return {}
        if len(operators) > 1:
            middle = len(operators) // 2
            found = self.culprits(operators[:middle]) | self.culprits(operators[middle:])
            if found and self.refusal([i for i in operators if i not in found]) is None:
                return found
        return dict.fromkeys(operators, f"with it Vela refuses the whole network ({said})")
