"""Runs a suite of golden tests, prints what became of it, and writes its record for the page."""

import argparse
import datetime
import fnmatch
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ethosgen import aot
from tests.suites.golden_tests import (
    CPU,
    DIFFERENT,
    PASSED,
    QEMU,
    REFUSED,
    SETTINGS,
    GoldenResult,
    run_apart,
)
from tests.suites.page import RECORDS, Group, Record, write_record
from tests.support.pages import add_line, load_lines

UNKNOWN = "not explained yet"
_SEED = 30
_TITLES = {CPU: "the CPU's code", QEMU: "a part as firmware, on QEMU"}


@dataclass(frozen=True)
class GoldenSuite:
    """A suite: the name of its module and its record, its title, its version, and its tests.

    `run` runs a test, by its name and a setting. `reason` is under which a refusal is counted.
    `cause` explains a difference, "" if it cannot.
    """

    name: str
    title: str
    about: str
    version: Callable[[], str]
    collect: Callable[[], Sequence[str]]
    run: Callable[[str, str], GoldenResult]
    cause: Callable[[GoldenResult], str] = lambda _result: ""
    reason: Callable[[GoldenResult], str] = lambda result: result.reason
    variable: str = ""


def commit_of(tree: Path) -> str:
    """Return the commit of a checkout, in short."""
    done = subprocess.run(
        ["git", "-C", tree, "log", "-1", "--format=%h (%cs)", "--abbrev=12"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def run_main(suite: GoldenSuite) -> int:
    """Run what the command line asks for; the status says if all passed or were refused."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.suites.{suite.name}")
    parser.add_argument("--on", nargs="+", default=SETTINGS)
    parser.add_argument("--only", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--passed", type=Path, help="only tests that passed on the CPU, by a log")
    parser.add_argument("--part", type=int, default=1, help="draw one in so many tests")
    parser.add_argument("--log", type=Path, help="a file with a line of JSON for each result")
    parser.add_argument("--record", type=Path, nargs="+", help="write the record from such files")
    asked = parser.parse_args()
    if asked.record:
        write_record(RECORDS / f"{suite.name}.json", record(suite, _latest(asked.record)))
        return 0
    aot.load()  # once, for all forks
    names = _chosen(suite, asked)
    is_clean = True
    for on in asked.on:
        results = [_run(suite, name, on, asked.log) for name in names]
        _tell(suite, on, results)
        is_clean &= all(result.end in (PASSED, REFUSED) for result in results)
    return int(not is_clean)


def _chosen(suite: GoldenSuite, asked: argparse.Namespace) -> list[str]:
    """Return the names of the tests that the command line asks for, in their order."""
    names = [
        name
        for name in suite.collect()
        if any(fnmatch.fnmatch(name, pattern) for pattern in asked.only)
    ]
    if asked.passed:
        ended = (GoldenResult(**line) for line in load_lines(asked.passed))
        passed = {f"{r.group}/{r.name}" for r in ended if (r.on, r.end) == (CPU, PASSED)}
        names = [name for name in names if name in passed]
    drawn = set(random.Random(_SEED).sample(names, -(-len(names) // asked.part)))
    return [name for name in names if name in drawn]


def _latest(logs: Sequence[Path]) -> list[GoldenResult]:
    """Return the last result of each test and setting."""
    results = [GoldenResult(**line) for log in logs for line in load_lines(log)]
    return list({(result.on, result.group, result.name): result for result in results}.values())


def _run(suite: GoldenSuite, name: str, on: str, log: Path | None) -> GoldenResult:
    group, _, short = name.rpartition("/")
    result = run_apart(partial(suite.run, name, on), group, short, on)
    if log:
        add_line(log, asdict(result))
    return result


def _tell(suite: GoldenSuite, on: str, results: Sequence[GoldenResult]) -> None:
    """Print the totals of a setting, and what did not pass."""
    ends = Counter(result.end for result in results)
    totals = ", ".join(f"{count} {end}" for end, count in ends.most_common())
    sys.stdout.write(f"{on}: {len(results)} tried, {totals}; {_details(results)}\n")
    for reason, count in _refusals(suite, results).most_common():
        sys.stdout.write(f"  refused {count}: {reason}\n")
    for result in results:
        if result.end not in (PASSED, REFUSED):
            like = f" (as the oracle: {result.like_oracle})" if result.end == DIFFERENT else ""
            why = suite.cause(result) or f"{result.why}, by at most {result.most:g}{like}"
            sys.stdout.write(f"  {result.end} {result.name}: {why}\n")


def _details(results: Sequence[GoldenResult]) -> str:
    """Return how many of the tests that passed have equal outputs, and how many used the NPU."""
    passed = [result for result in results if result.end == PASSED]
    counts = []
    if any(result.elements for result in passed):
        counts.append(f"{sum(not result.unequal for result in passed)} equal")
    if any(result.on_npu for result in passed):
        counts.append(f"{sum(result.on_npu > 0 for result in passed)} on the NPU")
    return ", ".join(counts)


def _refusals(suite: GoldenSuite, results: Sequence[GoldenResult]) -> Counter[str]:
    return Counter(suite.reason(result) for result in results if result.end == REFUSED)


def record(suite: GoldenSuite, results: Sequence[GoldenResult]) -> Record:
    """Return the record of a suite: a row for each setting."""
    settings = dict.fromkeys(result.on for result in results)
    variable = f"{suite.variable}=TREE " if suite.variable else ""
    return Record(
        suite=suite.title,
        version=suite.version(),
        about=suite.about,
        measured=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=f"{variable}python -m tests.suites.{suite.name}",
        rows=tuple(_row(suite, on, [r for r in results if r.on == on]) for on in settings),
    )


def _row(suite: GoldenSuite, on: str, results: Sequence[GoldenResult]) -> Group:
    apart = [result for result in results if result.end not in (PASSED, REFUSED)]
    details = _details(results)
    return Group(
        group=f"{_TITLES.get(on, on)}{details and f' ({details})'}",
        tried=len(results),
        passed=sum(result.end == PASSED for result in results),
        refused=dict(_refusals(suite, results).most_common()),
        different=dict(Counter(suite.cause(result) or UNKNOWN for result in apart)),
    )
