"""The layers that `make bench` measures, and what it says of them."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from bench.shapes import data, spot
from bench.shapes.data import OURS
from bench.shapes.shape import INT8, Case


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return data.load()


def test_each_family_has_one_small_layer(results: dict[str, Any]) -> None:
    rows = list(data.rows(results))
    by_name = {row.name: row for row in rows}
    for core in spot.CORES:
        some = spot.chosen(rows, INT8, core)
        families = [case.shape.family for case in some]
        assert len(families) == len(set(families)) >= 25
        for case in some:
            assert by_name[case.name].products <= spot.MOST_PRODUCTS
            assert by_name[case.name].figure(core, OURS)


@pytest.mark.parametrize(
    ("factor", "mismatches", "missed"),
    [
        (1.0, 0, []),
        (0.5, 0, []),
        (1.5, 0, ["1.500 of the stored instructions"]),
        (1.0, 2, ["elements of int8 layers differ on cortex-m55"]),
    ],
)
def test_what_is_worse_is_said(
    results: dict[str, Any], factor: float, mismatches: int, missed: list[str]
) -> None:
    rows = {row.name: row for row in data.rows(results)}

    def measure(some: Sequence[Case], core: str) -> Iterator[dict[str, Any]]:
        for case in some:
            figure = rows[case.name].figure(core, OURS)
            assert figure is not None
            yield {"instructions": figure.instructions * factor, "mismatches": mismatches}

    first = next(spot.spots(results, measure))
    assert (first.core, first.dtype) == ("cortex-m55", INT8)
    assert first.ratio == pytest.approx(factor)
    assert first.mismatches == mismatches * len(first.ratios)
    assert f"{factor:.3f} of the stored instructions" in first.text()
    said = list(first.misses())
    assert len(said) == len(missed)
    assert all(part in sentence for part, sentence in zip(missed, said, strict=True))


def test_cycles_decide_where_they_were_measured_before(results: dict[str, Any]) -> None:
    changed = copy.deepcopy(results)
    for case in changed["cases"].values():
        for core in set(spot.CORES) & case.keys():
            case[core][OURS] = [*case[core][OURS][:6], 0, 1000]

    def measure(some: Sequence[Case], core: str) -> Iterator[dict[str, Any]]:
        return ({"instructions": 1, "cycles": 1500, "mismatches": 0} for _ in some)

    first = next(spot.spots(changed, measure))
    assert "1.500 of the stored cycles" in first.text()
    assert first.ratio == pytest.approx(1.5)
