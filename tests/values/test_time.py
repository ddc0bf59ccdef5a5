"""Times have two significant digits and a unit, and say where they are from."""

import pytest

from ethosgen.values.time import CpuTime, duration, rounded


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0014449, "1.4 ms"),
        (0.02534, "25 ms"),
        (0.00099951, "1.0 ms"),
        (1234.5, "1,200 s"),
        (7.53e-6, "7.5 µs"),
        (0.123456, "120 ms"),
        (0.0, "0.0 ns"),
    ],
)
def test_a_time_has_two_digits_and_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_figures_are_rounded_to_two_digits() -> None:
    known = [rounded(value) for value in (0, 1, 99.6, 810_910, 0.0346)]
    assert known == [0, 1, 100, 810_000, 0.035]


def test_a_share_says_cycles_time_and_source() -> None:
    time = CpuTime(810_910, 32_000_000, "LLVM's model of the Cortex-M55")
    assert time.text() == "≈ 810,000 cycles, 25 ms at 32 MHz (LLVM's model of the Cortex-M55)"
    assert time.as_json() == {
        "cycles": 810_910,
        "milliseconds": 25.0,
        "clock_hz": 32_000_000,
        "source": "LLVM's model of the Cortex-M55",
        "counted": True,
        "unknown_operators": [],
    }


def test_without_a_clock_there_are_cycles_alone() -> None:
    time = CpuTime(1234, None, "stored costs", is_counted=False)
    assert time.text() == "≈ 1,200 cycles (stored costs)"
    assert time.seconds is None and time.as_json()["milliseconds"] is None


def test_operators_without_an_estimate_are_named() -> None:
    single = CpuTime(100, None, "stored costs", False, ("TOPK_V2",))
    assert single.text() == "≈ 100 cycles (stored costs), without TOPK_V2, which has no estimate"
    double = CpuTime(100, None, "stored costs", False, ("TOPK_V2", "CUMSUM"))
    assert double.text().endswith("without TOPK_V2, CUMSUM, which have no estimate")
