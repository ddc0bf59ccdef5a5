"""TensorFlow Lite Micro's integration tests, run against ethosgen with the suite's golden outputs.

    TFLITE_MICRO_PATH=TREE python -m tests.suites.tflm [--on cpu ethos-u55-128 ...]

One network with one operator, its inputs and its golden output is one test. The suite's own tests
allow a difference of 1; whether outputs are equal is counted apart.
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.values.source import Source
from tests.suites.golden_tests import Array, GoldenResult, GoldenTest, run_test
from tests.suites.running import GoldenSuite, commit_of, run_main

VARIABLE = "TFLITE_MICRO_PATH"
STEP = 1.0
"""integration_tests.cc: EXPECT_NEAR(golden[i], output[i], 1)."""
_FOLDER = "tensorflow/lite/micro/integration_tests"


def tree() -> Path:
    """Return the checkout of tflite-micro."""
    return Path(os.environ[VARIABLE])


def integration_tests() -> Iterator[GoldenTest]:
    """Yield the tests in the tree, by folder and number."""
    for path in sorted((tree() / _FOLDER).rglob("*.tflite"), key=_order):
        inputs = [_values(file) for file in sorted(path.parent.glob(f"{path.stem}_input*.csv"))]
        (golden,) = path.parent.glob(f"{path.stem}_golden_*.csv")
        source = Source(FORMAT, path.name, path.read_bytes())
        sample = (inputs, [_values(golden)])
        yield GoldenTest(path.parent.name, path.stem, source, [sample], atol=STEP)


@cache
def _tests() -> dict[str, GoldenTest]:
    return {f"{test.group}/{test.name}": test for test in integration_tests()}


def names() -> list[str]:
    """Return the names of all tests, each with its folder in front."""
    return list(_tests())


def run_named(name: str, on: str) -> GoldenResult:
    """Run one test in this process."""
    return run_test(_tests()[name], on)


def _order(path: Path) -> tuple[str, int]:
    return path.parent.name, int(path.stem.removeprefix(path.parent.name))


def _values(path: Path) -> Array:
    """Read numbers of the type at the end of the file's name."""
    dtype = path.stem.rpartition("_")[2]
    return np.array(path.read_text().replace("\n", "").rstrip(",").split(","), np.int64).astype(
        dtype
    )


SUITE = GoldenSuite(
    "tflm",
    "TensorFlow Lite Micro, integration tests",
    "Networks of one operator each, from a streaming network of int16 (SEANet), with golden "
    "outputs. The suite allows a difference of 1.",
    lambda: commit_of(tree()),
    names,
    run_named,
    variable=VARIABLE,
)

if __name__ == "__main__":
    sys.exit(run_main(SUITE))
