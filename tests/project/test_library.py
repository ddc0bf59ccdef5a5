"""--platform library: the network as C for any board, without an application."""

import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import Board, board_names, load_board
from ethosgen.board.any_board import any_board
from ethosgen.host.tools import GCC
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import Project, open_project, render, write
from ethosgen.values.errors import InputError
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.command_line import ethosgen
from tests.support.needs import needs_arm_gcc
from tests.support.programs import make_cpu_program, make_program
from tests.support.said import sentences
from tests.support.small_models import image_net

STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]


def library(program: Program, board: Board) -> Project:
    return render(program, board, platform=LIBRARY_ONLY)


def compile_all(place: Path, board: Board) -> None:
    """Compile every source of model/ for the board's core, but for what needs Arm's driver."""
    sources = [p for p in sorted((place / "model").glob("*.c")) if "npu_core" not in p.name]
    assert len(sources) >= 3
    older = board.cpu.gcc_older_arch
    core = f"-march={older}" if older else f"-mcpu={board.cpu.gcc_cpu}"
    flags = [core, "-mthumb", f"-mfloat-abi={board.cpu.gcc_float_abi}", "-fsyntax-only"]
    subprocess.run([str(GCC.find()), *flags, *STRICT, *map(str, sources)], check=True)


@needs_arm_gcc
@pytest.mark.parametrize("name", [name for name in board_names() if load_board(name).npu])
@pytest.mark.parametrize("io", IoStyle)
def test_every_board_yields_a_library_that_compiles(tmp_path: Path, name: str, io: IoStyle) -> None:
    board = load_board(name)
    assert board.npu
    project = library(make_program(io, board.npu.default), board)
    own = {"README.md", "library.json", "library.properties"}
    terms = {"Apache-2.0.txt", "LicenseRef-ethosgen-no-claim.txt"}
    assert project.application == {*own, "REUSE.toml", *(f"LICENSES/{text}" for text in terms)}
    write(project, tmp_path / "lib")
    compile_all(tmp_path / "lib", board)


@needs_arm_gcc
def test_a_library_needs_no_board(tmp_path: Path) -> None:
    write(library(make_program(), any_board()), tmp_path / "npu")
    compile_all(tmp_path / "npu", any_board())
    write(library(make_cpu_program(), any_board()), tmp_path / "cpu")
    compile_all(tmp_path / "cpu", any_board())
    assert not list((tmp_path / "cpu").rglob("*npu*")), "nothing of a driver without an NPU"


def test_the_readme_tells_what_the_board_file_knows() -> None:
    text = library(make_program(npu="ethos-u55-256"), load_board("ra8p1")).files["README.md"]
    told = text.decode()
    assert "for ethos-u55-256 on Renesas EK-RA8P1, Cortex-M85" in told
    assert "NPU_BASE_ADDR is 0x40140000" in told
    assert "| `.bss.ethosgen_arena.plus_one` |" in told
    assert "| 3200 | 32 | reads and writes |" in told
    assert "as any board" not in library(make_program(), any_board()).files["README.md"].decode()


@pytest.mark.slow
def test_a_library_is_generated_again(tmp_path: Path) -> None:
    network, place = image_net(tmp_path / "n.tflite"), tmp_path / "lib"
    for _ in range(2):
        written = flow.create_project(
            Recipe((network,), None, npu="none", platform=LIBRARY_ONLY),
            directory=place,
            watch=Watch(),
        )
    assert written.files == frozenset()
    info = open_project(place)
    assert (info.platform, info.npu, info.board.name) == (LIBRARY_ONLY, "none", "any")


def test_a_library_is_neither_built_nor_run_by_ethosgen(tmp_path: Path) -> None:
    place = tmp_path / "lib"
    write(library(make_cpu_program(), load_board("ra8p1")), place)
    sentence = "is a library without an application: add .*/lib/model to your own"
    with pytest.raises(InputError, match=sentence):
        flow.build_project(place, watch=Watch())
    with pytest.raises(InputError, match=sentence):
        flow.run_project(place, flow.RunOptions(Inputs(None, 1, 0)), watch=Watch())
    with pytest.raises(InputError, match=sentence):
        flow.flash_project(place, watch=Watch())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "--platform baremetal needs a board: name it with --board"),
        (["--platform", "library"], "needs to know the NPU: name it with --npu"),
        (["--board", "ra8p1"], "--platform library creates the network as a C library"),
    ],
)
def test_what_is_missing_is_one_sentence(tmp_path: Path, options: list[str], says: str) -> None:
    network, place = image_net(tmp_path / "n.tflite"), tmp_path / "p"
    done = ethosgen("project", network, "-o", place, *options)
    assert done.returncode == 2 and len(sentences(done.stderr)) == 1
    assert says in done.stderr
    assert not place.exists()
