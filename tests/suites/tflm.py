"""TensorFlow Lite Micro's tests with golden outputs, run against ethosgen.

    TFLITE_MICRO_PATH=TREE python -m tests.suites.tflm [--on cpu ethos-u55-128 ...]

In the integration tests, a network with one operator, its inputs and its golden output is one
test. The suite's own tests allow a difference of 1; whether outputs are equal is counted apart. The
example that suppresses noise, a network with an LSTM, must have equal outputs.
"""

import os
import re
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
_NOISE = "tensorflow/lite/micro/examples/dtln"


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


def noise_suppression() -> GoldenTest:
    """Return the test of the example, whose arrays are C: feature_data, and golden_ref."""
    folder = tree() / _NOISE
    path = folder / "dtln_noise_suppression.tflite"
    text = (folder / "dtln_inout_data.cc").read_text()
    inputs, outputs = (
        np.array(re.findall(r"-?\d+", values), np.int64).astype(np.int8)
        for values in re.findall(r"int8_t \w+\[\] = \{([^}]*)\}", text)
    )
    source = Source(FORMAT, path.name, path.read_bytes())
    return GoldenTest("examples", "dtln", source, [([inputs], [outputs])])


@cache
def _tests() -> dict[str, GoldenTest]:
    tests = [*integration_tests(), noise_suppression()]
    return {f"{test.group}/{test.name}": test for test in tests}


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
    "TensorFlow Lite Micro, integration tests and an example",
    "Networks of one operator each, from a streaming network of int16 (SEANet), with golden "
    "outputs, and an example, a network with an LSTM. The suite allows a difference of 1, for its "
    "outputs are not TensorFlow Lite Micro's: four LEAKY_RELU have six elements that differ by 1, "
    "in TensorFlow Lite Micro as well.",
    lambda: commit_of(tree()),
    names,
    run_named,
    variable=VARIABLE,
)

if __name__ == "__main__":
    sys.exit(run_main(SUITE))
