"""TOSA's conformance suite (tosa-tools), run against ethosgen by the suite's own runner.

    python -m tests.suites.tosa FOLDER [--operators NAME ...] [--on cpu ethos-u55-128 ...] [--float]
        [--only EXPRESSION] [--part N]

writes the suite's tests for a profile, that of integers by default, into FOLDER, unless they are
there, runs them, and prints the totals and what failed, with the reasons. The environment `tosa`
has the suite. --part draws one in N of the tests whose paths have the regular expression.
"""

import argparse
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from junitparser import JUnitXml, TestCase

from ethosgen.host.environments import ENVIRONMENTS
from tests import ROOT

SETTINGS = ("cpu", "ethos-u55-128", "ethos-u85-256")
VERSION = "1.0.2"
INTEGERS, FLOATS = "tosa-pro-int", "tosa-pro-fp"
EXTENSIONS = {
    INTEGERS: ("int16", "int4", "doubleround", "inexactround", "controlflow", "variable"),
    FLOATS: ("fft", "controlflow", "variable"),
}
"""The profiles, each with the extensions that we have."""
REFUSED = "refused: "
"""Precedes the sentence of a refusal."""
_SUT = "tests.suites.tosa_sut"
_SEED = 30


@dataclass(frozen=True)
class Result:
    """What became of one test: its name, "passed", "failed" or "skipped", and the reason."""

    name: str
    end: str
    why: str = ""


def generate(
    folder: Path,
    operators: Sequence[str] = (),
    kind: str = "positive",
    profile: str = INTEGERS,
) -> None:
    """Write the suite's tests below folder/conformance; `kind` is positive, negative or both."""
    extensions = [f"tosa-ext-{name}" for name in EXTENSIONS[profile]]
    _run(
        folder,
        "tosa_verif_conformance_generator",
        *("--profile", profile, "--extension", *extensions),
        *("--tosa-version", VERSION, "--unit-tests", "operator"),
        *("--test-type", kind, "--output-type", "binary", "-j", "2"),
        *(["--operators", *operators] if operators else []),
        *_places("--ref-model-path", "--generate-lib-path"),
    )


def chosen(folder: Path, only: str = "", part: int = 1) -> list[str]:
    """Return the paths below a folder of the tests with an expression, or a drawn part of them."""
    descriptions = (folder / "conformance").rglob("desc.json")
    paths = sorted(path.parent.relative_to(folder).as_posix() for path in descriptions)
    tests = [path for path in paths if re.search(only, path)]
    return random.Random(_SEED).sample(tests, -(-len(tests) // part))


def run(folder: Path, on: str, tests: Sequence[str] = ("conformance",)) -> list[Result]:
    """Run tests below a folder on the CPU's code or with an NPU; return their results."""
    _run(
        folder,
        "tosa_verif_run_tests",
        *("--binary", "--recursive", "--no-color", "-j", "2", "--test", *tests),
        *_places("--ref-model-path", "--generate-lib-path", "--verify-path", "--schema-path"),
        *("--flatc-path", "flatc", "--xunit-file", f"{on}.xml"),
        *("--sut-module", _SUT, "--sut-module-args", f"{_SUT}:{sys.executable}", f"{_SUT}:{on}"),
    )
    return read_results(folder / f"{on}.xml")


def read_results(path: Path) -> list[Result]:
    """Return ethosgen's results from a file of the suite's runner."""
    (suite,) = (suite for suite in JUnitXml.fromfile(str(path)) if suite.name == _SUT)
    return [_result(case) for case in suite]


def _result(case: TestCase) -> Result:
    name = case.name.rpartition("/")[2]
    if case.is_skipped:
        return Result(name, "skipped")
    if case.is_passed:
        return Result(name, "passed")
    return Result(name, "failed", " ".join(f"{end.message} {end.text}" for end in case.result))


def _places(*options: str) -> list[str]:
    """Return the options that tell the suite where its own programs and files are."""
    places = _all_places()
    return [text for option in options for text in (option, str(places[option]))]


@cache
def _all_places() -> dict[str, Path]:
    """Return the files by their options; the programs that Python's of the same names start."""
    environment = _programs().parent
    schema = next(environment.rglob("tosa.fbs"))
    return {
        "--ref-model-path": schema.with_name("tosa_reference_model"),
        "--generate-lib-path": next(environment.rglob("libtosa_reference_generate_lib.so")),
        "--verify-path": schema.with_name("tosa_verify"),
        "--schema-path": schema,
    }


def _programs() -> Path:
    return ENVIRONMENTS["tosa"].find().parent


def _run(folder: Path, program: str, *options: str) -> None:
    """Run a program of the suite, which finds its others on PATH; it fails if a test does."""
    programs = _programs()
    variables = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{program}.log").open("w") as log:
        subprocess.run(
            [programs / program, *options],
            cwd=folder,
            env=os.environ | variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )


def main() -> int:
    """Generate the tests if they are not there, run them, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--operators", nargs="+", default=())
    parser.add_argument("--on", nargs="+", default=SETTINGS)
    parser.add_argument("--float", action="store_true", help="the floating-point profile")
    parser.add_argument("--only", default="", help="a regular expression for paths of tests")
    parser.add_argument("--part", type=int, default=1, help="draw one in so many tests")
    asked = parser.parse_args()
    if not (asked.folder / "conformance").is_dir():
        profile = FLOATS if asked.float else INTEGERS
        generate(asked.folder, asked.operators, profile=profile)
    failures = 0
    for on in asked.on:
        results = run(asked.folder, on, chosen(asked.folder, asked.only, asked.part))
        ends = Counter(result.end for result in results)
        print(f"{on}: {', '.join(f'{count} {end}' for end, count in ends.items())}", flush=True)
        for result in results:
            if result.end == "failed":
                failures += 1
                print(f"  {result.name}: {result.why}")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
