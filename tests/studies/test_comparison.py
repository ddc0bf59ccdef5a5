"""Comparisons: their points, and their results in order."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ethosgen.board import load_board
from ethosgen.studies import comparison
from ethosgen.studies.comparison import (
    ComparisonRequest,
    compare,
    key_of,
    points_of,
    processes_for,
    with_front,
)
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.schedule import Schedule, Strategy
from ethosgen.values.watch import Watch
from tests.support.costs import make_cost, make_result
from tests.support.small_models import image_net

UNCHECKED = OffloadOptions(check=False)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_net(tmp_path_factory.mktemp("comparison") / "image_net.tflite")


def asked_for(path: Path, **changes: Any) -> ComparisonRequest:
    return ComparisonRequest((path,), **{"options": UNCHECKED, "samples": 1, **changes})


def rows(path: Path, **changes: Any) -> list[tuple[str, str | None]]:
    points = points_of(asked_for(path, **changes))
    return [(point.setting.npu, point.setting.memory_mode) for point in points]


def test_all_npus_are_the_board_s(path: Path) -> None:
    board = load_board("corstone300")
    assert board.npu is not None
    assert [npu for npu, _ in rows(path)] == list(board.npu.configurations)
    assert rows(path, boards=("nrf52840dk",)) == [("none", None)]
    assert rows(path, npus=("all", "none"))[-1] == ("none", None)


def test_all_memory_modes_are_those_of_board_and_npu(path: Path) -> None:
    npus = ("ethos-u55-128", "ethos-u65-256", "none")
    all_modes = rows(path, npus=npus, memory_modes=("all",))
    assert [npu for npu, _ in all_modes].count("ethos-u55-128") == 2
    assert [npu for npu, _ in all_modes].count("ethos-u65-256") == 3
    assert ("none", None) in all_modes and ("ethos-u55-128", "dedicated_sram") not in all_modes
    single = rows(path, npus=npus[:1], memory_modes=("dedicated_sram",))
    assert single == [("ethos-u55-128", "dedicated_sram")]  # its reason will be its row


def test_schedules_are_combined(path: Path) -> None:
    asked = asked_for(
        path, npus=("ethos-u55-128", "none"), strategies=tuple(Strategy), arena_limits=(4096,)
    )
    combined = [(point.setting.npu, point.setting.schedule) for point in points_of(asked)]
    assert combined == [
        ("ethos-u55-128", Schedule(Strategy.PERFORMANCE)),
        ("ethos-u55-128", Schedule(Strategy.PERFORMANCE, 4096)),
        ("ethos-u55-128", Schedule(Strategy.SIZE)),
        ("ethos-u55-128", Schedule(Strategy.SIZE, 4096)),
        ("none", Schedule()),
    ]


def test_networks_of_the_same_name_have_their_paths(path: Path, tmp_path: Path) -> None:
    other = image_net(tmp_path / path.name)
    points = points_of(replace(asked_for(path), networks=(path, other), npus=("none",)))
    assert [point.setting.network for point in points] == [str(path), str(other)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"npus": ("ethos-u55-12",)}, "unknown NPU 'ethos-u55-12'"),
        ({"memory_modes": ("shared",)}, "unknown memory mode 'shared' .did you mean 'shared_sram'"),
        ({"boards": ("corstone3",)}, "unknown board 'corstone3'"),
    ],
)
def test_what_does_not_exist_ends_it(path: Path, changes: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        points_of(asked_for(path, **changes))


def test_results_are_in_order_and_partial_failures_are_rows(path: Path) -> None:
    asked = asked_for(
        path,
        npus=("ethos-u55-128", "none"),
        memory_modes=("dedicated_sram", "shared_sram"),
        processes=1,
    )
    said: list[str] = []
    report = compare(asked, Watch(said.append))
    refusals = [
        (result.setting.npu, result.setting.memory_mode, bool(result.refusal))
        for result in report.results
    ]
    assert refusals == [
        ("ethos-u55-128", "dedicated_sram", True),
        ("ethos-u55-128", "shared_sram", False),
        ("none", "dedicated_sram", False),
        ("none", "shared_sram", False),
    ]
    assert report.passed and report.versions["Vela"]
    assert any("4 of 4 points" in line for line in said)


@pytest.mark.slow  # worker processes import the compilers
def test_several_processes_give_the_same(path: Path) -> None:
    asked = asked_for(path, npus=("ethos-u55-128", "ethos-u55-256"))
    alone = compare(replace(asked, processes=1), Watch())
    shared = compare(replace(asked, processes=2), Watch())
    assert alone.results == shared.results


def test_processes_are_those_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "processor_count", lambda: 3)
    assert [processes_for(None, 3), processes_for(None, 4)] == [1, 3]
    assert [processes_for(8, 2), processes_for(2, 9), processes_for(2, 0)] == [2, 2, 1]


def test_the_front_is_that_of_a_network_on_a_board() -> None:
    quick, slow = make_result(), make_result(cost=make_cost(9000))
    elsewhere = replace(slow, setting=replace(slow.setting, board="other"))
    large = make_result(cost=make_cost(1, 1), misfit="it does not fit")
    refused = make_result(cost=None, refusal="no")
    results = with_front([slow, quick, elsewhere, large, refused])
    assert [result.on_front for result in results] == [False, True, True, False, False]


def test_a_key_depends_on_everything(path: Path, tmp_path: Path) -> None:
    (point,) = points_of(asked_for(path, npus=("none",)))
    assert key_of(pickle.loads(pickle.dumps(point))) == key_of(point)
    setting = point.setting
    others = [
        replace(point, source=replace(point.source, data=b"other")),
        replace(point, setting=replace(setting, npu="ethos-u55-128")),
        replace(point, setting=replace(setting, board="corstone310")),
        replace(point, setting=replace(setting, schedule=Schedule(Strategy.SIZE))),
        replace(point, options=OffloadOptions()),
        replace(point, samples=2),
        replace(point, seed=1),
        replace(point, build=True),
    ]
    assert len({key_of(each) for each in (point, *others)}) == 1 + len(others)
