"""Chooses what runs of the parts of the suite: by the options, the commit and what has changed."""

import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.changes import changes, git
from tests.support.parts import EVERYWHERE, HEAVY, PARTS, REQUIREMENTS, Part, part_of

TESTED = ROOT / ".ci" / "tested"
"""The commit at which every test passed. Lines below it have a later commit at which all tests of a
part passed, and the part's name."""
EIGHTHS = 8
WHOLE_PARTS = 4
"""A change that touches no more parts runs the whole of each; one that touches all, an eighth."""


def is_touched(part: Part, changed: Sequence[str] | None) -> bool:
    """Return whether changed files may break a part; None stands for an unknown change."""
    starts = (*part.sources, *(() if part.is_drawn else (REQUIREMENTS,)))
    return changed is None or any(
        path.startswith(starts) or part_of(path) == part for path in changed
    )


def is_everywhere(changed: Sequence[str] | None) -> bool:
    """Return whether changed files are below all parts."""
    return changed is None or any(path.startswith(EVERYWHERE) for path in changed)


def is_drawn(part: Part, test: str, commit: str, eighths: int) -> bool:
    """Return whether a test, or the file of tests, is in the eighths that a commit chooses."""
    drawn = test if part.is_drawn else test.partition("::")[0]
    return (zlib.crc32(drawn.encode()) - int(commit or "0", 16)) % EIGHTHS < eighths


def eighths_of(part: Part, changed: Sequence[str] | None) -> int:
    """Return how many eighths of a part's heavy tests a change runs."""
    if is_touched(part, changed):
        least = EIGHTHS // 4 if part.is_drawn else 1
        return EIGHTHS if part.runs_whole else max(least, eighths_of_touched(changed))
    return eighths_of_untouched(part, changed)


def eighths_of_untouched(part: Part, changed: Sequence[str] | None) -> int:
    """Return how many eighths of a part run after a change of others."""
    if part.is_drawn:
        return EIGHTHS // 4
    return 1 if is_everywhere(changed) else 0


def eighths_of_touched(changed: Sequence[str] | None) -> int:
    """Return how many eighths of each touched part run: all, if at most four are touched."""
    touched = sum(is_touched(part, changed) for part in PARTS)
    return EIGHTHS if changed is None else min(EIGHTHS, EIGHTHS * WHOLE_PARTS // max(1, touched))


def is_chosen(part: Part, test: str, commit: str, changed: Sequence[str] | None) -> bool:
    """Return whether a heavy test runs after a change."""
    return is_drawn(part, test, commit, eighths_of(part, changed))


def is_core(part: Part, test: str, commit: str) -> bool:
    """Return whether `make test` runs a heavy test of a part."""
    names = (test.partition("::")[0], test.partition("[")[0], test)
    is_named = any(name in part.core for name in names)
    return is_named or (part.is_drawn and is_drawn(part, test, commit, 1))


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addoption("--core", action="store_true", help="leave out the heavy tests of all parts")
    parser.addoption(
        "--changed",
        action="store_true",
        help=f"leave out the parts that no change since {TESTED.relative_to(ROOT)} touches",
    )


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options say, and put the costly files first.

    The processes take files in this order, so none is left with a costly one at the end.
    """
    if config.getoption("--core") or config.getoption("--changed"):
        left_out = {item for item in items if not _is_chosen(config, item)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=[*left_out])
    heavy = Counter(item.path for item in items if _is_heavy(item))
    items.sort(key=lambda item: -heavy[item.path])


def _is_heavy(item: pytest.Item) -> bool:
    return any(marker.name in HEAVY for marker in item.iter_markers())


def _is_chosen(config: pytest.Config, item: pytest.Item) -> bool:
    part = part_of(item.path.relative_to(ROOT).as_posix()) if _is_heavy(item) else None
    return part is None or runs(config, part, item.nodeid)


def runs(config: pytest.Config, part: Part, test: str) -> bool:
    """Return whether the options let a heavy test of a part run."""
    if config.getoption("--core"):
        return is_core(part, test, _commit())
    return not config.getoption("--changed") or is_drawn(part, test, _commit(), _eighths(part))


@cache
def _eighths(part: Part) -> int:
    """Return the eighths that run after the change."""
    _, later = commits_of_tested(TESTED.read_text() if TESTED.is_file() else "")
    since = changes(later[part.name]) if part.name in later else None
    if since is not None and not is_touched(part, since):
        return eighths_of_untouched(part, _changes())
    return eighths_of(part, _changes())


@cache
def _commit() -> str:
    """Return the checked-out commit, "" without git."""
    return (git("rev-parse", "HEAD") or "").strip()


@cache
def _changes() -> tuple[str, ...] | None:
    """Return the paths that differ from the last tested commit, None if it is unknown."""
    tested, _ = commits_of_tested(TESTED.read_text() if TESTED.is_file() else "")
    return changes(tested) if tested else None


def commits_of_tested(text: str) -> tuple[str, dict[str, str]]:
    """Return the commit at which all tests passed, and later ones by the names of parts."""
    first, *others = [line.split(maxsplit=1) for line in text.splitlines()] or [[""]]
    return first[0], {name: commit for commit, name in others}


def note_tested() -> None:
    """Write the commit where everything passed; an edited tree has none."""
    if git("status", "--porcelain", "--untracked-files=no") == "":
        Path(TESTED).write_text(f"{_commit()}\n")
        print(f"commit {TESTED.relative_to(ROOT)}: everything passed at {_commit()[:12]}")


def needs_of(changed: Sequence[str] | None, commit: str) -> list[str]:
    """Return the targets of make that install what the tests that a change runs need."""
    parts = [part for part in PARTS if part.needs and eighths_of(part, changed)]
    running = [
        part
        for part in parts
        if any(is_chosen(part, file, commit, changed) for file in files(part))
    ]
    return sorted({need for part in running for need in part.needs})


def files(part: Part) -> list[str]:
    """Return the files of a part's tests, from the root."""
    paths = [
        path
        for start in map(ROOT.joinpath, part.tests)
        for path in (start.rglob("test_*.py") if start.is_dir() else [start])
    ]
    return [path.relative_to(ROOT).as_posix() for path in paths]


if __name__ == "__main__":
    if "--needs" in sys.argv:
        print(*needs_of(_changes() if "--changed" in sys.argv else None, _commit()))
    else:
        note_tested()
