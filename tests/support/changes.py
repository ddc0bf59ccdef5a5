"""What differs from a commit: files, requirements, and the tests that import a helper that differs.

Of pyproject.toml, each requirement whose line differs is listed too, as "pyproject.toml: NAME".
"""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests import ROOT

PYPROJECT = "pyproject.toml"
CHOOSER = "tests/conftest.py"
"""It imports helpers of every process; the table of parts names those that may break a test."""
_REQUIREMENT = re.compile(r'^[-+]\s+"([A-Za-z][\w.-]*)[^"]*",', re.MULTILINE)


def git(*command: str) -> str | None:
    """Return what git prints, None if it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def changes(commit: str) -> tuple[str, ...] | None:
    """Return what differs from a commit, None if git does not know it."""
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
    pending = [path for path in files if path.startswith(("tests/", "bench/"))]
    folders = (ROOT / "tests", ROOT / "bench")
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for folder in folders
        for path in folder.rglob("*.py")
    }
    reached: dict[str, None] = {}
    while pending:
        statement = _import_of(pending.pop())
        new = [
            path
            for path, text in sources.items()
            if path not in reached and path != CHOOSER and statement.search(text)
        ]
        reached |= dict.fromkeys(new)
        pending += new
    return [*reached]


def _import_of(path: str) -> re.Pattern[str]:
    """Return what finds an import of a module: `a.b.c`, or `c` from `a.b`."""
    package, _, name = ".".join(Path(path).with_suffix("").parts).rpartition(".")
    if name == "__init__":
        package, _, name = package.rpartition(".")
    package, name = re.escape(package), re.escape(name)
    from_package = rf"from {package} import (?:\([^)]*|[^(\n]*)\b{name}\b"
    return re.compile(rf"^\s*(?:from|import) {package}\.{name}\b|^\s*{from_package}", re.MULTILINE)
