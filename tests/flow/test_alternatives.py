"""Advice that other configurations give: which they are, and that their gains are the estimates."""

import re

import pytest

from ethosgen.flow import alternatives as module
from ethosgen.flow.alternatives import alternatives
from ethosgen.flow.costs import Place, cost_of
from ethosgen.frontend import open_source
from ethosgen.studies.points import find_place
from ethosgen.values.advice import NPU_SIZE, Improvement, ranked
from ethosgen.values.configurations import Cost, Point, Setting
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.schedule import USUAL_SCHEDULE
from ethosgen.values.watch import Watch
from tests.support.costs import make_cost
from tests.support.reports import DIGITS


@pytest.fixture(scope="module")
def place() -> Place:
    return digits_place("ethos-u55-256")


def digits_place(npu: str) -> Place:
    setting = Setting("digits", "corstone300", npu, "shared_sram", USUAL_SCHEDULE)
    return find_place(Point(open_source(DIGITS), setting, OffloadOptions(check=False)))


def advice_with(place: Place, monkeypatch: pytest.MonkeyPatch, **costs: Cost) -> list[Improvement]:
    """Return the advice if configurations have these costs; the key is an NPU or a mode."""

    def attempt(other: Place) -> Cost | None:
        key = other.mode if other.mode != place.mode else other.npu
        return costs.get(key.replace("-", "_"))

    monkeypatch.setattr(module, "_attempt", attempt)
    monkeypatch.setattr(module, "cost_of", lambda *_: make_cost(1000))
    return list(alternatives(place.compiled(Watch()), place))


def test_a_mode_that_is_faster_by_five_percent_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (piece,) = advice_with(place, monkeypatch, sram_only=make_cost(870, sram_bytes=9000))
    assert (piece.code, piece.of) == ("memory-mode", "time") and "10 % less" in piece.text
    assert piece.command.endswith("--npu ethos-u55-256 --memory-mode sram_only")
    assert not advice_with(place, monkeypatch, sram_only=make_cost(960))


def test_the_smallest_npu_that_suffices_is_named_last(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {"ethos_u55_128": make_cost(1010), "ethos_u55_64": make_cost(1100)}
    (piece,) = advice_with(place, monkeypatch, **costs, ethos_u55_32=make_cost(1200))
    assert piece.share == 0.75 and "--npu ethos-u55-64" in piece.command
    time = Improvement("memory-mode", "", 0.05, "time")
    assert ranked([piece, time]) == (time, piece) and piece.of == NPU_SIZE
    assert not advice_with(place, monkeypatch, ethos_u55_128=make_cost(1500))


def test_a_mode_on_a_real_network_keeps_what_it_says() -> None:
    place = digits_place("ethos-u55-256")
    program = place.compiled(Watch())
    now = cost_of(program, place).cycles
    for piece in alternatives(program, place):
        name = piece.command.rpartition(" ")[2]
        smaller = digits_place(name) if piece.code == "smaller-npu" else None
        assert smaller is not None, piece
        longer = cost_of(smaller.compiled(Watch()), smaller).cycles / now - 1
        assert longer <= 0.1 and re.search(r"takes .* % longer", piece.text)
