"""cppcheck's MISRA addon on C files: every finding by its column; equal files are checked once."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADVISORY = frozenset(
    "1.2 2.3 2.4 2.5 2.6 2.7 2.8 4.2 5.9 8.7 8.9 8.11 8.13 8.15 8.16 10.5 11.4 11.5 12.1 12.3 12.4 "
    "13.3 13.4 15.1 15.4 15.5 17.5 17.8 17.11 17.12 18.4 18.5 19.2 20.1 20.5 20.10 21.12".split()
)
"""The advisory rules of MISRA C:2012 with its amendments; all others are required or mandatory."""
MANDATORY = frozenset(
    "9.1 12.5 13.6 17.3 17.4 17.6 17.9 19.1 21.13 21.17 21.18 21.19 21.20 21.22 22.2 22.4 22.5 "
    "22.6 22.20".split()
)

_COMPILER = ("__GNUC__=12", "__OPTIMIZE__=1", "__arm__=1", "__thumb__=1")
_OPTIONS = ("--std=c11", "--platform=arm32-wchar_t4")
_FOLDERS = ("lib/*/cppcheck", "share/cppcheck", "share/Cppcheck", "local/share/Cppcheck")
"""Where systems install cppcheck's addons, under /usr."""
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[\"<](?:[^\">]*/)?([^\">/]+)[\">]", re.MULTILINE)
_UNREAD = re.compile(r"\b(syntaxError|internalError|unknownMacro|preprocessorErrorDirective)\b")


@dataclass(frozen=True, order=True)
class MisraFinding:
    """A place where cppcheck finds that a rule is broken."""

    file: str
    line: int
    column: int
    rule: str

    @property
    def is_advisory(self) -> bool:
        """Whether the rule needs no deviation."""
        return self.rule in ADVISORY


@dataclass(frozen=True)
class _Checked:
    """A file's findings, and what the addon's check of all files reads of it."""

    findings: frozenset[MisraFinding]
    summary: tuple[str, ...]


class MisraCheck:
    """Checks files of several folders; one that is as in another folder is not checked again."""

    def __init__(self) -> None:
        self._known: dict[str, _Checked] = {}
        self._addon = _addon()
        self.runs = 0

    def findings(
        self, folder: Path, files: Sequence[Path], macros: Sequence[str]
    ) -> frozenset[MisraFinding]:
        """Return the findings in files and in the headers of a folder, which belong together."""
        headers: dict[str, list[Path]] = {}
        for header in sorted(folder.rglob("*.h")):
            headers.setdefault(header.name, []).append(header)
        keys = {file: _key(file, headers, (*_COMPILER, *macros)) for file in files}
        new = {key: file for file, key in keys.items() if key not in self._known}
        paths = sorted({header.parent for group in headers.values() for header in group})
        self.runs += len(new)
        with ThreadPoolExecutor(2) as pool:
            checked = pool.map(lambda file: self._check(file, paths, macros), new.values())
            self._known.update(zip(new, checked, strict=True))
        checks = [self._known[key] for key in keys.values()]
        lines = [line for check in checks for line in check.summary]
        return frozenset().union(*(check.findings for check in checks), self._across(folder, lines))

    def _check(self, file: Path, paths: Iterable[Path], macros: Sequence[str]) -> _Checked:
        command = ["cppcheck", "-q", "--dump", *_OPTIONS, "--template={id}"]
        command += [f"-I{path}" for path in paths]
        command += [*(f"-D{macro}" for macro in (*_COMPILER, *macros)), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        unread = set(_UNREAD.findall(done.stderr))
        assert not unread, f"cppcheck cannot read {file.name}: {', '.join(unread)}"
        summary = Path(f"{file}.ctu-info")
        summary.unlink(missing_ok=True)
        findings = self._run(Path(f"{file}.dump"))
        # A file without code, such as one for another build, has no summary.
        lines = summary.read_text().splitlines() if summary.exists() else []
        return _Checked(findings, tuple(json.dumps(_named(json.loads(line))) for line in lines))

    def _across(self, folder: Path, lines: Sequence[str]) -> frozenset[MisraFinding]:
        """Return the findings that only several files together show."""
        summary = folder / "all.ctu-info"
        summary.write_text("\n".join(lines))
        return self._run(summary)

    def _run(self, data: Path) -> frozenset[MisraFinding]:
        command = [sys.executable, str(self._addon), "--cli", str(data)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return frozenset(
            MisraFinding(
                Path(record["file"]).name,
                record["linenr"],
                record["column"],
                record["errorId"].removeprefix("c2012-"),
            )
            for record in records
        )


def _addon() -> Path:
    places = [place for at in _FOLDERS for place in Path("/usr").glob(f"{at}/addons/misra.py")]
    assert places, "cppcheck's addon misra.py is not in /usr"
    return places[0]


def _key(file: Path, headers: Mapping[str, Sequence[Path]], macros: Sequence[str]) -> str:
    """Return a digest of all that the findings in a file follow from."""
    texts = [path.read_text() for path in _with_headers(file, headers)]
    words = set(re.findall(r"\w+", "\n".join(texts)))
    used = [macro for macro in macros if re.split(r"[=(]", macro)[0] in words]
    return hashlib.sha256(json.dumps([file.name, used, texts]).encode()).hexdigest()


def _with_headers(file: Path, headers: Mapping[str, Sequence[Path]]) -> list[Path]:
    """Return a file and the headers that it includes, by their names."""
    paths, left = [], [file]
    while left:
        path = left.pop()
        if path not in paths:
            paths.append(path)
            names = _INCLUDE.findall(path.read_text())
            left += [header for name in names for header in headers.get(name, ())]
    return paths


def _named(data: Any) -> Any:
    """Return a summary with names of files instead of paths, which differ between folders."""
    if isinstance(data, dict):
        return {
            key: Path(value).name if key == "file" else _named(value) for key, value in data.items()
        }
    return [_named(item) for item in data] if isinstance(data, list) else data
