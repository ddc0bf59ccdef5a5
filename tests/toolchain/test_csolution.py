"""--platform csolution: what CMSIS-Toolbox would compile and link, done with the same compiler."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ethosgen import flow
from ethosgen.board import board_names, load_board
from ethosgen.host.tools import GCC
from ethosgen.project import Project, open_project, render, write
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.board.test_board_projects import check_sections
from tests.support.needs import needs_arm_gcc, needs_gcc, needs_qemu
from tests.support.programs import make_cpu_program, make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net
from tests.support.twin_accelerator import branches, busy_times, write_twins

SOLUTION, PROJECT, LAYER = "firmware.csolution.yml", "firmware.cproject.yml", "model.clayer.yml"


def rendered(board: str, program: Program, mode: str = "shared_sram") -> Project:
    return render(program, load_board(board), platform="csolution", memory_mode=mode)


def read(place: Path, file: str) -> dict[str, Any]:
    return next(iter(yaml.safe_load((place / file).read_text()).values()))


def _definition(define: str | dict[str, str]) -> str:
    """Return a definition as the compiler takes it: a name, or a name and its value."""
    if isinstance(define, str):
        return define
    ((name, value),) = define.items()
    return f"{name}={value}"


class Solution:
    """Return GCC's inputs for one target type from the three files, as cbuild reads them."""

    def __init__(self, place: Path, target: str) -> None:
        self.place = place
        self.solution = read(place, SOLUTION)
        self.project = read(place, self.solution["projects"][0]["project"])
        (layer,) = self.project["layers"]
        self.layer_folder = (place / layer["layer"]).parent
        self.layer = read(place, layer["layer"])
        (self.target,) = [t for t in self.solution["target-types"] if t["type"] == target]
        (linker,) = [x for x in self.project["linker"] if x["for-context"] == f"+{target}"]
        self.script = place / linker["script"]

    def flags(self, node: dict[str, Any], kind: str) -> list[str]:
        return [f for misc in node.get("misc", []) for f in misc.get(kind, [])]

    @property
    def common(self) -> list[str]:
        defines = [*self.target["define"], *self.layer.get("define", [])]
        folders = [self.place / f for f in self.project["add-path"]]
        folders += [self.layer_folder / f for f in self.layer["add-path"]]
        flags = [f"-D{_definition(define)}" for define in defines]
        flags += [f"-I{folder}" for folder in folders]
        return [f"-std={self.solution['language-C']}", *flags, *self.flags(self.solution, "C")]

    def sources(self) -> list[tuple[Path, list[str]]]:
        listed = []
        for node, folder in ((self.project, self.place), (self.layer, self.layer_folder)):
            files = [file for group in node["groups"] for file in group["files"]]
            for file in filter(self._is_ours, files):
                defines = [f"-D{_definition(define)}" for define in file.get("define", [])]
                listed.append((folder / file["file"], [*self.flags(file, "C"), *defines]))
        return listed

    def _is_ours(self, file: dict[str, Any]) -> bool:
        way = f"+{self.target['type']}"
        return file.get("for-context", way) == way and file.get("not-for-context") != way

    def build(self, cpu: str, elf: Path, float_abi: str = "hard") -> None:
        """Compile each file and link them, with Release's -Os."""
        gcc, core = str(GCC.find()), [*cpu.split(), "-mthumb", f"-mfloat-abi={float_abi}", "-Os"]
        objects = []
        for index, (source, flags) in enumerate(self.sources()):
            objects.append(str(elf.parent / f"{index}.o"))
            command = [gcc, *core, *self.common, *flags, "-Werror", "-c", str(source)]
            subprocess.run([*command, "-o", objects[-1]], check=True)
        link = [*self.flags(self.solution, "Link"), f"-T{self.script}", *objects]
        libraries = self.flags(self.project, "Library")
        subprocess.run([gcc, *core, *link, *libraries, "-o", str(elf)], check=True)


@needs_arm_gcc
@pytest.mark.parametrize(
    ("board", "npu", "mode", "cpu"),
    [
        ("corstone300", "ethos-u55-128", "shared_sram", "-mcpu=cortex-m55"),
        ("corstone320", "ethos-u85-256", "shared_sram", "-march=armv8.1-m.main+mve.fp+fp.dp"),
        ("alif-e7-hp", "ethos-u55-256", "sram_only", "-mcpu=cortex-m55"),
        ("corstone300", "none", "sram_only", "-mcpu=cortex-m55"),
        ("nucleo-f446re", "none", "shared_sram", "-mcpu=cortex-m4"),
        ("nucleo-h743zi", "none", "shared_sram", "-mcpu=cortex-m7"),
        ("nrf5340dk", "none", "shared_sram", "-mcpu=cortex-m33"),
        ("mps2-an385", "none", "shared_sram", "-mcpu=cortex-m3"),
    ],
)
def test_what_the_files_say_compiles_and_links(
    tmp_path: Path, board: str, npu: str, mode: str, cpu: str
) -> None:
    program = make_cpu_program() if npu == "none" else make_program(IoStyle.CALLER, npu)
    write(rendered(board, program, mode), tmp_path / "p")
    abi = load_board(board).cpu.gcc_float_abi
    Solution(tmp_path / "p", "board").build(cpu, tmp_path / "firmware.elf", abi)
    seen = check_sections(tmp_path / "firmware.elf", load_board(board), mode)
    assert {".vectors", ".text", ".stack", ".ethosgen_arena"} <= seen


@needs_arm_gcc
def test_several_networks_are_one_layer(tmp_path: Path) -> None:
    programs = [make_program(), make_program(name="plus_two")]
    write(render(programs, load_board("corstone300"), platform="csolution"), tmp_path / "p")
    Solution(tmp_path / "p", "board").build("-mcpu=cortex-m55", tmp_path / "firmware.elf")
    check_sections(tmp_path / "firmware.elf", load_board("corstone300"), "shared_sram")


@needs_qemu
def test_what_comes_out_runs_and_is_exact(tmp_path: Path) -> None:
    network, place = image_net(tmp_path / "image_net.tflite"), tmp_path / "p"
    wanted = recipe(network, platform="csolution")
    flow.create_project(wanted, directory=place, watch=Watch())
    elf = place / "build" / "qemu" / "firmware.elf"
    elf.parent.mkdir(parents=True)
    Solution(place, "qemu").build("-mcpu=cortex-m55", elf)
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 2, 3)), watch=Watch())
    assert report.passed


@needs_gcc
@needs_qemu
def test_two_instances_of_an_accelerator_run_and_are_exact(tmp_path: Path) -> None:
    twins, place = write_twins(tmp_path, tmp_path / "told"), tmp_path / "p"
    network = branches(tmp_path / "branches.tflite")
    wanted = recipe(network, platform="csolution", npu="none", accelerators=(str(twins),))
    flow.create_project(wanted, directory=place, watch=Watch())
    elf = place / "build" / "qemu" / "firmware.elf"
    elf.parent.mkdir(parents=True)
    Solution(place, "qemu").build("-mcpu=cortex-m55", elf)
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 2, 3)), watch=Watch())
    assert report.passed
    (first, *_), (other, *_) = busy_times(tmp_path / "told")
    assert first[0] < other[1] and other[0] < first[1], "they do not compute at once"


def test_every_source_is_named_once_and_nothing_else(tmp_path: Path) -> None:
    write(rendered("corstone300", make_program()), tmp_path / "p")
    solution = Solution(tmp_path / "p", "qemu")
    named = [path.relative_to(tmp_path / "p").as_posix() for path, _ in solution.sources()]
    there = [path.relative_to(tmp_path / "p").as_posix() for path in (tmp_path / "p").rglob("*.c")]
    assert sorted([*named, "model/ethosgen_npu_core.c"]) == sorted(there)
    assert solution.target["define"][0] == "BOARD_ON_QEMU"
    assert not any("cmake" in path.lower() for path in open_project(tmp_path / "p").files)


@pytest.mark.parametrize("name", [n for n in board_names() if load_board(n).cmsis is not None])
def test_a_solution_is_as_its_users_expect(tmp_path: Path, name: str) -> None:
    board = load_board(name)
    program = make_program(npu=board.npu.default) if board.npu else make_cpu_program()
    write(rendered(name, program), tmp_path / "p")
    solution = read(tmp_path / "p", SOLUTION)
    assert board.cmsis is not None
    assert {target["device"] for target in solution["target-types"]} == {board.cmsis.device}
    assert solution["target-types"][0]["type"] == "board"
    assert [build["type"] for build in solution["build-types"]] == ["Debug", "Release"]
    assert [pack["pack"] for pack in solution["packs"]] == ["ARM::CMSIS", *board.cmsis.packs]
    project = read(tmp_path / "p", PROJECT)
    assert project["components"] == [{"component": "ARM::CMSIS:CORE"}]
    assert (tmp_path / "p" / "model" / LAYER).is_file(), "the network is replaced, the project not"


def test_a_core_without_helium_says_so(tmp_path: Path) -> None:
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    text = text.replace("[cpu]\n", '[cpu]\nmve = false\nfpu = "none"\n', 1)
    text = text.replace("(MPS3 AN547)", ': a \\"quoted\\" #1', 1)
    (tmp_path / "mine.toml").write_text(text)
    board = load_board(str(tmp_path / "mine.toml"))
    write(render(make_program(), board, platform="csolution"), tmp_path / "p")
    solution = read(tmp_path / "p", SOLUTION)
    assert solution["processor"] == {"mve": False, "fpu": False}  # "off" is false in YAML 1.1
    assert solution["description"].endswith(board.description)


@pytest.mark.parametrize(
    ("core", "options", "lacks"),
    [
        ("cortex-m0plus", "", None),
        ("cortex-m3", "", None),
        ("cortex-m4", "", None),
        ("cortex-m4", 'fpu = "none"', {"fpu": False}),
        ("cortex-m7", "", None),
        ("cortex-m33", "", None),
        ("cortex-m33", 'dsp = false\nfpu = "none"', {"fpu": False, "dsp": False}),
    ],
)
def test_only_what_such_cores_may_have_is_off(
    tmp_path: Path, core: str, options: str, lacks: dict[str, bool] | None
) -> None:
    text = (ROOT / "boards" / "mps2-an385.toml").read_text()
    assert text.count('core = "cortex-m3"') == 1
    text = text.replace('core = "cortex-m3"', f'core = "{core}"\n{options}')
    (tmp_path / "mine.toml").write_text(text)
    board = load_board(str(tmp_path / "mine.toml"))
    write(render(make_cpu_program(), board, platform="csolution"), tmp_path / "p")
    assert read(tmp_path / "p", SOLUTION).get("processor") == lacks


def test_a_board_without_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="'ra8p1' has no platform 'csolution'"):
        rendered("ra8p1", make_program(npu="ethos-u55-256"))


CBUILD = """#!/bin/sh
echo "$@" > {place}/said
mkdir -p "$(dirname "$1")/out/firmware/board/Release"
cp {elf} "$(dirname "$1")/out/firmware/board/Release/firmware.elf"
"""


@needs_arm_gcc
def test_cbuild_is_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "p"
    write(rendered("corstone300", make_program()), place)
    monkeypatch.setenv("PATH", "/none")
    sentence = r"cbuild \(CMSIS-Toolbox's build command\) was not found .* --platform baremetal"
    with pytest.raises(ToolError, match=sentence):
        flow.build_project(place, on="fvp", watch=Watch())
    monkeypatch.undo()
    gcc = GCC.find()
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }")
    elf = tmp_path / "empty.elf"
    options = ["-mcpu=cortex-m55", "-nostdlib", "-Wl,-emain"]
    subprocess.run([gcc, *options, "-o", elf, tmp_path / "empty.c"], check=True)
    stand_in = tmp_path / "cbuild"
    stand_in.write_text(CBUILD.format(place=tmp_path, elf=elf))
    stand_in.chmod(0o755)
    monkeypatch.setenv("ETHOSGEN_CBUILD", str(stand_in))
    built = flow.build_project(place, on="fvp", watch=Watch())
    assert built.elf == place / "build" / "board" / "firmware.elf"
    said = (tmp_path / "said").read_text().split()
    assert said == [str(place / SOLUTION), "--packs", "--context", "firmware.Release+board"]
