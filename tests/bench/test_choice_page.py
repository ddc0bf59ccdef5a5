"""evidence/choice.md is what the bench writes, and no choice in it is slower than another."""

import copy
import json
from typing import Any

import pytest

from bench.choice_page import NOISE, PAGE, RESULTS, TABLES, misses, page


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(RESULTS.read_text())
    return stored


def test_the_page_is_what_the_bench_writes(results: dict[str, Any]) -> None:
    assert PAGE.read_text() == page(results), "run python -m bench.choice --render"


def test_no_choice_is_slower_and_nothing_differs(results: dict[str, Any]) -> None:
    assert {key for table in TABLES for key in table.columns} <= results["runs"].keys()
    assert all(len(networks) == 6 for networks in results["runs"].values())
    assert misses(results, TABLES) == []


def test_a_slower_choice_and_a_difference_are_said(results: dict[str, Any]) -> None:
    worse = copy.deepcopy(results)
    chosen = worse["runs"]["matrix-engine auto"]["digits_int8"]
    alternative = worse["runs"]["matrix-engine"]["digits_int8"]
    chosen["instructions"] = alternative["instructions"]
    chosen["device_cycles"] = alternative["device_cycles"] + NOISE + 1
    chosen["mismatches"] = 3
    slower, differs = misses(worse, TABLES)
    assert slower.startswith("digits_int8, matrix-engine auto: ") and "with matrix-engine" in slower
    assert differs == f"digits_int8, matrix-engine auto: 3 of {chosen['elements']} differ"
