"""The page of `make bench`."""

import json

import pytest

from bench import measure, tables

FACTS = {
    "date": "2030-01-02",
    "commit": "abcdef0",
    "machine": dict.fromkeys(("cpu", "cores", "load", "python", "gcc", "qemu"), "z80"),
}


def test_a_part_measured_apart_has_its_own_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    results = json.loads(tables.RESULTS.read_text())
    monkeypatch.setattr(measure, "conditions", lambda: FACTS)
    monkeypatch.setattr(measure, "PARTS", {"times": lambda: results["times"]})

    again = measure.measure_part(results, "times")

    section = tables.page(again).split("## Times")[1].split("## ")[0]
    assert "Measured separately, on 2030-01-02 from commit abcdef0:\nz80" in section
    assert "2030-01-02" not in tables.page(again).split("## Times")[0]
    assert again["models"] == results["models"]


def test_the_page_is_that_of_the_figures() -> None:
    results = json.loads(tables.RESULTS.read_text())
    assert tables.PAGE.read_text() == tables.page(results)
