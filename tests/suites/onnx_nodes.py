"""ONNX's backend tests, which the package onnx has, run against ethosgen.

    python -m tests.suites.onnx_nodes [--on cpu ethos-u55-128 ...] [--only PATTERN]

Each test is the suite's own function, with its own comparison, in a fork.
"""

import re
import sys
import unittest
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import onnx
from onnx.backend.test import BackendTest

from tests.suites.golden_tests import DIED, DIFFERENT, PASSED, REFUSED, GoldenResult, place_of
from tests.suites.onnx_backend import EthosgenBackend
from tests.suites.running import GoldenSuite, run_main

_ENDING = "_cpu"
"""What the suite appends to the names of tests for its device CPU."""


@cache
def _cases() -> dict[str, unittest.TestCase]:
    """Return the suite's tests by name, each with its kind in front."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = BackendTest(EthosgenBackend).test_cases
    return {
        f"{_short(kind)}/{name.removesuffix(_ENDING)}": case(name)
        for kind, case in kinds.items()
        for name in unittest.defaultTestLoader.getTestCaseNames(case)
        if name.endswith(_ENDING)
    }


def _short(kind: str) -> str:
    return kind.removeprefix("OnnxBackend").removesuffix("ModelTest")


def names() -> list[str]:
    """Return the names of all tests, each with its kind in front."""
    return list(_cases())


def run_node(name: str, on: str) -> GoldenResult:
    """Run one of the suite's tests in this process."""
    EthosgenBackend.on = on
    ended = _Ended()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _cases()[name].run(ended)
    prepared = EthosgenBackend.prepared
    group, _, short = name.partition("/")
    result = GoldenResult(group, short, on, ended.end, ended.why)
    if prepared is None:
        return result
    return replace(result, on_npu=prepared.on_npu, is_bound=prepared.is_bound)


class _Ended(unittest.TestResult):
    """How one test ended."""

    end, why = PASSED, ""

    def addSkip(self, _test: Any, reason: str) -> None:  # noqa: N802 - unittest's name
        self.end, self.why = REFUSED, reason

    def addFailure(self, _test: Any, error: Any) -> None:  # noqa: N802 - unittest's name
        self.end, self.why = DIFFERENT, " ".join(str(error[1]).split())[:300]

    def addError(self, _test: Any, error: Any) -> None:  # noqa: N802 - unittest's name
        self.end = DIED
        self.why = f"{error[0].__name__}: {str(error[1])[:300]} ({place_of(error[2])})"


_REASONS = {
    r"does not know the operator|has no such operator": "an operator that ethosgen does not have",
    r"no CPU code for|it converts \w+ to|one scale|the same type|datatype|size mismatch": (
        "a type that the operator does not have here, such as float16, float64 or integers "
        "without a scale"
    ),
    r"not constant": "a value that must be constant is computed",
    r"run time|open shape|ShapeExpr|size 0": "a shape that is computed, open or empty",
    r"sequence or a shape|`object`|Optional": "sequences, optional values or strings",
    r"an input as well|is constant$": "an output that is an input or a constant",
}
"""By an expression for sentences, what they say in general."""


def reason(result: GoldenResult) -> str:
    """Return the kind of a refusal."""
    kinds = (kind for words, kind in _REASONS.items() if re.search(words, result.why))
    return next(kinds, "another form of an operator")


SUITE = GoldenSuite(
    "onnx_nodes",
    "ONNX, backend tests",
    "All tests: networks of one operator each, of every operator of ONNX, some that PyTorch "
    "exported, and whole ones. If ethosgen wants a constant, such as a scale, all inputs but the "
    "first become constants. The tests that pass on the CPU also ran with an NPU, a drawn tenth of "
    "them on QEMU.",
    lambda: onnx.__version__,
    names,
    run_node,
    reason=reason,
)

if __name__ == "__main__":
    sys.exit(run_main(SUITE))
