"""The statements and branches of C that a run has reached."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ethosgen.values.grammar import counted


@dataclass(frozen=True)
class Statement:
    """A line of C with a statement: its number of runs, and that of each of its branches."""

    file: str
    function: str
    line: int
    count: int
    branches: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[str, str, int]:
        """Its file, function and line, which are the same in all runs."""
        return self.file, self.function, self.line


@dataclass(frozen=True)
class Gap:
    """Lines of a function that a run has not reached, or whose branches it has not all taken."""

    file: str
    function: str
    lines: tuple[int, ...]

    def text(self) -> str:
        """Return "ethosgen_pool.c pool(): 12-15, 20"."""
        return f"{self.file} {self.function}(): {', '.join(_ranges(self.lines))}"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {"file": self.file, "function": self.function, "lines": list(self.lines)}


@dataclass(frozen=True)
class CodeCoverage:
    """The coverage of some C; `statements` are in the order of files and lines.

    `unlinked` are the functions that the linker has left out of the firmware, by file.
    """

    statements: tuple[Statement, ...]
    unlinked: Mapping[str, tuple[str, ...]]

    @property
    def reached(self) -> int:
        """The number of statements that ran."""
        return sum(statement.count > 0 for statement in self.statements)

    @property
    def branches(self) -> int:
        """The number of branches, two for each condition."""
        return sum(len(statement.branches) for statement in self.statements)

    @property
    def taken(self) -> int:
        """The number of branches that were taken."""
        return sum(count > 0 for statement in self.statements for count in statement.branches)

    @property
    def unreached(self) -> list[Gap]:
        """The statements that never ran."""
        return _gaps(statement for statement in self.statements if not statement.count)

    @property
    def untaken(self) -> list[Gap]:
        """The statements that ran, but not with each of their branches."""
        return _gaps(s for s in self.statements if s.count and not all(s.branches))

    @property
    def files(self) -> dict[str, "CodeCoverage"]:
        """The coverage of each file."""
        by_file = groupby(self.statements, key=lambda statement: statement.file)
        return {file: CodeCoverage(tuple(own), {}) for file, own in by_file}

    def text(self) -> str:
        """Return the totals."""
        return (
            f"{_share(self.reached, len(self.statements), 'statement', 'statements')}, "
            f"{_share(self.taken, self.branches, 'branch', 'branches')}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "statements": len(self.statements),
            "reached": self.reached,
            "branches": self.branches,
            "taken": self.taken,
            "unreached": [gap.as_json() for gap in self.unreached],
            "untaken": [gap.as_json() for gap in self.untaken],
            "unlinked": {file: list(names) for file, names in self.unlinked.items()},
            "files": {
                file: {
                    "statements": len(own.statements),
                    "reached": own.reached,
                    "branches": own.branches,
                    "taken": own.taken,
                }
                for file, own in self.files.items()
            },
        }


def merged(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return the statements of several runs or files as one of each place, with its counts added.

    With other options a compiler makes other branches for a line, which cannot be paired. Then the
    version with the largest share of taken branches represents it.
    """
    known: dict[tuple[str, str, int], dict[int, Statement]] = {}
    for statement in statements:
        forms = known.setdefault(statement.place, {})
        before = forms.get(len(statement.branches))
        forms[len(statement.branches)] = _sum(before, statement) if before else statement
    joined = (_of_forms(list(forms.values())) for forms in known.values())
    return tuple(sorted(joined, key=lambda each: (each.file, each.line, each.function)))


def _sum(statement: Statement, other: Statement) -> Statement:
    pairs = zip(statement.branches, other.branches, strict=True)
    branches = tuple(first + second for first, second in pairs)
    return Statement(*statement.place, statement.count + other.count, branches)


def _of_forms(forms: Sequence[Statement]) -> Statement:
    """Return one statement for those of one place with different numbers of branches."""
    best = max((form.branches for form in forms), key=lambda own: (_taken(own), len(own)))
    return Statement(*forms[0].place, sum(form.count for form in forms), best)


def _taken(branches: Sequence[int]) -> float:
    """Return the share that was taken; a form without branches tells nothing about them."""
    return sum(map(bool, branches)) / len(branches) if branches else -1


def _gaps(statements: Iterable[Statement]) -> list[Gap]:
    lines: dict[tuple[str, str], list[int]] = {}
    for statement in statements:
        lines.setdefault((statement.file, statement.function), []).append(statement.line)
    return [Gap(file, function, tuple(own)) for (file, function), own in lines.items()]


def _ranges(lines: Sequence[int]) -> Iterator[str]:
    """Yield "12-15" for neighbours, and other lines alone."""
    for _, group in groupby(enumerate(lines), key=lambda pair: pair[1] - pair[0]):
        numbers = [line for _, line in group]
        yield f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"


def _share(part: int, whole: int, noun: str, plural: str) -> str:
    if not whole:
        return f"no {plural}"
    return f"{part:,} of {counted(whole, noun, plural)} ({100 * part / whole:.1f} %)"
