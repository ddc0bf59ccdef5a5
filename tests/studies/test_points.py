"""One configuration: its cost, its exactness, and whatever refuses it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import aot, frontend
from ethosgen.board import load_board
from ethosgen.cycles.pace import PACE
from ethosgen.flow.costs import sram_bytes
from ethosgen.oracle import DEFAULT
from ethosgen.samples.drawing import draw_samples
from ethosgen.studies import points
from ethosgen.studies.points import find_place, measure_point
from ethosgen.values.configurations import Cost, Point, Result, Setting
from ethosgen.values.extension import Extension
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.schedule import USUAL_SCHEDULE
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build
from tests.support.small_models import image_net

BOARD, NPU = "corstone300", "ethos-u55-128"


def point_of(path: Path, npu: str = NPU, mode: str | None = None, **changes: Any) -> Point:
    setting = Setting("image_net", BOARD, npu, mode, USUAL_SCHEDULE)
    setting = replace(setting, board=changes.pop("board", BOARD))
    return Point(frontend.open_source(path), setting, OffloadOptions(check=False), **changes)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_net(tmp_path_factory.mktemp("costs") / "image_net.tflite")


@pytest.fixture(scope="module")
def result(path: Path) -> Result:
    return measure_point(point_of(path))


def cost_of(result: Result) -> Cost:
    assert result.cost is not None, result.refusal
    return result.cost


def test_everything_is_on_the_npu(result: Result) -> None:
    cost = cost_of(result)
    assert result.setting.memory_mode == "shared_sram"
    assert (cost.cpu_operators, cost.cpu_cycles, cost.unknown_operators) == (0, 0, 0)
    assert cost.partitions == 1 and cost.start_cycles > 0
    assert cost.npu_cycles and cost.model_cycles
    assert cost.cycles == cost.model_cycles + cost.start_cycles
    assert abs(cost.model_cycles / cost.npu_cycles - 1) < 0.5
    assert cost.sram_bytes == cost.arena_bytes > 0


def test_its_outputs_were_compared(result: Result) -> None:
    assert result.exactness is not None and result.exactness.is_exact
    assert result.exactness.elements == 4 * result.exactness.samples == 4 * points.SAMPLES


def test_a_difference_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = point_of(path, samples=3, seed=41)
    network = frontend.read(path)
    (output,) = network.outputs
    golden = DEFAULT.run(network, draw_samples(network, 3, 41))
    right = [sample[output.name].reshape(-1) for sample in golden]
    right[1][2] ^= 1
    wrong = [{output.name: array.reshape(output.shape)} for array in right]
    monkeypatch.setattr(points, "simulate_samples", lambda *_: wrong)
    result = measure_point(point)
    assert result.differs
    assert result.exactness is not None
    assert (result.exactness.mismatches, result.exactness.elements) == (1, 12)


def test_weights_may_be_in_sram(path: Path, result: Result) -> None:
    point = point_of(path, mode="sram_only", samples=0)
    cost = cost_of(measure_point(point))
    assert cost.sram_bytes == cost.arena_bytes + cost.constant_bytes
    place = find_place(point)
    assert sram_bytes(place.compiled(Watch()), place.board, place.mode) == cost.sram_bytes


def test_a_dedicated_sram_holds_no_arena(path: Path) -> None:
    result = measure_point(point_of(path, "ethos-u85-256", "dedicated_sram", samples=0))
    cost = cost_of(result)
    assert cost.sram_bytes == cost.fast_bytes > 0 and cost.arena_bytes > 0
    assert result.exactness is None and result.unmeasured


@pytest.mark.parametrize(
    ("board", "extension"), [(BOARD, Extension.HELIUM), ("nrf52840dk", Extension.DSP)]
)
def test_the_cpu_alone(path: Path, board: str, extension: Extension) -> None:
    cost = cost_of(measure_point(point_of(path, "none", board=board, samples=1)))
    graph = frontend.read(path).graph
    each = [aot.cpu_cycles(op, graph, extension) for op in graph.operators]
    core = load_board(board).cpu.core
    assert cost.cycles == cost.cpu_cycles == round(PACE[core] * sum(np.array(each)))
    assert cost.model_cycles is None and cost.partitions == cost.start_cycles == 0
    assert cost.seconds == pytest.approx(cost.cpu_cycles / (cost.cpu_hz or 0))


@pytest.mark.parametrize(
    ("npu", "mode", "said"),
    [
        (NPU, "dedicated_sram", "does not support memory mode 'dedicated_sram'"),
        (NPU, "huge", "has no memory mode 'huge'"),
        ("ethos-u85-3", None, "unknown NPU"),
    ],
)
def test_a_refusal_is_a_result(path: Path, npu: str, mode: str | None, said: str) -> None:
    result = measure_point(point_of(path, npu, mode))
    assert result.cost is None and said in result.refusal


def test_a_damaged_network_is_a_result(path: Path) -> None:
    point = point_of(path)
    damaged = replace(point, source=replace(point.source, data=point.source.data[:200]))
    assert measure_point(damaged).refusal


def test_energy_is_published_power_times_time(path: Path) -> None:
    board = load_board("nrf52840dk")
    assert board.cpu.power is not None
    cost = cost_of(measure_point(point_of(path, "none", board="nrf52840dk", samples=0)))
    assert cost.energy is not None and cost.seconds is not None
    assert cost.energy.joules == pytest.approx(3.0 * 0.0033 * cost.seconds)
    assert "Product Specification" in cost.energy.source


def test_no_energy_is_guessed(path: Path, result: Result) -> None:
    assert cost_of(result).energy is None  # nobody publishes the NPU's power
    alone = cost_of(measure_point(point_of(path, "none", samples=0)))
    assert alone.energy is None  # nor that of an FPGA


def test_what_does_not_fit_has_its_figures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = measure_point(point_of(path, "none", board="microbit", samples=0))
    assert result.cost is not None and not result.misfit

    def refuse(*_: object) -> None:
        raise points.CapacityError("the arena needs more")

    monkeypatch.setattr(points, "check_capacity", refuse)
    result = measure_point(point_of(path, samples=0))
    assert result.cost is not None and result.misfit == "the arena needs more"


@needs_build
def test_code_is_measured_by_a_build(path: Path, result: Result) -> None:
    point = point_of(path, samples=0, build=True)
    cost = cost_of(measure_point(point))
    assert cost.code_bytes is not None and 1000 < cost.code_bytes < 4000
    assert cost.flash_bytes == cost.constant_bytes + cost.code_bytes
    assert cost_of(result).code_bytes is None


def test_a_board_without_firmware_has_a_note(path: Path) -> None:
    result = measure_point(point_of(path, "none", board="ra8p1", samples=0, build=True))
    assert cost_of(result).code_bytes is None
    assert "board 'ra8p1' has no bare-metal firmware, so no code was built" in result.notes


def test_clocks_that_count_may_be_unverified(path: Path, result: Result) -> None:
    assert result.notes == (f"npu.clock_hz of board '{BOARD}' is unverified",)
    assert measure_point(point_of(path, "none", samples=0)).notes == ()
