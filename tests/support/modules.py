"""Imports the files of tests, but not those of which nothing runs.

Each process of a run begins with other files: the first one to import a file rewrites its
assertions and stores the result. If all began with the same file, each would rewrite all of them.
"""

import contextlib
import importlib
import re
from pathlib import Path

import pytest

from tests import ROOT
from tests.support import choice, needs
from tests.support.needs import extra_of
from tests.support.parts import HEAVY, part_of

_MARKED = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)
_HEAVY = HEAVY | {name for name, mark in vars(needs).items() if getattr(mark, "name", "") in HEAVY}
"""Markers, and the names by which tests import them."""


def is_left_out(config: pytest.Config, path: Path) -> bool:
    """Return whether nothing of a file runs: all of it is heavy, and its part leaves it out."""
    file = path.relative_to(ROOT).as_posix()
    part = part_of(file) if path.match("test_*.py") else None
    if part is None or part.is_drawn or any(name.startswith(file) for name in part.core):
        return False
    return not choice.runs(config, part, file) and is_heavy(path.read_text())


def is_heavy(text: str) -> bool:
    """Return whether a file marks all its tests as heavy."""
    marked = _MARKED.search(text)
    return marked is not None and not _HEAVY.isdisjoint(re.findall(r"\w+", marked[1]))


def import_share(config: pytest.Config) -> None:
    """Import the share of this process, if it is one of several that run the whole suite."""
    worker = getattr(config, "workerinput", None)
    if worker and config.args == config.getini("testpaths"):
        files = sorted(Path(ROOT, "tests").rglob("test_*.py"))
        first = int(worker["workerid"].removeprefix("gw"))
        for path in files[first :: worker["workercount"]]:
            if not is_left_out(config, path):
                with contextlib.suppress(Exception, pytest.skip.Exception):
                    import_file(path)


def import_file(path: Path) -> None:
    """Import a file of tests, as pytest does."""
    importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def lacking(path: Path) -> str | None:
    """Return what to install if a file imports a package of a missing extra, else None.

    pytest's own import describes the error at length, which takes longer than most imports.
    """
    try:
        import_file(path)
    except ModuleNotFoundError as error:
        return extra_of(error)
    except Exception:  # pytest imports it again, and shows the error
        return None
    return None
