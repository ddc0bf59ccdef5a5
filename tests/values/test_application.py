"""The report of an application's run: what it makes of the work that the application counted."""

import pytest

from ethosgen.values.application import Work


def test_work_is_a_share_of_the_inputs_time_at_the_boards_clock() -> None:
    work = Work(3_200_000, "instructions", 32_000_000, 2.0)
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
        (Work(900, "cycles", 400, 1.5), "600 cycles for each second of input: 150.0% of the time"),
        (
            Work(900, "instructions", None, 3.0),
            "300 instructions for each second of input, without",
        ),
        (Work(900, "instructions", 400, None), "9 instructions for each item, without waits"),
    ],
)
def test_what_is_unknown_is_left_out(work: Work, text: str) -> None:
    assert work.text(100).startswith(text)
