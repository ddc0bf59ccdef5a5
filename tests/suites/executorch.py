"""ExecuTorch's tests for Ethos-U and Cortex-M, unchanged, on the programs with the FVPs' names.

    EXECUTORCH_PYTHON=PYTHON EXECUTORCH_ROOT=FOLDER python -m tests.suites.executorch
        [--backend NAME] [--kind NAME] [--only EXPRESSION] [--seed N] [--count N]
        [--log FILE] [--workers N] [--minutes N] [--afresh]

PYTHON has the package executorch with its extra ethos-u, and pytest. FOLDER has ExecuTorch's
runners, as its setup_testing.sh leaves them in arm_test; those of the backend cortex_m come from
its build_test_runner.sh. A test quantizes a network of one operator, compiles it with Vela, or for
CMSIS-NN without an NPU, runs it in the runner, and compares the outputs with PyTorch's.
The tests run in an order that the seed draws, so what has run is a fair sample at any time. Those
in the log, and without --afresh those of earlier sessions (executorch_ends.py), are not run again
unless they differed. --record adds such logs to the record.
"""

import argparse
import datetime
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from xml.etree import ElementTree

from tests.suites.executorch_ends import (
    DIFFERENT,
    ENDS,
    EXPECTED,
    PASSED,
    SKIPPED,
    load_ends,
    store_ends,
    stretches,
)
from tests.suites.fvp_forks import forked_fvps
from tests.suites.page import RECORDS, Group, Record, record_of, write_record
from tests.suites.running import UNKNOWN
from tests.support.pages import add_line, load, load_lines

PYTHON, ROOT = "EXECUTORCH_PYTHON", "EXECUTORCH_ROOT"
NPUS = {"u55": "Ethos-U55, Corstone-300", "u85": "Ethos-U85, Corstone-320"}
CPU = "Cortex-M55 and CMSIS-NN, Corstone-300"
"""Where a test without an NPU in its name runs."""
PLACES = (*NPUS.values(), CPU)
KINDS = {"ops": "operators", "models": "networks"}
"""Folders of the suite; most tests of networks need packages or downloads."""
INTEGER = "u55_INT or u85_INT"
"""pytest's expression for the tests of integer networks on both NPUs."""
BACKENDS = {"arm": INTEGER, "cortex_m": "implementation"}
"""The backends with tests that run firmware, and the expression for these tests."""
RUNNERS = tuple(
    f"arm_test/arm_semihosting_executor_runner_{kernels}corstone-{board}/arm_executor_runner"
    for kernels in ("", "portable-ops_")
    for board in ("300", "320")
)
"""Without the first two the suite expects all tests to fail; some use the others."""
CHUNK = 60
"""Tests that one process of pytest runs."""
_PYTEST = Path(__file__).with_name("quick_pytest.py")
_SETTINGS = {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
"""Environment of pytest: the networks are small, and workers share the processors."""
_LIMIT_S = 3600.0
_TOLD = re.compile(
    r"^(?:E +)?(?:Stderr: )?(ethosgen: .*|[EF]: .*|[EF] \[executorch:.*)$", re.MULTILINE
)
"""A line in which our program, Arm's driver or the runner reports a failure."""
_CAUSES = {
    "has several results, which is not modelled": "the NPU model follows NPU_OP_BRANCH only after "
    "an operation with one result",
}
"""By a pattern in what is told, the cause of a difference."""


@dataclass(frozen=True)
class ArmTestResult:
    """How a test ended, and what pytest says of it."""

    name: str
    end: str
    why: str = ""
    seconds: float = field(default=0.0, compare=False)

    @property
    def place(self) -> str:
        """Where the test ran, by its name."""
        return next((place for npu, place in NPUS.items() if f"_{npu}" in self.name), CPU)

    @property
    def kind(self) -> str:
        """The folder of the test."""
        return self.name.partition("/")[0]


def collect(only: str, kind: str = "ops", backend: str = "arm") -> list[str]:
    """Return the names of the tests of a kind that an expression of pytest's selects.

    Files whose packages are missing have none.
    """
    suite = _suite(backend)
    done = _pytest(suite, ["--collect-only", "-q", "-k", only, str(suite / kind)])
    return sorted(line for line in done.stdout.splitlines() if "::" in line)


def run(names: Iterable[str], backend: str = "arm") -> list[ArmTestResult]:
    """Run tests in one process of pytest's; RuntimeError if it ends early."""
    with tempfile.TemporaryDirectory(prefix="executorch-") as temporary:
        folder, suite = Path(temporary), _suite(backend)
        report, asked = folder / "report.xml", folder / "asked"
        asked.write_text("\n".join(f"{suite}/{name}" for name in names))
        done = _pytest(suite, [f"@{asked}", f"--junitxml={report}"], folder)
        if not report.exists():
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        return list(read_report(report.read_text()))


def read_report(xml: str) -> Iterator[ArmTestResult]:
    """Yield the results in pytest's report.

    A test that the suite expects to fail, and that fails so, has not passed.
    """
    for case in ElementTree.fromstring(xml).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        skipped = case.find("skipped")
        failed = [child for kind in ("failure", "error") for child in case.iter(kind)]
        if failed:
            end, why = DIFFERENT, _words(failed[0])
        elif skipped is None:
            end, why = PASSED, ""
        else:
            end = EXPECTED if skipped.get("type") == "pytest.xfail" else SKIPPED
            why = skipped.get("message", "")
        yield ArmTestResult(name, end, why, float(case.get("time", "0")))


def _words(failed: ElementTree.Element) -> str:
    """Return the line that reports a failure, or the end of the failure's text."""
    text = f"{failed.text}"
    told = _TOLD.findall(text)
    return told[0].strip() if told else (failed.get("message") or text)[-500:]


def lacking() -> str | None:
    """Return what is missing for a run; None if nothing is."""
    for variable in (PYTHON, ROOT):
        if variable not in os.environ:
            return f"{variable} is not set"
    runners = (Path(os.environ[ROOT]) / name for name in RUNNERS)
    return next((f"{runner} is missing" for runner in runners if not runner.exists()), None)


@cache
def _suite(backend: str) -> Path:
    """Return the folder of a backend's tests in the package."""
    code = f"import executorch.backends.{backend}.test as suite; print(list(suite.__path__)[0])"
    command = [os.environ[PYTHON], "-P", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Path(done.stdout.splitlines()[-1])


def _version() -> str:
    code = "from importlib.metadata import version as v; print(v('executorch'), v('ethos-u-vela'))"
    command = [os.environ[PYTHON], "-P", "-c", code]
    package, vela = subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.split()
    return f"{package} (Vela {vela})"


def _pytest(
    suite: Path, arguments: Sequence[str], folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the suite's pytest without this project's settings, with our programs first on PATH."""
    with forked_fvps() as fvps:
        python = Path(os.environ[PYTHON])
        path = os.pathsep.join(map(str, [fvps, python.parent, os.environ["PATH"]]))
        left_out = ["no:cacheprovider", "no:unraisableexception"]
        options = [f"--rootdir={suite}", *(f"-p{plugin}" for plugin in left_out)]
        options.append("--config-file=/dev/null")
        return subprocess.run(
            [python, "-P", _PYTEST, *options, *arguments],
            cwd=folder or fvps,
            env={**os.environ, "PATH": path, **_SETTINGS},
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )


def cause(result: ArmTestResult) -> str:
    """Return why a result differs."""
    causes = (cause for pattern, cause in _CAUSES.items() if re.search(pattern, result.why))
    return next(causes, UNKNOWN)


def record(
    results: Sequence[ArmTestResult], version: str, about: str, before: Sequence[Group] = ()
) -> Record:
    """Return the record of results: a row for each kind and place, and other rows as they were.

    What the suite expects to fail, or skips, is not tried.
    """
    rows = {
        (kind, place): [
            result for result in results if (result.kind, result.place) == (kind, place)
        ]
        for kind in KINDS
        for place in PLACES
    }
    return Record(
        suite="ExecuTorch, tests of the backends for Ethos-U and Cortex-M",
        version=version,
        about=about,
        measured=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=f"{PYTHON}=PYTHON {ROOT}=FOLDER python -m tests.suites.executorch",
        rows=(
            *(_row(*at, each) for at, each in rows.items() if each),
            *(row for row in before if not any(_is_of(row, *at) for at in rows if rows[at])),
        ),
    )


def _title(kind: str, place: str) -> str:
    return f"{KINDS[kind]}, integers, {place}"


def _is_of(row: Group, kind: str, place: str) -> bool:
    return row.group.partition(";")[0] == _title(kind, place)


def _row(kind: str, place: str, results: Sequence[ArmTestResult]) -> Group:
    ends = Counter(result.end for result in results)
    apart = [result for result in results if result.end == DIFFERENT]
    expected = f"; {ends[EXPECTED]} more fail, as the suite expects" if ends[EXPECTED] else ""
    skipped = f"; the suite skips {ends[SKIPPED]} more" if ends[SKIPPED] else ""
    return Group(
        group=f"{_title(kind, place)}{expected}{skipped}",
        tried=ends[PASSED] + len(apart),
        passed=ends[PASSED],
        refused={},
        different=dict(Counter(map(cause, apart))),
    )


def _about(order: Sequence[str], seed: int, ends: Mapping[str, str]) -> str:
    tests = f"{len(order):,} tests of operators for integers on Ethos-U55 and U85"
    places = " and ".join(f"{first:,} to {last:,}" for first, last in stretches(order, ends))
    ran = (
        f"Of {tests}, {len(ends):,} ran, drawn at random: of the order that seed {seed} draws, "
        f"those from {places}."
        if len(ends) < len(order)
        else f"All {tests} ran, in several sessions."
    )
    return (
        f"{ran} Of the networks, those ran that need no download. Each test quantizes a network, "
        "compiles it with Vela, runs it in ExecuTorch's arm_executor_runner on the program with "
        "the FVP's name, by semihosting, and compares the outputs with PyTorch's. The runner is "
        "built as setup_testing.sh does, with Arm's ethos-u-core-platform 24.08. The networks ran "
        "on 2026-11-29. The conditionals and loops in the last row ran on 2026-11-27, in a runner "
        "with start-up code of our own. The tests for a Cortex-M55 alone are those of the backend "
        "cortex_m, in the runner of its build_test_runner.sh with CMSIS-NN 99f736a63036 and "
        "aten::sub.out. With the older CMSIS-NN that the runner's source names, two tests of "
        "transposed convolutions fail, by an error that CMSIS-NN has mended since (#233)."
    )


def main() -> int:
    """Run a drawn part of the suite, and print what did not pass; or write the record."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites.executorch")
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--count", type=int, help="how many tests are drawn; all without it")
    parser.add_argument("--backend", choices=BACKENDS, default="arm")
    parser.add_argument("--only", help="an expression of pytest's -k")
    parser.add_argument("--kind", choices=KINDS, default="ops")
    parser.add_argument("--log", type=Path, help="a file with a line of JSON for each result")
    parser.add_argument("--workers", type=int, default=1, help="processes of pytest at a time")
    parser.add_argument("--afresh", action="store_true", help="run what has run earlier, too")
    parser.add_argument("--minutes", type=float, help="start no tests after this time")
    parser.add_argument("--record", type=Path, nargs="+", help="write the record from such files")
    asked = parser.parse_args()
    if why := lacking():
        parser.error(why)
    if asked.record:
        _add_to_record(latest(asked.record), asked.seed)
        return 0
    only = asked.only or BACKENDS[asked.backend]
    order = draw(collect(only, asked.kind, asked.backend), None, asked.seed)
    ends = {} if asked.afresh else load_ends(ENDS, _version(), order)
    ends.update((each.name, each.end) for each in latest([asked.log] if asked.log else []))
    drawn = [name for name in order[: asked.count] if ends.get(name, DIFFERENT) == DIFFERENT]
    ends_s = time.monotonic() + 60 * asked.minutes if asked.minutes else math.inf
    chunks = [drawn[start : start + CHUNK] for start in range(0, len(drawn), CHUNK)]
    log = Log(asked.log, asked.backend)
    with ThreadPoolExecutor(asked.workers) as workers:
        clean = list(workers.map(lambda chunk: log.run(chunk, ends_s), chunks))
    return int(not all(clean))


def _add_to_record(results: Sequence[ArmTestResult], seed: int) -> None:
    """Add results to the record; those of operators to the ends of earlier sessions."""
    names = set(collect(INTEGER))
    order = draw(names, None, seed)
    ends = load_ends(ENDS, _version(), order)
    ends.update((result.name, result.end) for result in results if result.name in names)
    store_ends(ENDS, _version(), order, ends)
    new = {result.name for result in results}
    old = [ArmTestResult(name, end) for name, end in ends.items() if name not in new]
    path = RECORDS / "executorch.json"
    before = record_of(load(path)).rows
    about = _about(order, seed, ends)
    write_record(path, record([*old, *results], _version(), about, before))


def latest(logs: Sequence[Path]) -> list[ArmTestResult]:
    """Return the last result of each test in logs; one that does not exist yet has none."""
    lines = (line for log in logs if log.exists() for line in load_lines(log))
    results = (ArmTestResult(**line) for line in lines)
    return list({result.name: result for result in results}.values())


def draw(names: Collection[str], count: int | None, seed: int) -> list[str]:
    """Draw tests, in the order in which they run: a smaller count is the start of a larger one."""
    order = sorted(names)
    random.Random(seed).shuffle(order)
    return order[:count]


class Log:
    """Runs chunks of tests from several threads, and writes down their results."""

    def __init__(self, path: Path | None, backend: str = "arm") -> None:
        self._path = path
        self._backend = backend
        self._lock = Lock()

    def run(self, names: Sequence[str], ends_s: float) -> bool:
        """Run tests unless the time is over; return whether none differs."""
        if time.monotonic() > ends_s:
            return True
        results = run(names, self._backend)
        with self._lock:
            for result in results:
                if self._path:
                    add_line(self._path, asdict(result))
                if result.end != PASSED:
                    sys.stdout.write(f"{result.end} {result.name}: {result.why}\n")
            sys.stdout.write(f"{Counter(result.end for result in results)}\n")
            sys.stdout.flush()
        return all(result.end != DIFFERENT for result in results)


if __name__ == "__main__":
    sys.exit(main())
