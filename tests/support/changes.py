"""What differs from a commit: files, requirements, and the tests that import a helper that differs.

Of pyproject.toml, each requirement whose line differs is listed too, as "pyproject.toml: NAME".
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import accumulate

from tests import ROOT

PYPROJECT = "pyproject.toml"
CHOOSER = "tests/conftest.py"
"""It imports helpers of every process; the table of parts names those that may break a test."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import) ((?:tests|bench)[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.MULTILINE
)
_REQUIREMENT = re.compile(r'^[-+]\s+"([A-Za-z][\w.-]*)[^"]*",', re.MULTILINE)


def git(*command: str) -> str | None:
    """Return the output of a git command, None if it fails or git is missing."""
    try:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def changes(commit: str) -> tuple[str, ...] | None:
    """Return the paths that differ from a commit, None if git does not know it."""
    listed = git("diff", "--name-only", "--no-renames", commit, "--")
    if listed is None:
        return None
    files = listed.splitlines()
    lines = git("diff", "--unified=0", commit, "--", PYPROJECT) or ""
    return (*files, *requirements(lines), *importers(files))


def requirements(lines: str) -> list[str]:
    """Return the requirements in the changed lines of pyproject.toml."""
    return [f"{PYPROJECT}: {name}" for name in sorted({*_REQUIREMENT.findall(lines)})]


def importers(files: Iterable[str]) -> list[str]:
    """Return the files of tests and of the bench that import these, by however many steps."""
    users: dict[str, set[str]] = {}
    for folder in ("tests", "bench"):
        for path in (ROOT / folder).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            for module in _imports_of(path.read_text()) if name != CHOOSER else ():
                users.setdefault(module, set()).add(name)
    reached: dict[str, None] = {}
    pending = [path for path in files if path.startswith(("tests/", "bench/"))]
    while pending:
        module = pending.pop().removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        new = users.get(module, set()) - reached.keys()
        reached |= dict.fromkeys(sorted(new))
        pending += new
    return [*reached]


def _imports_of(text: str) -> Iterator[str]:
    """Yield the modules that a file imports, the packages around them, and names from them."""
    for module, names in _IMPORT.findall(text):
        yield from accumulate(module.split("."), "{}.{}".format)
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))
