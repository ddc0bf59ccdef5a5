"""The page of whole networks in cycles, and the paces that follow from its figures."""

from bench.cpu_time import PAGE, paces, render, stored
from ethosgen.cycles.pace import PACE


def test_the_page_is_that_of_the_stored_figures() -> None:
    assert PAGE.read_text("utf-8") == render(stored()), (
        "write it: python -m bench.cpu_time --render"
    )


def test_the_stored_costs_rest_on_the_figures() -> None:
    for core, pace in paces(stored()).items():
        assert PACE[core] == pace
    assert PACE["cortex-m0"] == PACE["cortex-m0plus"]
    assert PACE["cortex-m52"] == PACE["cortex-m55"]
