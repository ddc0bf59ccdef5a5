"""Firmware tests that others wrote for Arm's FVPs, unchanged, on the programs with their names.

    ETHOSU_BUILDS=FOLDER[:FOLDER] TFLM_TESTS=TREE python -m tests.suites.fvp_programs
        [--part N] [--seed N] [--log FILE]

ETHOSU_BUILDS has build folders of Arm's ethos-u-core-platform, whose CTest starts an FVP for each
test. TFLM_TESTS is a checkout of TensorFlow Lite Micro in which
`make TARGET=cortex_m_corstone_300 CO_PROCESSOR=ethos_u build` has built the tests; its own script
starts the FVP. Either may be missing. --record writes the record from such logs.
"""

import argparse
import datetime
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ethosgen.values.multiples import pieces
from tests.suites.page import RECORDS, Group, Record, write_record
from tests.suites.running import UNKNOWN
from tests.support.pages import add_line, load_lines

BUILDS, TREE = "ETHOSU_BUILDS", "TFLM_TESTS"
PASSED, DIFFERENT = "passed", "different"
_TFLM_PASS = "~~~ALL TESTS PASSED~~~"
_TFLM_SCRIPT = "tensorflow/lite/micro/testing/test_with_arm_corstone_300.sh"
_TFLM_TARGET = "cortex_m_corstone_300"
_LIMIT_S = 900.0
_CACHED = re.compile(r"^(CMAKE_HOME_DIRECTORY|ETHOSU_TARGET_NPU_CONFIG):\w+=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class FvpTest:
    """A test: its group, its name, and the command that runs it on an FVP."""

    group: str
    name: str
    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class FvpResult:
    """How a test ended, and the end of what it printed unless it passed."""

    group: str
    name: str
    end: str
    told: str = ""


def collect(environment: Mapping[str, str]) -> list[FvpTest]:
    """Return the tests that the variables name, in order."""
    builds = [Path(each) for each in environment.get(BUILDS, "").split(os.pathsep) if each]
    tests = [test for build in builds for test in _of_ctest(build)]
    if TREE in environment:
        tests += _of_tflm(Path(environment[TREE]))
    return tests


def _of_ctest(build: Path) -> Iterator[FvpTest]:
    cached = dict(_CACHED.findall((build / "CMakeCache.txt").read_text()))
    board = Path(cached["CMAKE_HOME_DIRECTORY"]).name
    group = f"core platform, {board}, {cached['ETHOSU_TARGET_NPU_CONFIG']}"
    listed = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only"], capture_output=True, text=True, check=True
    ).stdout
    for name in re.findall(r"Test +#\d+: (\S+)", listed):
        if any(build.rglob(f"{name}.elf")):  # what cannot be built here is not tried
            yield FvpTest(group, name, ("ctest", "-V", "-R", f"^{name}$"), build)


def _of_tflm(tree: Path) -> Iterator[FvpTest]:
    script = str(tree / _TFLM_SCRIPT)
    for path in sorted(tree.glob(f"gen/{_TFLM_TARGET}_*/bin/*_test")):
        command = (script, str(path), _TFLM_PASS, _TFLM_TARGET)
        yield FvpTest("TensorFlow Lite Micro, cortex_m_corstone_300", path.name, command, tree)


def run(test: FvpTest, fvps: Path) -> FvpResult:
    """Run a test with the programs in `fvps` first on PATH."""
    try:
        done = subprocess.run(
            test.command,
            cwd=test.folder,
            env={**os.environ, "PATH": f"{fvps}{os.pathsep}{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FvpResult(test.group, test.name, DIFFERENT, f"no end after {_LIMIT_S:.0f} s")
    if done.returncode == 0 and _says_so(test, done.stdout):
        return FvpResult(test.group, test.name, PASSED)
    return FvpResult(test.group, test.name, DIFFERENT, done.stdout[-1500:])


def _says_so(test: FvpTest, told: str) -> bool:
    """Return whether the test itself said that it passed: no test passes by its absence."""
    if test.command[0] == "ctest":
        return "100% tests passed, 0 tests failed out of 1" in told
    return _TFLM_PASS in told


def record(results: Sequence[FvpResult], version: str) -> Record:
    """Return the record of results, by their groups."""
    groups = dict.fromkeys(result.group for result in results)
    return Record(
        suite="Arm's ethos-u-core-platform, and TensorFlow Lite Micro's tests on Corstone-300",
        version=version,
        about=_ABOUT,
        measured=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        command=f"{BUILDS}=FOLDERS {TREE}=TREE python -m tests.suites.fvp_programs",
        rows=tuple(
            _row(group, [result for result in results if result.group == group]) for group in groups
        ),
    )


_ABOUT = (
    "Firmware for Arm's FVPs, started on the programs with their names by the suites' own scripts "
    "(`run_ctest.py`, `test_with_arm_corstone_300.sh`). The core platform's tests are keyword "
    "spotting networks for each NPU with golden outputs, and the core driver's unit tests. GCC 12 "
    "knows no Cortex-M85: Corstone-310's and -320's are compiled for a Cortex-M55. One source "
    "is compiled without a pass of this GCC that writes wrong assembly."
)


def _row(group: str, results: Sequence[FvpResult]) -> Group:
    ends = Counter(result.end for result in results)
    different = {UNKNOWN: ends[DIFFERENT]} if ends[DIFFERENT] else {}
    return Group(group, len(results), ends[PASSED], {}, different)


@contextmanager
def installed_fvps() -> Iterator[Path]:
    """Install the programs with the FVPs' names in a folder for a while."""
    with tempfile.TemporaryDirectory(prefix="fvps-") as folder:
        install = [sys.executable, "-m", "ethosgen", "fvp", "install", folder]
        subprocess.run(install, check=True, capture_output=True)
        yield Path(folder)


def main() -> int:
    """Run the tests, or a drawn part, and print what did not pass; or write the record."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites.fvp_programs")
    parser.add_argument("--part", type=int, default=1, help="draw one in so many tests")
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--log", type=Path, help="a file with a line of JSON for each result")
    parser.add_argument("--record", type=Path, nargs="+", help="write the record from such files")
    parser.add_argument("--version", default="", help="the suites' versions, for the record")
    asked = parser.parse_args()
    if asked.record:
        lines = [FvpResult(**line) for log in asked.record for line in load_lines(log)]
        latest = {(line.group, line.name): line for line in lines}
        write_record(RECORDS / "fvp_programs.json", record([*latest.values()], asked.version))
        return 0
    tests = draw(collect(os.environ), asked.part, asked.seed)
    if not tests:
        parser.error(f"no tests: set {BUILDS} or {TREE}")
    with installed_fvps() as fvps:
        return _run_all(tests, fvps, asked.log)


def draw(tests: Sequence[FvpTest], part: int, seed: int) -> list[FvpTest]:
    """Draw one in `part` tests, in order."""
    count = pieces(len(tests), part)
    chosen = sorted(random.Random(seed).sample(range(len(tests)), count))
    return [tests[index] for index in chosen]


def _run_all(tests: Sequence[FvpTest], fvps: Path, log: Path | None) -> int:
    failed = 0
    for test in tests:
        result = run(test, fvps)
        failed += result.end != PASSED
        if log:
            add_line(log, asdict(result))
        sys.stdout.write(f"{result.end} {test.group}: {test.name} {result.told}\n")
        sys.stdout.flush()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
