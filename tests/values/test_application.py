"""An application's report: it passes on equal lines only; the work that the application counted."""

from typing import Any

import pytest

from ethosgen.commands.junit_suites import make_suites
from ethosgen.commands.wording import application_text
from ethosgen.values.application import ApplicationReport, ApplicationWork

LINES = ("one", "two")


def report(lines: tuple[str, ...], expected: tuple[str, ...] | None = LINES) -> ApplicationReport:
    return ApplicationReport(
        "image", ("net",), "corstone300", "qemu", "a.png", len(LINES), lines, expected, "TFLM"
    )


def test_equal_lines_pass() -> None:
    verdict = report(LINES)
    assert (
        verdict.passed and verdict.verdict == "PASS" and not verdict.differing and not verdict.first
    )
    assert verdict.as_json()["differing"] == 0 and verdict.as_json()["passed"] is True
    assert "2 lines for 2 items: equal to what follows from TFLM" in application_text(verdict)


def test_wrong_missing_and_further_lines_fail() -> None:
    for lines, first in (
        (("one", "three"), "line 2 is 'three', not 'two'"),
        (("one",), "line 2 is 'nothing', not 'two'"),
        ((*LINES, "more"), "line 3 is 'more', not 'nothing'"),
    ):
        verdict = report(lines)
        assert not verdict.passed and verdict.verdict == "FAIL" and verdict.differing == 1
        assert verdict.first == first and verdict.as_json()["first_difference"] == first


def test_silence_never_passes() -> None:
    assert report((), ()).verdict == "FAIL"
    assert report((), None).verdict == report(LINES, None).verdict == "NOT COMPARED"


def test_junit_has_the_lines() -> None:
    def case(verdict: ApplicationReport) -> Any:
        (suite,) = make_suites("net", verdict, None)
        (only,) = suite
        return only

    assert not case(report(LINES)).result
    assert case(report(LINES)).system_out == "one\ntwo"
    (failure,) = case(report(("one",))).result
    assert "line 2 is 'nothing'" in failure.message
    assert case(report(LINES, None)).is_skipped


def test_work_is_a_share_of_the_inputs_time_at_the_boards_clock() -> None:
    work = ApplicationWork(3_200_000, "instructions", 32_000_000, 2.0)
    assert work.share == pytest.approx(0.05)
    assert work.text(100) == (
        "1,600,000 instructions for each second of input: 5.0% of the time at 32 MHz, at one in a "
        "cycle"
    )
    assert work.as_json() == {
        "count": 3_200_000,
        "unit": "instructions",
        "rate_hz": 32_000_000,
        "input_s": 2.0,
        "share": work.share,
    }


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (
            ApplicationWork(900, "cycles", 400, 1.5),
            "600 cycles for each second of input: 150.0% of the time",
        ),
        (
            ApplicationWork(900, "instructions", None, 3.0),
            "300 instructions for each second of input, without",
        ),
        (
            ApplicationWork(900, "instructions", 400, None),
            "9 instructions for each item, without waits",
        ),
    ],
)
def test_what_is_unknown_is_left_out(work: ApplicationWork, text: str) -> None:
    assert work.text(100).startswith(text)
