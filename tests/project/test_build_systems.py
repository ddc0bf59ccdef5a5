"""The library in other people's builds, by the lines of docs/builds.md."""

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from ethosgen.board.any_board import any_board
from ethosgen.host.tools import CMAKE, GCC, NINJA
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from tests import ROOT
from tests.project.test_linking import MAIN, TOOLCHAIN, VENDOR_SCRIPT, is_stored, memory_of
from tests.support.needs import BUILD, needs_build
from tests.support.programs import SCRATCH_BYTES, make_program
from tests.support.snippets import snippets

pytestmark = needs_build
needs_make = pytest.mark.compiler(*BUILD, "make")

OTHER_NPUS = ("ethos-u85-256", "ethos-u65-256", "ethos-u55-256")
"""Not the library's; the U65 has the registers of the U55."""

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.20)
project(app C)
add_executable(app main.c)
target_link_options(app PRIVATE --specs=nosys.specs -nostartfiles -Wl,-emain)
"""
MAKEFILE = """
TARGET = app
BUILD_DIR = build
C_SOURCES = main.c
CC = {gcc}
MCU = -mcpu=cortex-m55 -mthumb -mfloat-abi=hard
C_INCLUDES = -I.
CFLAGS += $(MCU) $(C_INCLUDES) -Os -fdata-sections -ffunction-sections
CFLAGS += -Wa,-a,-ad,-alms=$(BUILD_DIR)/$(notdir $(<:.c=.lst))
CFLAGS += -MMD -MP -MF"$(@:%.o=%.d)"
LDFLAGS = $(MCU) -specs=nano.specs -nostartfiles -Ttheirs.ld -lc -lm -Wl,--gc-sections
OBJECTS = $(addprefix $(BUILD_DIR)/,$(notdir $(C_SOURCES:.c=.o)))
{lines}
all: $(BUILD_DIR)/$(TARGET).elf

$(BUILD_DIR)/%.o: %.c Makefile | $(BUILD_DIR)
	$(CC) -c $(CFLAGS) $< -o $@

$(BUILD_DIR)/$(TARGET).elf: $(OBJECTS) Makefile
	$(CC) $(OBJECTS) $(LDFLAGS) -o $@

$(BUILD_DIR):
	mkdir $@
"""
"""A Makefile in the manner of STM32CubeMX, with its options and rules."""


ARM_DRIVER = """
#include "ethosu_driver.h"
int ethosu_init(struct ethosu_driver *drv, void *base, const void *fast, size_t bytes,
                uint32_t secure, uint32_t privileged) { return 0; }
void ethosu_deinit(struct ethosu_driver *drv) { }
void ethosu_irq_handler(struct ethosu_driver *drv) { }
int ethosu_invoke_v3(struct ethosu_driver *drv, const void *words, int bytes, uint64_t *base,
                     const size_t *base_bytes, int bases, void *user_arg) { return 0; }
"""


def write_library(
    place: Path, name: str = "plus_one", npu: str = "ethos-u55-128", networks: int = 1
) -> None:
    names = [name] if networks == 1 else [f"{name}_{i}" for i in range(networks)]
    programs = [make_program(name=name, npu=npu) for name in names]
    write(render(programs, any_board(), platform=LIBRARY_ONLY), place)


def run(command: list[str], folder: Path) -> str:
    # A make that runs these tests passes its options on, and each make below names its folder.
    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    outside.pop("MFLAGS", None)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=outside
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def cmake(folder: Path, *options: str) -> str:
    """Configure and build the project app of a folder with its library."""
    (folder / "main.c").write_text(MAIN)
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(gcc=GCC.find()))
    configure = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA.find()}", "-S", ".", "-B", "build"]
    tools = [*configure, "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake", *options]
    return run([str(CMAKE.find()), *tools], folder) + run(
        [str(CMAKE.find()), "--build", "build"], folder
    )


def install(folder: Path, library: Path, name: str, *more: str) -> None:
    """Install a library by the documented commands."""
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(gcc=GCC.find()))
    (lines,) = snippets("sh", "CMake")
    words = {"PATH": str(library), "TOOLCHAIN": f"{folder}/toolchain.cmake"}
    words |= {"PREFIX": f"{folder}/prefix", "NAME": name}
    pattern = r"(?<![A-Z_])(PATH|TOOLCHAIN|PREFIX|NAME)(?![A-Z_])"
    for line in re.sub(pattern, lambda match: words[match[1]], lines).splitlines():
        (program, *options) = line.split()
        assert program == "cmake"
        tools = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA.find()}"]
        tools = [*tools, *more] if "-S" in options else []
        said = run([str(CMAKE.find()), *options, *tools], folder)
        assert "warning" not in said.lower(), said


def lines_of(index: int, folder: Path, name: str = "plus_one") -> str:
    return snippets("cmake", "CMake")[index].replace("PATH", f"{folder}/lib").replace("NAME", name)


@pytest.mark.parametrize("way", ["add_subdirectory", "FetchContent", "find_package"])
def test_cmake_builds_it_each_way(tmp_path: Path, way: str) -> None:
    write_library(tmp_path / "lib")
    (lines,) = [
        line
        for line in (lines_of(i, tmp_path) for i in range(3))
        if f"{way}" in line.split("NAME")[0]
    ]
    options = []
    if way == "FetchContent":
        with tarfile.open(tmp_path / "lib.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "lib", "lib")
    if way == "find_package":
        install(tmp_path, tmp_path / "lib", "plus_one")
        (tmp_path / "lib").rename(tmp_path / "moved")
        options = [f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix"]
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS + lines)
    cmake(tmp_path, *options)
    assert memory_of(tmp_path / "build" / "app", "plus_one_arena")[0] == "SHT_NOBITS"


def test_cmake_finds_a_package_of_several_networks(tmp_path: Path) -> None:
    write_library(tmp_path / "lib", networks=2)
    install(tmp_path, tmp_path / "lib", "plus_one_0_plus_one_1")
    (version, linked) = lines_of(2, tmp_path).splitlines()
    version = version.replace("plus_one", "plus_one_0_plus_one_1")
    linked = linked.replace("plus_one_model", "plus_one_0_model plus_one_1_model")
    lists = CMAKE_LISTS.replace("main.c", "two.c")
    (tmp_path / "CMakeLists.txt").write_text(f"{lists}{version}\n{linked}\n")
    main = MAIN.replace("plus_one", "plus_one_1")
    (tmp_path / "two.c").write_text(f'#include "plus_one_0.h"\n{main}')
    cmake(tmp_path, f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    assert memory_of(tmp_path / "build" / "app", "plus_one_1_run")[0] == "SHT_PROGBITS"


@pytest.mark.parametrize("npu", OTHER_NPUS)
def test_a_package_and_a_folder_for_different_npus_say_so(tmp_path: Path, npu: str) -> None:
    write_library(tmp_path / "lib", "plus_one", npu)
    write_library(tmp_path / "other", "plus_two")
    install(tmp_path, tmp_path / "other", "plus_two")
    more = lines_of(2, tmp_path, "plus_two") + lines_of(0, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS + more)
    with pytest.raises(AssertionError) as failed:
        cmake(tmp_path, f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    said = " ".join(str(failed.value).split())
    assert "are for different NPUs or from different versions of ethosgen" in said


def write_arm_driver(place: Path) -> None:
    """Write a folder like that of Arm's core driver, with functions that do nothing."""
    standin = ROOT / "tests" / "driver" / "standin"
    for folder in ("include", "src"):
        (place / folder).mkdir(parents=True)
    (place / "include" / "ethosu_driver.h").write_bytes((standin / "ethosu_driver.h").read_bytes())
    (place / "src" / "ethosu_driver.c").write_text(ARM_DRIVER)
    for name in ("ethosu_pmu", "ethosu_device_u55_u65"):
        (place / "src" / f"{name}.c").write_text("")


def make_old(driver: Path) -> None:
    """Make Arm's driver in a folder one of 2024: other cache hooks, and no question for ports."""
    header = driver / "include" / "ethosu_driver.h"
    text = re.sub(r"(_dcache)\(.*\)", r"\1(uint32_t *p, size_t bytes)", header.read_text())
    header.write_text(
        text.replace("unsigned int ethosu_config_select(uint64_t address, int index);", "")
    )


def test_a_driver_of_arm_of_2024_gets_the_ports_when_it_is_compiled(tmp_path: Path) -> None:
    write_library(tmp_path / "lib")
    write_arm_driver(tmp_path / "arm")
    make_old(tmp_path / "arm")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS + lines_of(0, tmp_path))
    cmake(tmp_path, f"-DETHOSU_CORE_DRIVER={tmp_path}/arm")
    compiled = (tmp_path / "build" / "build.ninja").read_text()
    assert "-DNPU_QCONFIG=2 -DNPU_REGIONCFG_0=3" in compiled


@pytest.mark.parametrize("age", ["before time limits", "with a heap", "of which nothing is there"])
def test_a_driver_of_arm_that_is_too_old_says_so(tmp_path: Path, age: str) -> None:
    write_library(tmp_path / "lib")
    write_arm_driver(tmp_path / "arm")
    header = tmp_path / "arm" / "include" / "ethosu_driver.h"
    text = header.read_text()
    header.write_text(
        text.replace(", uint64_t timeout", "")
        if age == "before time limits"
        else text.replace("uintptr_t base;", "struct ethosu_device *dev;", 1)
    )
    if age == "of which nothing is there":
        header.unlink()
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS + lines_of(0, tmp_path))
    with pytest.raises(AssertionError) as failed:
        cmake(tmp_path, f"-DETHOSU_CORE_DRIVER={tmp_path}/arm")
    assert "name the directory of one of June 2024 or newer" in " ".join(str(failed.value).split())


def test_libraries_that_need_different_ports_do_not_share_an_old_driver(tmp_path: Path) -> None:
    lines = ""
    for name in ("plus_one", "plus_two"):
        write_library(tmp_path / name / "lib", name)
        lines += lines_of(0, tmp_path / name, name)
    lists = tmp_path / "plus_two" / "lib" / "model" / "CMakeLists.txt"
    lists.write_text(re.sub(r"NPU_REGIONCFG_0=\d", "NPU_REGIONCFG_0=2", lists.read_text()))
    write_arm_driver(tmp_path / "arm")
    make_old(tmp_path / "arm")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS + lines)
    with pytest.raises(AssertionError) as failed:
        cmake(tmp_path, f"-DETHOSU_CORE_DRIVER={tmp_path}/arm")
    assert "use one of April 2025 or newer" in " ".join(str(failed.value).split())


@pytest.mark.slow
def test_two_packages_have_one_driver_of_arm(tmp_path: Path) -> None:
    write_arm_driver(tmp_path / "arm")
    lines = ""
    for name in ("plus_one", "plus_two"):
        write_library(tmp_path / name, name)
        driver = f"-DETHOSU_CORE_DRIVER={tmp_path}/arm"
        install(tmp_path, tmp_path / name, name, driver)
        lines += lines_of(2, tmp_path, name)
    (tmp_path / "arm").rename(tmp_path / "moved")
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS.replace("main.c", "two.c") + lines)
    both = MAIN.replace("(int)plus_one_run()", "(int)plus_two_run() + (int)plus_one_run()")
    (tmp_path / "two.c").write_text(f'#include "plus_two.h"\n{both}')
    cmake(tmp_path, f"-DCMAKE_PREFIX_PATH={tmp_path}/prefix")
    for symbol in ("plus_two_run", "ethosu_init"):
        assert memory_of(tmp_path / "build" / "app", symbol)[0] == "SHT_PROGBITS"


@needs_make
def test_a_makefile_builds_it_with_a_vendors_script(tmp_path: Path) -> None:
    write_library(tmp_path / "lib")
    (lines,) = snippets("make", "Make")
    lines = lines.replace("PATH/", "lib/").replace("NAME", "PLUS_ONE")
    (tmp_path / "Makefile").write_text(MAKEFILE.format(gcc=GCC.find(), lines=lines))
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "theirs.ld").write_text(VENDOR_SCRIPT)
    said = run(["make"], tmp_path)
    assert "warning" not in said
    elf = tmp_path / "build" / "app.elf"
    kind, addr = memory_of(elf, "plus_one_arena")
    assert kind == "SHT_NOBITS" and 0x20000000 <= addr < 0x20010000
    assert not is_stored(elf, addr) and not is_stored(elf, addr + SCRATCH_BYTES - 1)
    assert "Nothing to be done" in run(["make"], tmp_path)
    (tmp_path / "lib" / "model" / "ethosgen_npu.h").touch()
    assert "plus_one.c.o" in run(["make"], tmp_path), "a header's change compiles what includes it"


@needs_make
@pytest.mark.parametrize(
    ("npu", "is_right"), [("ethos-u55-128", True), *((other, False) for other in OTHER_NPUS)]
)
def test_makefiles_for_different_npus_say_so(tmp_path: Path, npu: str, is_right: bool) -> None:
    write_library(tmp_path / "one")
    write_library(tmp_path / "two", "plus_two", npu)
    places = ("one/model/ethosgen.mk", "two/model/ethosgen.mk")
    (tmp_path / "Makefile").write_text(f"include {' '.join(places)}\nall: ; @echo built\n")
    if is_right:
        assert "built" in run(["make"], tmp_path)
    else:
        with pytest.raises(
            AssertionError, match="the two are for different NPUs or from different"
        ):
            run(["make"], tmp_path)


@needs_make
def test_the_makefile_has_the_sources_of_cmake(tmp_path: Path) -> None:
    write_library(tmp_path / "lib", npu="ethos-u85-256", networks=2)
    query = "include lib/model/ethosgen.mk\nall: ; @echo $(PLUS_ONE_0_PLUS_ONE_1_SOURCES)\n"
    (tmp_path / "Makefile").write_text(query)
    listed = set(run(["make"], tmp_path).split())
    lists = (tmp_path / "lib" / "model" / "CMakeLists.txt").read_text()
    assert listed == set(re.findall(r"[\w/]+\.c\b", lists)) - set(arm_sources(lists))


def arm_sources(lists: str) -> list[str]:
    """Return the sources of Arm's driver, and ours that calls it."""
    return [*re.findall(r"[\w/]*/src/\w+\.c", lists), "ethosgen_npu_core.c"]
