"""Building: what a project compiles to, and how a failure is told."""

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ethosgen.aot import compile_program
from ethosgen.board import load_board
from ethosgen.flow import build_project
from ethosgen.host.tools import CMAKE, GCC
from ethosgen.project import render, write
from ethosgen.toolchain import Built, build, measure_elf
from ethosgen.values.errors import BuildError, CapacityError, InputError, ToolError
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.aot_harness import cpu_plan
from tests.support.needs import needs_build
from tests.support.networks import NetworkBuilder
from tests.support.programs import COMMANDS, READ_ONLY, SCRATCH_BYTES, make_program, with_weights

pytestmark = needs_build

BOARD = load_board("corstone300")
CORE_DRIVER = "ETHOSU_CORE_DRIVER"
"""Names a checkout of Arm's ethos-u core driver, of which nothing is in this repository."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(render(make_program(), BOARD), tmp_path / "p")
    return tmp_path / "p"


def test_a_missing_function_is_named(project: Path) -> None:
    main = project / "app" / "main.c"
    text = main.read_text().replace(
        "int main(void)\n{", "void lost(void);\n\nint main(void)\n{\n    lost();", 1
    )
    main.write_text(text)
    with pytest.raises(BuildError, match="undefined reference to `lost'"):
        build(project)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512"])
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("on", ["qemu", "board"])
def test_it_builds_without_a_warning_and_within_its_limits(
    tmp_path: Path, io: IoStyle, on: str, npu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-Werror")  # CMake adds it to the toolchain file's own
    write(render(make_program(io, npu), BOARD), tmp_path / "p")
    sizes = build(tmp_path / "p", on).sizes
    assert sizes.library["code"] + sizes.library["constants"] <= 2048
    assert sizes.library["data"] <= 256
    assert sizes.flash["code"] + sizes.flash["constants"] <= 6144
    assert sizes.flash["command_streams"] == 32 + len(COMMANDS)
    assert sizes.flash["weights"] == 112 + 32  # the blob and the table, to 16 bytes each
    assert len(READ_ONLY) == 100
    parts = ("code", "constants", "command_streams", "weights")
    assert sizes.flash["total"] == sum(sizes.flash[part] for part in parts)
    assert sizes.ram["arena"] == SCRATCH_BYTES
    assert sizes.ram["io"] == (0 if io is IoStyle.ARENA else 2 * 1504)
    assert sizes.ram["total"] > SCRATCH_BYTES + sizes.ram["io"]


def test_kernels_compile_in_a_build_with_frame_pointers(tmp_path: Path) -> None:
    """Helium's assembly in them needs the frame pointer's register."""
    net = NetworkBuilder("net", 1)
    layer = net.conv2d(net.input((1, 6, 6, 8)), 8, (3, 3))
    program = compile_program(cpu_plan(net.build(layer)), "net")
    assert any("asm" in text for text in program.sources.values())
    write(render(program, BOARD), tmp_path / "p")
    build(tmp_path / "p", options={"CMAKE_C_FLAGS_MINSIZEREL": "-Os -fno-omit-frame-pointer"})


def test_names_of_cmake_and_of_the_library_do_no_harm(tmp_path: Path) -> None:
    write(render(make_program(IoStyle.CALLER, name="firmware"), BOARD), tmp_path / "p")
    assert build(tmp_path / "p").elf.is_file()


def test_it_builds_anywhere_with_cmake_and_gcc_alone(project: Path, tmp_path: Path) -> None:
    """CMake chooses the generator; the path has a blank; none of our Python is installed."""
    elsewhere = tmp_path / "some where" / "else"
    elsewhere.parent.mkdir()
    project.rename(elsewhere)
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (CMAKE.find(), *GCC.find().parent.glob("arm-none-eabi-*"), shutil.which("make")):
        if name:
            (tools / Path(name).name).symlink_to(name)
    environment = {"PATH": f"{tools}", "HOME": os.environ.get("HOME", "/")}
    if not shutil.which("make"):
        pytest.skip("make is not installed, and cmake's own choice needs it")
    for arguments in (
        ["-B", "build", "-S", ".", "-DCMAKE_TOOLCHAIN_FILE=cmake/arm-none-eabi.cmake"],
        ["--build", "build"],
    ):
        done = subprocess.run(
            ["cmake", *arguments],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "warning" not in (done.stdout + done.stderr).lower()
    assert measure_elf(elsewhere / "build" / "firmware.elf").ram["arena"] == SCRATCH_BYTES


def test_it_builds_with_arms_core_driver(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-Werror")
    driver = os.environ.get(CORE_DRIVER)
    if not driver:
        pytest.skip(f"{CORE_DRIVER} names no checkout of Arm's ethos-u core driver")
    sizes = build(project, "qemu", {CORE_DRIVER: driver}).sizes
    assert sizes.library["code"] + sizes.library["constants"] <= 2048


def test_the_compilers_words_reach_the_user(project: Path) -> None:
    (project / "app" / "main.c").write_text('#error "nothing here yet"\n')
    with pytest.raises(BuildError, match=r"main\.c:1:2: error: #error .nothing here yet"):
        build(project)


def test_a_memory_too_small_for_the_code(project: Path) -> None:
    script = project / "board" / "qemu.ld"
    script.write_text(script.read_text().replace("LENGTH = 0x00080000", "LENGTH = 0x00000400", 1))
    with pytest.raises(CapacityError, match=r"overflows memory 'itcm' by [\d,]+ bytes"):
        build(project)


def test_a_mode_that_would_do_is_named_where_only_the_linker_knows(tmp_path: Path) -> None:
    """Data beside arena and weights in one memory: behind --memory-mode the weights are not."""
    text = (ROOT / "boards" / "corstone300.toml").read_text()
    weights_bytes = 1 << 16
    text = text.replace('data = "dtcm"', 'data = "isram"')
    size = -(-(weights_bytes + SCRATCH_BYTES + 1024) // 1024) * 1024
    text = text.replace("size_bytes = 0x00200000", f"size_bytes = {size}")
    (tmp_path / "tight.toml").write_text(text)
    program = make_program()
    plan = with_weights(program.plan, bytes(weights_bytes))
    program = dataclasses.replace(program, plan=plan)

    def build_in(mode: str) -> Built:
        board = load_board(str(tmp_path / "tight.toml"))
        write(render(program, board, memory_mode=mode), tmp_path / mode)
        return build_project(tmp_path / mode, on="serial", watch=Watch())

    said = r"overflows memory 'isram' by [\d,]+ bytes; use --memory-mode shared_sram$"
    with pytest.raises(CapacityError, match=said):
        build_in("sram_only")
    assert build_in("shared_sram").elf.is_file()


def test_that_no_mode_would_do_is_said_too(project: Path) -> None:
    script = project / "board" / "qemu.ld"
    script.write_text(script.read_text().replace("LENGTH = 0x00080000", "LENGTH = 0x00000400", 1))
    with pytest.raises(CapacityError, match=r"bytes; no other memory mode of board 'corstone300'"):
        build_project(project, watch=Watch())


def test_an_unknown_way_to_run(project: Path) -> None:
    with pytest.raises(BuildError, match=r"ETHOSGEN_ON is 'moon'; choose one of: qemu,\s+board"):
        build(project, on="moon")


def test_a_directory_that_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a project: it has no CMakeLists\.txt"):
        build(tmp_path)


def test_a_missing_compiler(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETHOSGEN_GCC", "/none/gcc")
    with pytest.raises(ToolError, match="ETHOSGEN_GCC"):
        build(project)
    assert not (project / "build").exists()


@pytest.mark.parametrize("content", [b"", b"MZ", b"\x7fELF"])
def test_what_is_no_elf(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "firmware.elf"
    file.write_bytes(content)
    with pytest.raises(InputError, match="cannot read firmware"):
        measure_elf(file)
    with pytest.raises(InputError, match="cannot read firmware"):
        measure_elf(tmp_path / "none.elf")
