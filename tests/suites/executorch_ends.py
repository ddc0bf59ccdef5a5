"""How ExecuTorch's tests ended, over several sessions, in the order that a seed draws.

The log of a session is not in the repository, but the ends are, in evidence/suites: a line about
the order, and then a letter for each of its tests.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.suites.page import RECORDS

PASSED, EXPECTED, SKIPPED, DIFFERENT = "passed", "fails as expected", "skipped", "different"
_LETTERS = {PASSED: "p", EXPECTED: "x", SKIPPED: "s", DIFFERENT: "D"}
_ENDS = {letter: end for end, letter in _LETTERS.items()}
_NOT_RUN = "."
_LINE = 80
"""Letters in a line."""
ENDS = RECORDS / "executorch_ends.txt"


def load_ends(path: Path, version: str, order: Sequence[str]) -> dict[str, str]:
    """Return how each test ended; empty if the file is for another order or version."""
    title, *lines = path.read_text().splitlines() if path.exists() else [""]
    if title != _title(version, order):
        return {}
    letters = zip(order, "".join(lines), strict=True)
    return {name: _ENDS[letter] for name, letter in letters if letter != _NOT_RUN}


def store_ends(path: Path, version: str, order: Sequence[str], ends: Mapping[str, str]) -> None:
    """Write how each test ended."""
    letters = "".join(_LETTERS[ends[name]] if name in ends else _NOT_RUN for name in order)
    lines = (letters[start : start + _LINE] for start in range(0, len(letters), _LINE))
    path.write_text("\n".join([_title(version, order), *lines]) + "\n")


def stretches(order: Sequence[str], ends: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of the order that have run: the first and the last place, from 1."""
    start: int | None = None
    for place, name in enumerate([*order, ""]):
        if name in ends:
            start = place if start is None else start
        elif start is not None:
            yield start + 1, place
            start = None


def _title(version: str, order: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(order).encode()).hexdigest()
    return f"{version}, {len(order)} tests in the order {digest[:16]}"
