"""An ELF that carries the digest of its sources, and builds in a folder that was copied."""

import logging
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from ethosgen.board import load_board
from ethosgen.flow import build_project
from ethosgen.flow.firmware import find_firmware, flash_project
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain.build_steps import drop_foreign_build
from ethosgen.toolchain.freshness import digest_sources, require_fresh, stamp
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build
from tests.support.programs import make_program

COMMAND = r"build it again: ethosgen build \S+ --on qemu$"


@pytest.fixture
def project(tmp_path: Path) -> ProjectInfo:
    write(render(make_program(), load_board("corstone300")), tmp_path / "p")
    return open_project(tmp_path / "p")


def edit(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n")


@pytest.mark.parametrize(
    "name",
    ["model/plus_one_weights.c", "app/main.c", "board/qemu.ld", "CMakeLists.txt", "src/new.hpp",
     "cmake/arm-none-eabi.cmake", "prj.conf", "boards/x.overlay", "src/fast.S", "Kconfig.mine"],
)  # fmt: skip
def test_every_source_counts(project: ProjectInfo, name: str) -> None:
    before = digest_sources(project.directory)
    edit(project.directory / name)
    assert digest_sources(project.directory).sources != before.sources


@pytest.mark.parametrize(
    "name", ["README.md", "out.npz", "build/new.c", "out/new.c", ".git/x.c", "debug/x.c"]
)
def test_nothing_else_counts(project: ProjectInfo, name: str) -> None:
    folder = project.directory / "debug"
    folder.mkdir()
    (folder / "CMakeCache.txt").touch()  # a build folder of any name
    before = digest_sources(project.directory)
    edit(project.directory / name)
    assert digest_sources(project.directory) == before


def test_weights_apart_from_the_code_count_where_the_image_has_them(project: ProjectInfo) -> None:
    before = digest_sources(project.directory)
    edit(project.directory / "model" / "net.weights")
    after = digest_sources(project.directory)
    assert after.sources == before.sources and after.weights != before.weights


def test_a_program_of_64_bits_runs_with_the_digests(project: ProjectInfo, tmp_path: Path) -> None:
    program = tmp_path / "true"
    shutil.copy(shutil.which("true") or sys.executable, program)
    os.utime(program, ns=(10**18, 10**18))
    first = digest_sources(project.directory)
    stamp(program, first)
    size = program.stat().st_size
    stamp(program, first)
    edit(project.directory / "app" / "main.c")
    with pytest.raises(InputError, match=COMMAND):
        require_fresh(program, project.directory, "qemu")
    stamp(program, digest_sources(project.directory))
    require_fresh(program, project.directory, "qemu")
    assert program.stat().st_size == size, "the second replaces the first"
    assert program.stat().st_mtime_ns == 10**18
    assert stat.S_IMODE(program.stat().st_mode) & stat.S_IXUSR
    assert subprocess.run([program], check=False).returncode == 0


def test_a_source_is_not_newer_than_an_elf_of_others(project: ProjectInfo, tmp_path: Path) -> None:
    program = tmp_path / "true"
    shutil.copy(shutil.which("true") or sys.executable, program)
    require_fresh(program, project.directory, "qemu")
    later = program.stat().st_mtime_ns + 10**9
    os.utime(project.directory / "app" / "main.c", ns=(later, later))
    with pytest.raises(InputError, match=rf"was built before app/main.c in .*{COMMAND}"):
        require_fresh(program, project.directory, "qemu")


@needs_build
def test_a_changed_source_is_neither_run_nor_flashed(project: ProjectInfo) -> None:
    for on, way in (("qemu", "qemu"), ("serial", "board")):
        build_project(project.directory, on=on, watch=Watch())
        edit(project.directory / "model" / "plus_one_weights.c")
        with pytest.raises(InputError, match=rf"'\S+/build/{way}/firmware.elf' was built before"):
            find_firmware(project, on)
    with pytest.raises(InputError, match="was built before its sources"):
        flash_project(project.directory, watch=Watch())
    built = build_project(project.directory, watch=Watch())
    find_firmware(project, "qemu")
    with built.elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".ethosgen_sources")
        assert section.data() == digest_sources(project.directory).encode()


@needs_build
@pytest.mark.parametrize("is_moved", [False, True])
def test_a_copied_project_is_built_afresh(
    project: ProjectInfo, tmp_path: Path, is_moved: bool, caplog: pytest.LogCaptureFixture
) -> None:
    build_project(project.directory, watch=Watch())
    other = tmp_path / "q"
    (shutil.move if is_moved else shutil.copytree)(project.directory, other)
    find_firmware(open_project(other), "qemu")
    with caplog.at_level(logging.WARNING):
        build_project(other, watch=Watch())
    assert f"'{other}' was built as '{project.directory}'; building it again" in caplog.text
    caplog.clear()
    build_project(other, watch=Watch())
    assert not caplog.records, "only once"


def test_a_build_folder_of_its_own_stays(tmp_path: Path) -> None:
    place = tmp_path / "build"
    place.mkdir()
    drop_foreign_build(tmp_path, place)
    (place / "CMakeCache.txt").write_text(
        f"CMAKE_CACHEFILE_DIR:INTERNAL={place}\nCMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\n"
    )
    drop_foreign_build(tmp_path, place)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    drop_foreign_build(link, link / "build")
    assert place.is_dir()
