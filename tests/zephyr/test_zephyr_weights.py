"""Real Zephyr: weights apart from the code, in an application's slot and in its image."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.flow import RunOptions, create_project, run_project, verify
from ethosgen.flow.weights import build_weights, read_file, verify_weights
from ethosgen.platforms import ZEPHYR
from ethosgen.project import open_project
from ethosgen.targets.slots import find_slots
from ethosgen.toolchain import build_zephyr
from ethosgen.values.errors import TargetError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.project.test_linking import memory_of
from tests.support.needs import needs_qemu, needs_zephyr
from tests.support.recipes import recipe
from tests.support.retrained import retrained
from tests.targets.test_weights_on_qemu import DAMAGES

pytestmark = [needs_zephyr, needs_qemu]

DEMO = ROOT / "demo" / "digits_int8.tflite"
SAMPLES = Inputs(None, 2, 0)
ELEMENTS = 20
"""Of the outputs of two samples: ten digits each."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project that is built for QEMU."""
    place = tmp_path_factory.mktemp("weights") / "p"
    wanted = recipe(DEMO, names=("digits",), io="caller", platform=ZEPHYR, apart=True)
    create_project(wanted, directory=place, watch=Watch())
    build_zephyr(open_project(place))
    return place


def require_equal(report: Report) -> None:
    assert report.passed and report.golden is not None
    assert (report.golden.elements, report.golden.mismatches) == (ELEMENTS, 0)


def test_qemu_gets_the_file_and_the_image_has_no_weights(project: Path) -> None:
    report = run_project(project, RunOptions(SAMPLES), watch=Watch())
    assert isinstance(report, Report) and report.flash_bytes is not None
    require_equal(report)
    assert not report.flash_bytes["weights"] + report.flash_bytes["command_streams"]


def test_a_retrained_network_needs_only_its_file(project: Path, tmp_path: Path) -> None:
    new, file = tmp_path / "new.tflite", tmp_path / "new.weights"
    new.write_bytes(retrained(DEMO.read_bytes()))
    built = build_weights(new, project, output=file, revision=5, watch=Watch())
    assert read_file(file).revision == 5
    report = verify_weights(built, project, inputs=SAMPLES, watch=Watch())
    assert isinstance(report, Report)
    require_equal(report)
    old = replace(built, file=project / "model" / "digits.weights")
    assert not verify_weights(old, project, inputs=SAMPLES, watch=Watch()).passed


@pytest.mark.parametrize("status", DAMAGES)
def test_each_damage_has_its_status(project: Path, tmp_path: Path, status: str) -> None:
    good, file = project / "model" / "digits.weights", tmp_path / "it.weights"
    built = build_weights(DEMO, project, output=file, watch=Watch())
    file.write_bytes(DAMAGES[status](good.read_bytes()))
    with pytest.raises(TargetError, match=rf"could not start: ETHOSGEN_WEIGHTS_{status}: "):
        verify_weights(built, project, inputs=SAMPLES, watch=Watch())


def test_for_the_board_the_file_is_in_the_image_where_the_slot_is(project: Path) -> None:
    on_qemu = open_project(project)
    (slot,) = find_slots(build_zephyr(on_qemu).elf, on_qemu)
    board = build_zephyr(on_qemu, "board").elf
    assert find_slots(board, on_qemu) == {}
    kind, address = memory_of(board, "board_slot_digits")
    assert kind == "SHT_PROGBITS"
    assert address >> 28 == slot >> 28  # in DDR, as sram_only and shared_sram have it
    assert (project / "model" / "digits.weights").read_bytes() in board.read_bytes()


@pytest.mark.parametrize(("board", "on"), [("mps2-an386", "qemu"), ("corstone300", "native")])
def test_weights_apart_run_without_an_npu_and_on_native_sim(board: str, on: str) -> None:
    wanted = recipe(DEMO, board=board, io="caller", platform=ZEPHYR, apart=True)
    report = verify(wanted, RunOptions(SAMPLES), on=on, watch=Watch())
    assert isinstance(report, Report)
    require_equal(report)
    assert (report.cpu_instructions is None) == (on == "native")  # its clock stands still
