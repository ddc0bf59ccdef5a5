"""Pages that measurements write: tables, parts between marks, files of figures, what is missed."""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tests import ROOT

EVIDENCE = ROOT / "evidence"

console = Console(highlight=False, soft_wrap=True)


def row(cells: Iterable[str]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(cells)} |"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a table; all columns except the first `texts` are right-aligned."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join(row(cells) for cells in (head, rule, *rows))


def listed(title: str, lines: Sequence[str]) -> list[str]:
    """Return the lines of a list under its title, none without any."""
    return ["", title, "", *lines] if lines else []


def between(page: str, begin: str, end: str, text: str) -> str:
    """Return a page with another text between two marks; ValueError if they are missing."""
    before, first, rest = page.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the page has lost its marks {begin} and {end}")
    return f"{before}{begin}{text}{end}{after}"


def load(path: Path, empty: Any = None) -> Any:
    """Return the stored figures, `empty` if there are none."""
    return json.loads(path.read_text()) if path.exists() else empty


def store(path: Path, figures: Any) -> None:
    """Write figures."""
    path.write_text(json.dumps(figures, indent=1) + "\n")


def load_lines(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines of JSON that a run has written; the last may be cut off."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def add_line(path: Path, entry: dict[str, Any]) -> None:
    """Add a line of JSON to the file of a run that may be interrupted."""
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a network's file, its key in such a file."""
    return hashlib.sha256(data).hexdigest()


def tell(sentences: Sequence[str], verdict: str = "MISSED") -> int:
    """Write what is missed to stderr; return the exit status."""
    for sentence in sentences:
        sys.stderr.write(f"{verdict}  {sentence}\n")
    return 1 if sentences else 0
