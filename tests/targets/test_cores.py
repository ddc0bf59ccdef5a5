"""Boards without an NPU, one of each core, on QEMU."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import board_names, load_board
from ethosgen.values.errors import InputError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe

NETWORK = ROOT / "demo" / "digits_int8.tflite"
BOARDS = [
    name for name in board_names() if (board := load_board(name)).run.qemu and board.npu is None
]


def verify(board: str, samples: int = 2) -> Report:
    report = flow.verify(
        recipe(NETWORK, board=board), flow.RunOptions(Inputs(None, samples, 1)), watch=Watch()
    )
    assert isinstance(report, Report)
    return report


def test_every_core_of_qemu_has_a_board() -> None:
    cores = {load_board(name).cpu.core for name in BOARDS}
    assert cores == {f"cortex-m{number}" for number in ("0", "0plus", "3", "4", "7", "33")}


@needs_qemu
@pytest.mark.parametrize("name", BOARDS)
def test_it_equals_tflm(name: str) -> None:
    report = verify(name)
    assert report.passed and (report.plan.npu, report.on) == ("none", "qemu")
    assert report.golden.elements == 20
    assert report.cpu_instructions is not None and report.cpu_instructions > 100_000
    assert report.stack_bytes is not None and 0 < report.stack_bytes < 2048


@needs_qemu
def test_two_counters_count_the_same_instructions() -> None:
    """A CMSDK timer and SysTick, whose interrupt extends it: within a millionth, and 100."""
    timer, systick = verify("mps2-an385", 1), verify("qemu-cortex-m3", 1)
    kinds = [load_board(name).counter for name in ("mps2-an385", "qemu-cortex-m3")]
    assert [kind and kind.kind for kind in kinds] == ["cmsdk", "systick"]
    counts = timer.cpu_instructions, systick.cpu_instructions
    assert counts[0] is not None and counts[1] is not None
    assert abs(counts[0] - counts[1]) < 100 + counts[0] / 1e6


STANDING_IN = ["nucleo-f746zg", "rpi-pico"]


@needs_qemu
@pytest.mark.parametrize("name", STANDING_IN)
def test_another_board_of_the_core_stands_in(name: str) -> None:
    """The library is compiled for the board's own core: an M0+, and an M7 in single precision."""
    report = verify(name)
    board = load_board(name)
    assert report.passed and board.run.stand_in in BOARDS
    assert report.stand_in is not None and board.run.stand_in in report.stand_in


def test_every_board_without_an_npu_runs_on_qemu() -> None:
    without = [load_board(name) for name in board_names()]
    for board in without:
        if board.npu is None and board.linux is None:
            assert board.on_qemu is not None and board.on_qemu.name in BOARDS
            cores = board.cpu.core, board.on_qemu.cpu.core
            assert cores[0].removesuffix("plus") == cores[1].removesuffix("plus")


@pytest.mark.parametrize("name", BOARDS)
def test_an_npu_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"board '{name}' has no NPU; omit --npu or pass --npu n"):
        flow.create_project(
            recipe(NETWORK, board=name, npu="ethos-u55-128"),
            directory=tmp_path / "p",
            watch=Watch(),
        )
