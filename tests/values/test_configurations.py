"""The figures of configurations, and the Pareto front of several."""

import json
import pickle
from dataclasses import replace

import pytest

from ethosgen.values.configurations import (
    ComparisonReport,
    Energy,
    Exactness,
    Point,
    durations,
    front,
    groups,
)
from ethosgen.values.source import Source
from tests.support.costs import make_cost, make_result


def test_a_time_is_the_sum_of_both_processors() -> None:
    cost = make_cost(3000, cpu_cycles=700, npu_hz=1_000_000, cpu_hz=2_000_000)
    assert cost.cycles == 3000 + 700 + 300
    assert cost.seconds == pytest.approx(3e-3 + 0.5e-3)


def test_a_time_needs_only_the_clocks_that_count() -> None:
    assert make_cost(npu_hz=None).seconds is None
    alone = make_cost(0, npu_hz=None, start_cycles=0, cpu_cycles=10, cpu_hz=10)
    assert alone.seconds == 1
    assert make_cost(5, cpu_hz=None).seconds is None


def test_the_model_of_the_npu_counts_as_in_verify_else_its_compiler() -> None:
    assert make_cost(1000, model_cycles=1400, start_cycles=0).cycles == 1400
    assert make_cost(1000, model_cycles=900, start_cycles=0).cycles == 900
    assert make_cost(1000, model_cycles=None, start_cycles=0).cycles == 1000
    compiled = replace(make_cost(start_cycles=0), npu_cycles=None, model_cycles=70)
    assert compiled.cycles == 70


def test_flash_includes_code_that_was_built() -> None:
    assert make_cost(constant_bytes=100).flash_bytes == 100
    assert make_cost(constant_bytes=100, code_bytes=23).flash_bytes == 123


def test_the_front_has_less_memory_for_more_time() -> None:
    small, middle, large = make_cost(30, 10), make_cost(20, 20), make_cost(10, 30)
    worse, equal = make_cost(20, 21), make_cost(20, 20)
    assert front([large, worse, None, middle, equal, small]) == [5, 3, 0]
    assert front([None]) == front([]) == []


def test_the_front_compares_cycles_where_a_clock_is_unknown() -> None:
    slow_clock = make_cost(10, 10, npu_hz=1)  # fewer cycles, and more seconds
    quick_clock = make_cost(20, 20, npu_hz=1_000_000_000)
    assert front([slow_clock, quick_clock]) == [0, 1]
    assert front([slow_clock, quick_clock, make_cost(30, 30, npu_hz=None)]) == [0]


def test_a_lower_bound_is_no_time() -> None:
    bound, known = make_cost(1, 20, unknown_operators=1), make_cost(500, 10)
    assert durations([bound, known])[0] > durations([bound, known])[1]
    assert front([bound, known]) == [1]


@pytest.mark.parametrize(
    ("exactness", "is_exact"),
    [
        (Exactness("tflm", 5, 60, 0), True),
        (Exactness("tflm", 5, 60, 1), False),
        (Exactness("tflm", 5, 0, 0), False),  # nothing was compared
    ],
)
def test_exactness_needs_a_comparison(exactness: Exactness, is_exact: bool) -> None:
    assert exactness.is_exact is is_exact
    assert make_result(exactness=exactness).differs is not is_exact
    assert ComparisonReport((make_result(exactness=exactness),), {}).passed is is_exact


def test_a_report_needs_a_figure() -> None:
    refused = make_result(cost=None, exactness=None, refusal="Vela refuses it")
    assert not ComparisonReport((refused,), {}).passed
    report = ComparisonReport((refused, make_result(exactness=None)), {"Vela": "5.2"})
    assert report.passed
    told = json.loads(json.dumps(report.as_json()))
    assert [row["refusal"] for row in told["results"]] == ["Vela refuses it", None]
    assert [row["cycles"] for row in told["results"]] == [None, 1300]
    assert told["results"][1]["exact"] is None
    assert told["results"][0].keys() == told["results"][1].keys()


def test_a_figure_of_energy_has_its_source() -> None:
    row = make_result(cost=make_cost(energy=Energy(2e-6, "data sheet"))).as_json()
    assert (row["energy_microjoules"], row["energy_source"]) == (2.0, "data sheet")


def test_points_and_results_can_be_pickled() -> None:
    result = make_result()
    point = Point(Source("tflite", "net.tflite", b"bytes"), result.setting)
    assert pickle.loads(pickle.dumps((point, result))) == (point, result)


def test_results_are_grouped_in_order() -> None:
    plain, two = make_result("none"), make_result()
    other = replace(plain, setting=replace(plain.setting, board="other"))
    assert groups([two, other, plain]) == {
        ("net", "corstone300"): [two, plain],
        ("net", "other"): [other],
    }
