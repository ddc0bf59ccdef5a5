"""Which statements of the kernels in templates/kernels the tests reach.

    .venv/bin/python -m tests.support.kernel_coverage            # writes the page
    .venv/bin/python -m tests.support.kernel_coverage FOLDER [TEST…]

It runs the kernels' tests with GCC's counters: in C on this machine, and as firmware on QEMU, which
has what needs Helium, DSP instructions or Thumb. A statement is a line of C for which the compiler
makes code; it counts as reached if one of the runs reaches it. Exit status 1 if a statement is
neither reached nor named in EXCEPTIONS, or if a test fails.

With a folder, it adds the counts of the tests that are named to those that are there; without
tests it only writes the page.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ethosgen.host.resources import template_folder
from ethosgen.toolchain.coverage import read_gcov, statements_of
from ethosgen.values.coverage import CodeCoverage, Statement, merged
from tests import ROOT
from tests.support import kernel_files
from tests.support.kernel_files import VARIABLE, are_counted

PAGE = ROOT / "evidence" / "kernel_coverage.md"
COMMAND = "python -m tests.support.kernel_coverage"
TESTS = (
    "tests/aot/libraries",
    "tests/aot/rows/test_parts.py",
    *(f"tests/aot/test_{name}.py" for name in ("fetches", "signals", "twins")),
)
OWN = "tests/aot/libraries/test_coverage.py"
"""Compares the page with the kernels, so it fails until the page is written."""
DIGITS = 16
"""Digits of a digest in the page."""
DUMP = """
#ifdef COUNTED
void __gcov_dump(void);
void __gcov_reset(void);
#endif
void dump_counts(void);
void dump_counts(void)
{
#ifdef COUNTED
    __gcov_dump();
    __gcov_reset();
#endif
}
"""
"""C of a test's library that writes its counts, and adds them to those of the runs before."""

EXCEPTIONS: dict[str, dict[str, str]] = {
    "ethosgen_dsp_math.h": {
        "static inline uint32_t ethosgen_dsp_least(uint32_t a, uint32_t b)": (
            "GCC inlines it: its body is reached, and the line of its name has a count of its own"
        ),
    },
}
"""Why no test reaches a statement, by file and by the text of its line."""

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A kernel's file: what ran of it, and the lines that no test reaches, with their text."""

    file: str
    digest: str
    coverage: CodeCoverage
    unreached: tuple[tuple[int, str], ...]

    @property
    def excepted(self) -> list[tuple[int, str]]:
        """The lines that no test reaches for a known reason."""
        return [(n, text) for n, text in self.unreached if text in EXCEPTIONS.get(self.file, {})]

    @property
    def missing(self) -> list[tuple[int, str]]:
        """The lines that no test reaches, without a reason."""
        excepted = self.excepted
        return [line for line in self.unreached if line not in excepted]


def folder_of_counts() -> Path | None:
    """Make a folder for a library with counters; None if the tests do not count."""
    return _fresh("host") if are_counted() else None


def host_flags() -> list[str]:
    """Return the compiler's options for a library on this machine."""
    return ["--coverage", "-DCOUNTED"] if are_counted() else []


def keep(coverage: CodeCoverage | None) -> None:
    """Store the counts of a firmware, if the tests count."""
    if coverage is not None:
        rows = [[s.file, s.line, s.count, s.branches] for s in coverage.statements]
        (_fresh("qemu") / "counts.json").write_text(json.dumps(rows))


def _fresh(kind: str) -> Path:
    folder = Path(os.environ[VARIABLE]) / kind / uuid.uuid4().hex
    folder.mkdir(parents=True)
    return folder


def digest_of(text: str) -> str:
    """Return a digest of C that comments and spaces do not change."""
    code = "".join(_COMMENT.sub(" ", text).split())
    return hashlib.sha256(code.encode()).hexdigest()[:DIGITS]


def kernels() -> dict[str, str]:
    """Return the C of each kernel's file by its name, as a project gets it."""
    files = template_folder("kernels").rglob("*.c")
    texts = kernel_files.headers() | {file.name: file.read_text() for file in files}
    return dict(sorted(texts.items()))


def read_counts(folder: Path) -> CodeCoverage:
    """Return what all runs that a folder has reached, a statement for each line.

    Runs have other options of the compiler, and a macro or a header makes several functions of a
    line: the line counts once, with the counts of all.
    """
    return CodeCoverage(merged((*_host(folder / "host"), *_qemu(folder / "qemu"))), {})


def _host(folder: Path) -> Iterator[Statement]:
    for place in folder.glob("*"):
        counters = sorted(place.glob("*ethosgen_*.gcda"))
        for report in read_gcov(Path("gcov"), counters):
            for each in statements_of(report, place.resolve()):
                yield replace(each, function="")


def _qemu(folder: Path) -> Iterator[Statement]:
    for path in folder.glob("*/counts.json"):
        for name, line, count, branches in json.loads(path.read_text()):
            yield Statement(Path(name).name, "", line, count, tuple(branches))


def rows_of(coverage: CodeCoverage) -> list[Row]:
    """Return a row for each kernel's file."""
    nothing, files = CodeCoverage((), {}), coverage.files
    return [_row(file, text, files.get(file, nothing)) for file, text in kernels().items()]


def _row(file: str, text: str, coverage: CodeCoverage) -> Row:
    lines = text.splitlines()
    unreached = [(s.line, lines[s.line - 1].strip()) for s in coverage.statements if not s.count]
    return Row(file, digest_of(text), coverage, tuple(unreached))


def digests(page: str) -> dict[str, str]:
    """Return the digests that a page has for the files."""
    return dict(re.findall(rf"^\| `(\S+)` \|.*\| `([0-9a-f]{{{DIGITS}}})` \|$", page, re.MULTILINE))


def render(rows: list[Row]) -> str:
    """Return the page."""
    total = sum(len(row.coverage.statements) for row in rows)
    excepted, missing = (sum(map(len, part)) for part in zip(*map(_parts, rows), strict=True))
    parts = [
        _HEAD.format(
            command=COMMAND,
            reached=total - excepted - missing,
            total=total,
            taken=sum(row.coverage.taken for row in rows),
            branches=sum(row.coverage.branches for row in rows),
            excepted=excepted,
            missing=missing,
        ),
        "\n".join(map(_line, rows)) + "\n",
    ]
    if excepted:
        parts.append("\n## Exceptions\n")
        parts += [_reasons(row) for row in rows if row.excepted]
    if missing:
        parts.append("\n## Statements that no test reaches yet\n")
        parts += [_listing(row) for row in rows if row.missing]
    return "".join(parts)


_HEAD = """# Statements of the kernels that tests reach

Generated by `{command}`; do not edit.

The tests of the kernels run with GCC's counters, in C on this machine and as firmware on QEMU, and
compare all outputs with TensorFlow Lite Micro's. A statement is a line of C for which the compiler
makes code. It counts as reached if one of the runs reaches it. Files that only define macros or
include others have no statements, and functions in assembly no counters inside. A branch is one of
the two ways of a condition. The compiler makes other branches with other options, so those of the
build count that took the largest share of them. The digest is that of the code without comments and
spaces; a test compares it with today's file.

Reached: {reached:,} of {total:,} statements.
Excepted, with the reason: {excepted:,}. Missing: {missing:,}.
Taken: {taken:,} of {branches:,} branches.

| file | statements | reached | excepted | missing | branches | taken | digest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
"""


def _parts(row: Row) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    return row.excepted, row.missing


def _line(row: Row) -> str:
    own, lines = row.coverage, (len(row.excepted), len(row.missing))
    figures = (len(own.statements), own.reached, *lines, own.branches, own.taken)
    return f"| `{row.file}` | {' | '.join(map(str, figures))} | `{row.digest}` |"


def _reasons(row: Row) -> str:
    known = EXCEPTIONS[row.file]
    lines = [f"- line {n}, `{text}`: {known[text]}" for n, text in row.excepted]
    return f"\n`{row.file}`\n\n" + "\n".join(lines) + "\n"


def _listing(row: Row) -> str:
    lines = [f"{n}: {text}" for n, text in row.missing]
    return f"\n`{row.file}`\n\n```text\n" + "\n".join(lines) + "\n```\n"


def _count(folder: Path, tests: Sequence[str]) -> bool:
    """Run tests, whose counts are then in a folder; return whether all passed."""
    options = ["-q", "-n2", "-p", "no:cacheprovider", f"--ignore={OWN}"]
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(
        command, check=False, cwd=ROOT, env={**os.environ, VARIABLE: str(folder.absolute())}
    )
    return done.returncode == 0


def main(counts_folder: str | None = None, *tests: str) -> int:
    """Run tests and write the page; `counts_folder` is a folder with counts, which are kept."""
    with tempfile.TemporaryDirectory(prefix="ethosgen-kernels-") as temporary:
        folder = Path(counts_folder or temporary)
        has_passed = _count(folder, tests or TESTS) if tests or not counts_folder else True
        rows = rows_of(read_counts(folder))
    PAGE.write_text(render(rows))
    return 0 if has_passed and not any(row.missing for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
