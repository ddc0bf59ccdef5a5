"""A limit of the SRAM chooses the configuration."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.flow import create_project, sram_limit
from ethosgen.flow.costs import sram_bytes
from ethosgen.flow.head import REASON
from ethosgen.project import open_project
from ethosgen.values.errors import CapacityError
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.schedule import USUAL_SCHEDULE, Schedule, Streaming
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.small_models import image_net

NPU, MODE = "ethos-u55-128", "shared_sram"


def layers(folder: Path, name: str = "layers") -> Path:
    """Write a network that takes less SRAM in stripes."""
    net = NetworkBuilder(name, seed=2)
    x = net.input((1, 24, 24, 4), name="image")
    for _ in range(2):
        x = net.conv2d(x, channels=16, kernel=(3, 3), activation="RELU")
    path = folder / f"{name}.tflite"
    path.write_bytes(net.build(net.max_pool(x, (4, 4))))
    return path


def recipe_of(*paths: Path, limit: int | None, npu: str = NPU, mode: str | None = MODE) -> Recipe:
    options = OffloadOptions(check=False)
    return Recipe(paths, "corstone300", npu, memory_mode=mode, options=options, sram_limit=limit)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Return the SRAM of the network without a limit."""
    folder = tmp_path_factory.mktemp("usual")
    return taken(create(recipe_of(layers(folder), limit=None), folder / "p"))


def create(recipe: Recipe, place: Path) -> flow.Written:
    return flow.create_project(recipe, directory=place, watch=Watch())


def taken(written: flow.Written) -> int:
    board = open_project(written.directory).board
    return sum(sram_bytes(program, board, MODE) for program in written.programs)


def test_the_fastest_that_fits_is_chosen_and_stored(tmp_path: Path, usual: int) -> None:
    limit = usual * 3 // 4
    written = create(recipe_of(layers(tmp_path), limit=limit), tmp_path / "p")
    (choice,) = written.choices
    assert taken(written) == choice.chosen.cost.sram_bytes <= limit
    assert choice.larger is not None and choice.smaller is not None
    assert choice.larger.cost.sram_bytes > limit
    assert choice.larger.cost.cycles < choice.chosen.cost.cycles < choice.smaller.cost.cycles
    stored = open_project(tmp_path / "p").network.options.schedule
    assert stored == choice.chosen.schedule != USUAL_SCHEDULE


def test_a_limit_that_nothing_meets_writes_nothing(tmp_path: Path) -> None:
    said = (
        r"'layers' needs at least [\d,]+ bytes of SRAM on ethos-u55-128 in memory mode "
        r"shared_sram, most of them where '\w+' is made, but --sram-limit is 100; raise it, "
        "give the CPU the first layers with --offload auto, or see"
    )
    with pytest.raises(CapacityError, match=said):
        create(recipe_of(layers(tmp_path), limit=100, mode="shared_sram"), tmp_path / "p")
    assert not (tmp_path / "p").exists()


@pytest.mark.slow
def test_the_cpu_alone_has_bands_of_rows(tmp_path: Path) -> None:
    path = image_net(tmp_path / "image_net.tflite")
    recipe = recipe_of(path, limit=1 << 20, npu="none", mode=None)
    (choice,) = create(recipe, tmp_path / "p").choices
    assert choice.smaller is choice.larger is None
    said = (
        "bytes of SRAM on the CPU alone in memory mode shared_sram, most of them where '.+' is made"
    )
    with pytest.raises(CapacityError, match=said):
        create(replace(recipe, sram_limit=64), tmp_path / "q")
    limit = choice.chosen.cost.sram_bytes - 16
    (less,) = create(replace(recipe, sram_limit=limit), tmp_path / "r").choices
    assert less.chosen.cost.sram_bytes <= limit
    assert less.larger is not None
    assert less.chosen.cost.cycles > less.larger.cost.cycles == choice.chosen.cost.cycles


WHOLE = 2 * 48 * 48 * 16
"""The bytes of both tensors of the ELU below."""


def _between(folder: Path, limit: int, mode: OffloadMode = OffloadMode.AUTO) -> Recipe:
    """Return a recipe in which the CPU's ELU is between layers of the NPU, with whole tensors."""
    net = NetworkBuilder("between", seed=6)
    x = net.unary("ELU", net.conv2d(net.input((1, 48, 48, 1)), 16))
    y = net.max_pool(net.conv2d(x, 4, (3, 3), (2, 2)), (2, 2), (2, 2))
    path = folder / "between.tflite"
    path.write_bytes(net.build(y))
    options = OffloadOptions(check=False, mode=mode, cpu_ops=("ELU",))
    return replace(recipe_of(path, limit=limit), options=options)


def test_auto_leaves_the_head_to_the_cpu_in_bands(tmp_path: Path) -> None:
    usual = create(_between(tmp_path, WHOLE), tmp_path / "npu")
    assert usual.programs[0].plan.npu_operators == 3
    with pytest.raises(CapacityError, match="on ethos-u55-128"):
        create(_between(tmp_path, WHOLE // 2, OffloadMode.ALL), tmp_path / "all")
    recipe = _between(tmp_path, WHOLE // 2)
    written = create(recipe, tmp_path / "auto")
    assert taken(written) <= WHOLE // 2
    plan = written.programs[0].plan
    assert plan.npu_operators == 1
    assert {cpu.reason for cpu in plan.cpu_operators} == {REASON}
    (choice,) = written.choices
    assert choice.larger is not None and choice.larger.cost.sram_bytes >= WHOLE
    stored = open_project(tmp_path / "auto").network.options.schedule
    assert stored == choice.chosen.schedule and stored.bands_above is not None


@pytest.mark.slow
def test_auto_leaves_all_to_the_cpu_where_that_is_faster_or_smaller(tmp_path: Path) -> None:
    """The pool alone is not worth the start of the NPU, and its tensors would be whole."""
    for limit in (12000, 8000):
        written = create(_between(tmp_path, limit), tmp_path / str(limit))
        assert taken(written) <= limit
        (program,) = written.programs
        assert {cpu.reason for cpu in program.plan.cpu_operators} == {
            f"with the NPU nothing fits {limit:,} bytes of SRAM"
        }
        assert len(program.plan.cpu_operators) == 4
    with pytest.raises(CapacityError, match=r"needs at least 7,\d+ bytes of SRAM on the CPU alone"):
        create(_between(tmp_path, 4000), tmp_path / "least")


@needs_qemu
def test_a_head_in_bands_equals_tflite_micro(tmp_path: Path) -> None:
    recipe = _between(tmp_path, WHOLE // 2)
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 2, 11)), watch=Watch())
    assert isinstance(report, Report) and report.passed


@pytest.mark.slow
def test_networks_share_the_arena(tmp_path: Path) -> None:
    paths = layers(tmp_path), image_net(tmp_path / "image_net.tflite")
    alone = [
        create(recipe_of(path, limit=1 << 20, npu="none", mode="sram_only"), tmp_path / path.stem)
        for path in paths
    ]
    own = sum(written.choices[0].chosen.cost.constant_bytes for written in alone)
    arena = max(written.choices[0].chosen.cost.arena_bytes for written in alone)
    together = recipe_of(*paths, limit=own + arena, npu="none", mode="sram_only")
    assert len(create(together, tmp_path / "both").choices) == 2
    with pytest.raises(CapacityError, match=r"image_net|layers"):
        create(replace(together, sram_limit=own), tmp_path / "neither")


def test_what_the_check_moves_to_the_cpu_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usual: int
) -> None:
    """The check may keep operators on the CPU, which takes more SRAM: then the next is tried."""
    real: Callable[..., object] = sram_limit.cost_of
    asked = []

    def dearer(program: object, place: object) -> object:
        cost = real(program, place)
        asked.append(program.plan.options)  # type: ignore[attr-defined]
        is_first = program.plan.options.check and len([o for o in asked if o.check]) == 1  # type: ignore[attr-defined]
        return replace(cost, sram_bytes=usual * 9) if is_first else cost  # type: ignore[type-var]

    monkeypatch.setattr(sram_limit, "cost_of", dearer)
    recipe = recipe_of(layers(tmp_path), limit=usual * 3 // 4)
    checked = replace(recipe, options=OffloadOptions())
    (choice,) = create(checked, tmp_path / "p").choices
    assert len([options for options in asked if options.check]) == 2
    assert choice.larger is not None
    assert choice.larger.cost.sram_bytes <= usual * 3 // 4


UNCHECKED = OffloadOptions(check=False)


def _wide(folder: Path) -> Path:
    """Write a network whose second layer needs 32 KiB for whole tensors."""
    net = NetworkBuilder("wide", seed=6)
    x = net.conv2d(net.input((1, 32, 32, 2)), 16)
    y = net.conv2d(net.depthwise(x), 4, (3, 3), (2, 2))
    path = folder / "wide.tflite"
    path.write_bytes(net.build(net.max_pool(y, (2, 2), (2, 2))))
    return path


def test_a_board_without_room_for_whole_tensors_gets_bands(tmp_path: Path) -> None:
    asked = Recipe((_wide(tmp_path),), "microbit", "none", options=UNCHECKED)
    written = create_project(asked, directory=tmp_path / "project", watch=Watch())
    assert written.programs[0].arena_bytes <= 12 << 10
    again = create_project(asked, directory=tmp_path / "project", watch=Watch())
    assert not again.files


def test_bands_may_be_turned_off(tmp_path: Path) -> None:
    asked = Recipe((_wide(tmp_path),), "microbit", "none", options=UNCHECKED)
    off = replace(asked.options, schedule=Schedule(stream=Streaming.OFF))
    with pytest.raises(CapacityError, match=r"'wide' does not fit board 'microbit'"):
        create_project(replace(asked, options=off), directory=tmp_path / "project", watch=Watch())
    assert not (tmp_path / "project").exists()
