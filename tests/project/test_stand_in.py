"""A project for a board that QEMU lacks, where another board's code stands in."""

import json
import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.platforms import BAREMETAL, CSOLUTION, ZEPHYR
from ethosgen.project import Project, render, write
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.programs import make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net

U85 = "ethos-u85-256"


def project_of(board: str, platform: str = BAREMETAL) -> Project:
    return render(make_program(npu=U85), load_board(board), platform=platform)


def test_its_code_is_that_of_a_project_for_it() -> None:
    files, own = project_of("corstone320").files, project_of("corstone300").files
    theirs = {path: text for path, text in files.items() if path.startswith("stand_in/")}
    assert {"stand_in/board.c", "stand_in/console.c", "stand_in/qemu.ld"} <= theirs.keys()
    assert "stand_in/board.ld" not in theirs and "board/qemu.ld" not in files
    for path, text in theirs.items():
        if path != "stand_in/board.h":  # it has one way only
            assert text == own[path.replace("stand_in", "board")], path
    assert b"BOARD_NPU_BASE 0x7fffe000u" in theirs["stand_in/board.h"]
    assert b"BOARD_NPU_BASE 0x50004000u" in files["board/board.h"]
    assert b"QEMU" not in files["board/board.h"].replace(b"BOARD_ON_QEMU", b"")


def test_the_library_is_that_of_the_board() -> None:
    files = project_of("corstone320").files
    fvp = render(make_program(npu=U85), load_board("corstone320").for_platform(ZEPHYR)).files
    names = [name for name in files if name.startswith("model/") and name.endswith((".c", ".h"))]
    assert names and all(files[name] == fvp[name] for name in names)


def test_the_build_chooses_a_folder_by_the_target() -> None:
    text = project_of("corstone320").files["CMakeLists.txt"].decode()
    assert "# Arm Corstone-300 (MPS3 AN547). The library is compiled for the cortex-m85" in text
    sources = re.findall(r"^  (\S+)/(?:startup|board|console)\.c$", text, re.MULTILINE)
    assert sources == ["${board}"] * 3
    assert "stand_in" not in project_of("corstone300").files["CMakeLists.txt"].decode()


@pytest.mark.parametrize("platform", [ZEPHYR, CSOLUTION])
def test_other_platforms_have_none(platform: str) -> None:
    project = project_of("corstone320", platform)
    assert not [path for path in project.files if "stand_in" in path or "qemu.ld" in path]
    assert json.loads(project.files["model/ethosgen.json"])["board"]["run"]["stand_in"] is None


def test_zephyr_on_qemu_is_refused(tmp_path: Path) -> None:
    network = image_net(tmp_path / "image_net.tflite")
    asked = recipe(network, board="corstone320", platform=ZEPHYR)
    said = "'corstone320' does not run on qemu; .*, or .* --board corstone300 --npu ethos-u85-256"
    with pytest.raises(InputError, match=said):
        flow.verify(asked, flow.RunOptions(Inputs(None, 1, 1)), watch=Watch())
    write(project_of("corstone320", ZEPHYR), tmp_path / "app")
    with pytest.raises(InputError, match=said):
        flow.build_project(tmp_path / "app", on="qemu", watch=Watch())


def test_a_stand_in_that_zephyr_does_not_know_is_not_named(tmp_path: Path) -> None:
    network = image_net(tmp_path / "image_net.tflite")
    asked = recipe(network, board="nrf5340dk", npu="none", platform=ZEPHYR)
    with pytest.raises(InputError, match=r"does not run on qemu; choose --on serial$"):
        flow.verify(asked, flow.RunOptions(Inputs(None, 1, 1)), watch=Watch())
