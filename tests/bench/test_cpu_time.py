"""The page of whole networks in cycles, and the paces that follow from its figures."""

import pytest

from bench.cpu_time import DOCS, PAGE, documented, paces, render, stored
from bench.submissions import BEST, NETWORKS, SUBMISSIONS, TFLM, errors
from ethosgen.cycles.pace import PACE


def test_the_page_is_that_of_the_stored_figures() -> None:
    assert PAGE.read_text("utf-8") == render(stored()), (
        "write it: python -m bench.cpu_time --render"
    )


def test_the_documentation_has_the_table_of_boards() -> None:
    text = DOCS.read_text("utf-8")
    assert text == documented(text, stored()), "write it: python -m bench.cpu_time --render"


def test_errors_are_of_cycles_at_the_clock_of_the_board() -> None:
    """Renesas tells 288.611 inferences a second of kws at 480 MHz."""
    board = next(each for each in SUBMISSIONS if each.core == "cortex-m85")
    network, published, counted = next(errors(board))
    assert network == "kws" and published == pytest.approx(480 / 288.611)
    assert counted == TFLM["cortex-m85"][0] / 1e6
    best = BEST["kws", "cortex-m85"].cycles_m
    assert best == pytest.approx(published, abs=0.01)


def test_every_board_has_a_count_and_a_best_time_of_each_network() -> None:
    for board in SUBMISSIONS:
        assert len(TFLM[board.core]) == len(NETWORKS) == len(list(errors(board)))
        assert all((network, board.core) in BEST for network in NETWORKS)


def test_the_stored_costs_rest_on_the_figures() -> None:
    for core, pace in paces(stored()).items():
        assert PACE[core] == pace
    assert PACE["cortex-m0"] == PACE["cortex-m0plus"]
    assert PACE["cortex-m52"] == PACE["cortex-m55"]
