"""Tests of others: what passes, is refused, differs or dies, and what is counted of it."""

from dataclasses import replace

import numpy as np
import pytest

from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.values.source import Source
from tests.suites.golden_tests import GoldenResult, GoldenTest, run_apart, run_test
from tests.suites.running import UNKNOWN, GoldenSuite, record
from tests.support.networks import NetworkBuilder

X = np.array([[1, -2, 100, 7]], np.int8)
RESULT = GoldenResult("group", "name", "cpu", "passed", elements=4)


@pytest.fixture
def relu() -> GoldenTest:
    """Return a test that passes."""
    net = NetworkBuilder()
    x = net.input((1, 4), "int8", 0.5, 0)
    source = Source(FORMAT, "relu.tflite", net.build(net.relu(x)))
    return GoldenTest("toy", "relu", source, [([X], [np.maximum(X, 0)])])


def test_equal_outputs_pass(relu: GoldenTest) -> None:
    assert run_test(relu, "cpu") == GoldenResult("toy", "relu", "cpu", "passed", elements=4)


def test_the_tolerance_of_the_suite_decides(relu: GoldenTest) -> None:
    test = replace(relu, samples=[([X], [np.array([1, 1, 99, 7], np.int8)])])
    near = run_test(replace(test, atol=1.0), "ethos-u55-128")
    assert (near.end, near.unequal, near.most, near.on_npu) == ("passed", 2, 1.0, 1)
    far = run_test(test, "ethos-u55-128")
    assert (far.end, far.why, far.like_oracle) == ("different", "2 of 4 differ", True)


def test_a_refusal_has_its_sentence(relu: GoldenTest) -> None:
    damaged = replace(relu, source=replace(relu.source, data=relu.source.data[:40]))
    result = run_test(damaged, "cpu")
    assert result.end == "refused"
    assert "relu.tflite" in result.why


def test_another_type_is_a_fault_of_the_test(relu: GoldenTest) -> None:
    wide = replace(relu, samples=[([X.astype(np.int16)], [X])])
    result = run_apart(lambda: run_test(wide, "cpu"), "toy", "relu", "cpu")
    assert result.end == "died"
    assert "int8 here and int16 there (golden_tests.py" in result.why


def test_a_death_has_its_status() -> None:
    def die() -> GoldenResult:
        raise SystemExit(3)

    assert run_apart(die, "toy", "name", "cpu") == GoldenResult(
        "toy", "name", "cpu", "died", "status 1"
    )


def test_reasons_are_counted_without_names() -> None:
    refused = replace(RESULT, end="refused", why="'a' at (1, 2) has no form")
    suite = GoldenSuite("toy", "A toy", "It runs.", lambda: "1", lambda: [], lambda *_: RESULT)
    results = [
        RESULT,
        replace(RESULT, unequal=1, on_npu=1),
        refused,
        replace(refused, why="'b' at (3, 4, 5) has no form"),
        replace(RESULT, end="died", why="status 1"),
    ]
    (row,) = record(suite, results).rows
    assert row.group == "the CPU's code (1 equal, 1 on the NPU)"
    assert row.refused == {"'…' at (…) has no form": 2}
    assert row.different == {UNKNOWN: 1}
    explained = replace(suite, cause=lambda _result: "a cause")
    assert record(explained, results).rows[0].different == {"a cause": 1}
