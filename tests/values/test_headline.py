"""The answer at a glance: every row, with and without each figure."""

from typing import Any

import pytest

from ethosgen.values.advice import Improvement, ranked
from ethosgen.values.headline import Headline, Latency, Occupancy
from ethosgen.values.plan import Share
from ethosgen.values.time import CpuTime, percent


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0004, "under 0.1 %"),
        (0.0023, "0.2 %"),
        (0.0996, "10 %"),
        (0.42, "42 %"),
        (0.9979, "99.8 %"),
        (0.99999, "100 %"),
        (1, "100 %"),
        (1.5, "150 %"),
    ],
)
def test_a_part_has_as_many_digits_as_matter(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_latency_says_what_is_estimated_and_what_is_left_out() -> None:
    both = Latency(0.004, 0.003, hz=32_000_000)
    assert both.text() == "≈ 4.0 ms per inference at 32 MHz: NPU 75 %, CPU 25 %"
    assert Latency(0.004, None, is_estimate=False).text() == "4.0 ms per inference"
    open_ended = Latency(0.004, None, unknown=("WHERE",))
    assert open_ended.text() == "≈ 4.0 ms per inference; without WHERE, of unknown time"
    assert both.as_json()["npu_milliseconds"] == 3.0


def test_a_device_takes_its_declared_cycles_at_the_processors_clock() -> None:
    cpu = CpuTime(1_000_000, 100_000_000, "a model")
    engine = Share("engine", "an engine", 1, 2, 700_000, device_cycles=500_000)
    library = Share("library", "a library", 1, 2, None)  # its calls are the processor's cycles
    both = Latency.counted(cpu, 0.005, [engine, library])
    assert both.text() == ("≈ 20 ms per inference at 100 MHz: NPU 25 %, engine 25 %, CPU 50 %")
    assert both.as_json()["device_milliseconds"] == {"engine": 5.0} and not both.unknown
    beside = Latency.counted(cpu, 0.005, [engine, library], hidden_cycles=400_000)
    assert beside.text() == (
        "≈ 16 ms per inference at 100 MHz: NPU 31 %, engine 31 %, CPU 62 %; 25 % at once"
    )
    silent = Latency.counted(cpu, None, [Share("dark", "a dark one", 1, 1, device_cycles=None)])
    assert silent.text() == "≈ 10 ms per inference at 100 MHz; without a dark one, of unknown time"


def test_an_occupancy_is_of_the_boards_memory_if_that_is_known() -> None:
    assert Occupancy(55_150, 512 << 10).text() == "55,150 B, 11 % of 512 KiB"
    assert Occupancy(55_150, 5 << 19).text() == "55,150 B, 2.1 % of 2.5 MiB"
    assert Occupancy(12).text() == "12 B" and Occupancy(12).as_json()["share"] is None


FULL: dict[str, Any] = {
    "compared": "2 outputs of 1 sample equal TensorFlow Lite Micro's",
    "latency": Latency(1, None),
    "ram": Occupancy(1),
    "flash": Occupancy(2),
    "advice": Improvement("float", "quantize it", 0.5, "weights", "ethosgen quantize x"),
}


def test_the_rows_are_in_order_and_empty_ones_are_missing() -> None:
    titles = [title for title, _ in Headline("PASS", "net", **FULL).rows()]
    assert titles == ["compared", "time", "memory", "advice", ""]
    assert Headline("FAIL", "net").rows() == []
    alone = dict(Headline("PASS", "net", ram=Occupancy(1), is_library_alone=True).rows())
    assert alone == {"memory": "tensors 1 B"}
    answer = Headline("PASS within 1 step", "net", **FULL).as_json()
    assert answer["advice"]["command"] == "ethosgen quantize x" and answer["ram"]["bytes"] == 1


def test_the_largest_gain_comes_first() -> None:
    small, large = (Improvement("x", "y", share, "time") for share in (0.1, 0.4))
    assert ranked([small, large]) == (large, small)
    assert small.lines() == ("y",)


def test_a_notebook_gets_escaped_html() -> None:
    text = Headline("FAIL", "a <b>", compared="1 & 2").html()
    assert "a &lt;b&gt;" in text and "1 &amp; 2" in text and "FAIL" in text
