"""Budgets: each figure at, below and above its limit, and unknown."""

from dataclasses import replace
from typing import Any

import pytest

from ethosgen.values.accuracy import AccuracyReport, Classification, Detection
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import PlanSummary
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.time import CpuTime
from ethosgen.workspace.budgets import Checked, Limited, limits, score_of
from ethosgen.workspace.file import Budget

REPORT = Report(
    network="net",
    board="corstone300",
    on="qemu",
    plan=PlanSummary("none", 0, 0, (), 0, None),
    samples=1,
    golden=OutputComparison("tflm", 0, 10, 0.0),
    second=None,
    ended=True,
    flash_bytes={"total": 2000},
    ram_bytes={"total": 1000},
    stack_bytes=300,
    cpu_time=CpuTime(64_000, 32_000_000, "a model"),
)
CLASSIFIED = AccuracyReport(
    "net", "none", 10, "", 0, None, Classification(10, {1: 9, 5: 10}, (), ()), None, (), ()
)


def all_of(budget: Budget, report: Any = REPORT, accuracy: Any = None) -> dict[str, Limited]:
    return {limited.name: limited for limited in limits(budget, report, accuracy)}


def test_each_figure_may_reach_its_limit_and_no_more() -> None:
    exact = all_of(Budget(ms=2, ram=1000, flash=2000, stack=300, accuracy=0.9), REPORT, CLASSIFIED)
    assert [limited.passed for limited in exact.values()] == [True] * 5
    tight = Budget(ms=1.9, ram=999, flash=1999, stack=299, accuracy=0.91)
    assert not any(limited.passed for limited in all_of(tight, REPORT, CLASSIFIED).values())
    assert all_of(Budget()) == {}


def test_a_figure_that_is_not_known_fails() -> None:
    bare = replace(REPORT, ram_bytes=None, flash_bytes=None, stack_bytes=None, cpu_time=None)
    figures = all_of(Budget(ms=1, ram=1, flash=1, stack=1, accuracy=0), bare)
    assert [limited.value for limited in figures.values()] == [None] * 5
    assert not any(limited.passed for limited in figures.values())
    assert figures["time"].text() == "unknown of at most 1 ms"


def test_a_time_without_some_operators_is_not_known() -> None:
    part = replace(REPORT, cpu_time=CpuTime(1, 32_000_000, "costs", False, ("WHERE",)))
    assert all_of(Budget(ms=1000), part)["time"].value is None


def test_the_times_of_a_firmwares_networks_add_up_and_the_largest_stack_counts() -> None:
    other = replace(REPORT, stack_bytes=500)
    both = FirmwareReport((REPORT, other), {"total": 7}, {"total": 8}, {}, {})
    figures = all_of(Budget(ms=4, ram=8, flash=6, stack=500), both)
    assert figures["time"].value == pytest.approx(4) and figures["stack"].value == 500
    assert figures["RAM"].passed and not figures["flash"].passed


def test_a_detector_has_its_auc() -> None:
    detector = replace(CLASSIFIED, classification=None, detection=Detection(10, 5, 0.87, 0, 0))
    assert score_of(detector) == 0.87 and score_of(None) is None
    assert score_of(replace(detector, detection=None)) is None


def test_an_exceeded_budget_is_the_verdict() -> None:
    small = tuple(limits(Budget(ram=1), REPORT, None))
    assert Checked(REPORT, None, ()).verdict == "PASS"
    assert Checked(REPORT, None, small).verdict == "FAIL"
    wrong = replace(REPORT, golden=None)
    assert Checked(wrong, None, small).verdict == "NOT COMPARED"
    assert not Checked(REPORT, None, small).as_json()["passed"]
    assert small[0].text() == "1,000 B of at most 1 B"
