"""Users' accelerators on Zephyr, in a csolution, and in a library: the same bits everywhere."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.host.tools import GCC
from ethosgen.platforms import CSOLUTION, LIBRARY_ONLY, ZEPHYR
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.accelerators.test_matrix_engine import DIGITS, ENGINE, SOFTWARE
from tests.plugins.toy.toy_plugin.adder import HEADER
from tests.support.needs import needs_arm_gcc, needs_gcc, needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.toy_accelerator import changed, sums_file, write_folder
from tests.toolchain.test_csolution import Solution
from tests.zephyr.test_zephyr_project import configure, read_devicetree

UNCHECKED = OffloadOptions(check=False)
ENGINE_BASE, ENGINE_IRQ = 0x58103000, 57
"""Its place on the corstone300, as accelerators/matrix-engine/accelerator.toml has it."""


def dense(folder: Path) -> Path:
    """Write a network of one layer that the engine takes."""
    net = NetworkBuilder("dense", seed=5)
    path = folder / "dense.tflite"
    path.write_bytes(net.build(net.fully_connected(net.input((1, 16)), 16)))
    return path


def make(folder: Path, platform: str, board: str | None = "corstone300", npu: str = "none") -> Path:
    """Write a project with the engine, and return its folder."""
    recipe = Recipe(
        (dense(folder),), board, npu, options=UNCHECKED, platform=platform, accelerators=(ENGINE,)
    )
    flow.create_project(recipe, directory=folder / "p", watch=Watch())
    return folder / "p"


def write_soft_adder(folder: Path) -> Path:
    """Write an accelerator whose device has no model: its driver computes by itself."""
    toml = changed('kind = "device"', 'kind = "device"\ndevice = { registers = 0x10 }')
    toml = toml.replace("toy_add.", "soft_adder.").replace('"toy_add"', '"soft_add"')
    write_folder(folder, toml)
    header = HEADER.replace("toy_add", "soft_add")
    (folder / "soft_adder.h").write_text(f"#pragma once\n{header}")
    (folder / "soft_adder.c").write_text(SOFTWARE)
    return folder


def test_zephyrs_devicetree_has_the_device(tmp_path: Path) -> None:
    place = make(tmp_path, ZEPHYR)
    edt = read_devicetree(place, "qemu", tmp_path)
    engine = edt.label2node["ethosgen_matrix_engine"]
    assert engine.regs[0].addr == 0x7FFFC000 and engine.regs[0].size == 0x68
    (bell,) = edt.compat2nodes["ethosgen,npu-bell"]
    assert bell.props["devices"].val == [engine] and "npu" not in bell.props
    assert edt.label2node["ethosu0"].regs[0].addr == 0x48102000, "there is no NPU"
    edt = read_devicetree(place, "board", tmp_path)
    engine = edt.label2node["ethosgen_matrix_engine"]
    assert engine.regs[0].addr == ENGINE_BASE
    assert engine.interrupts[0].data["irq"] == ENGINE_IRQ
    assert "ethosgen,npu-bell" not in edt.compat2nodes


def test_zephyrs_configuration_has_its_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make(tmp_path, ZEPHYR)
    kconfig = configure(place, "ETHOS_", "since_4_2", monkeypatch, tmp_path / "tree")
    assert not kconfig.warnings
    assert kconfig.syms["ETHOSGEN_DEVICE_TIMEOUT_MS"].str_value == "60000"
    assert kconfig.syms["ETHOSGEN_NPU_BELL"].str_value == "y"
    assert kconfig.syms["ETHOSGEN_NPU"].str_value == "n"


def test_a_board_without_its_address_has_no_node(tmp_path: Path) -> None:
    folder = write_soft_adder(tmp_path / "soft-adder")
    recipe = Recipe(
        (sums_file(tmp_path / "sums.tflite"),),
        "corstone300",
        "none",
        options=UNCHECKED,
        platform=ZEPHYR,
        accelerators=(str(folder),),
    )
    flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    assert "ethosgen,device" in (tmp_path / "p/boards/on_qemu.overlay").read_text()
    assert "ethosgen,device" not in (tmp_path / "p/boards/on_board.overlay").read_text()
    build_file = (tmp_path / "p/model/CMakeLists.txt").read_text()
    software = build_file[build_file.index("there is no model of it") :]
    assert "SOURCE soft-adder/soft_adder.c" in software.replace("\n", " ")
    assert "ETHOSGEN_SOFTWARE_MODEL" in software


@needs_zephyr
@needs_qemu
@needs_gcc
@pytest.mark.parametrize("npu", ["none", "ethos-u55-64"])  # a larger one is faster in all
def test_it_runs_on_zephyr(npu: str) -> None:
    options = OffloadOptions(mode=OffloadMode.AUTO)
    recipe = Recipe(
        (DIGITS,), "corstone300", npu, options=options, platform=ZEPHYR, accelerators=(ENGINE,)
    )
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 3, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators >= 3
    assert (report.plan.npu_operators or 0) >= (4 if npu != "none" else 0)


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_it_runs_from_a_csolution(tmp_path: Path) -> None:
    place = make(tmp_path, CSOLUTION)
    elf = place / "build" / "qemu" / "firmware.elf"
    elf.parent.mkdir(parents=True)
    Solution(place, "qemu").build("-mcpu=cortex-m55", elf)
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 2, 3)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 1


def test_a_csolution_compiles_software_for_qemu_alone(tmp_path: Path) -> None:
    recipe = Recipe(
        (sums_file(tmp_path / "sums.tflite"),),
        "corstone300",
        "none",
        options=UNCHECKED,
        platform=CSOLUTION,
        accelerators=(str(write_soft_adder(tmp_path / "soft-adder")),),
    )
    flow.create_project(recipe, directory=tmp_path / "p", watch=Watch())
    flags = {
        way: [f for path, f in Solution(tmp_path / "p", way).sources() if "soft_adder" in path.name]
        for way in ("qemu", "board")
    }
    assert [len(ways) for ways in flags.values()] == [1, 1], "each way compiles it once"
    assert "-DETHOSGEN_SOFTWARE_MODEL" in flags["qemu"][0]
    assert "-DETHOSGEN_SOFTWARE_MODEL" not in flags["board"][0]


CONSUMER = """cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
add_compile_options(-Wall -Wextra -Wconversion -Werror)
add_subdirectory(model)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE dense_model)
set_target_properties(consumer PROPERTIES LINKER_LANGUAGE C) # Debian has no libstdc++ for Arm
"""
MAIN = """
#include "dense.h"
#include "ethosgen_devices.h"

int main()
{
    ethosgen_device_init(&ethosgen_device_matrix_engine, 0x58103000u);
    if (dense_init() != ETHOSGEN_OK) {
        return 1;
    }
    ethosgen_device_irq_handler(&ethosgen_device_matrix_engine);
    return dense_run();
}
"""


@needs_arm_gcc
@pytest.mark.compiler("cmake")
def test_a_library_builds_in_an_application_in_cpp(tmp_path: Path) -> None:
    place = make(tmp_path, LIBRARY_ONLY, board=None)
    (place / "CMakeLists.txt").write_text(CONSUMER)
    (place / "main.cpp").write_text(MAIN)
    gcc = str(GCC.find())
    core = "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard --specs=nosys.specs"
    settings = {
        "CMAKE_SYSTEM_NAME": "Generic",
        "CMAKE_C_COMPILER": gcc,
        "CMAKE_CXX_COMPILER": gcc.removesuffix("gcc") + "g++",
        "CMAKE_C_FLAGS": core,
        "CMAKE_CXX_FLAGS": core,
        "CMAKE_TRY_COMPILE_TARGET_TYPE": "STATIC_LIBRARY",
    }
    cmake = str(shutil.which("cmake"))
    options = [f"-D{name}={value}" for name, value in settings.items()]
    build = str(place / "build")
    subprocess.run([cmake, "-S", str(place), "-B", build, *options], check=True)
    subprocess.run([cmake, "--build", build], check=True)


def test_a_library_guesses_no_interrupt(tmp_path: Path) -> None:
    """A wait that enables a guessed interrupt would enable another's."""
    place = make(tmp_path, LIBRARY_ONLY, board=None)
    source = (place / "model/ethosgen_devices.c").read_text()
    assert "#define ETHOSGEN_MATRIX_ENGINE_IRQ (-1)" in source
    assert (
        "ethosgen_device_init(&ethosgen_device_matrix_engine, MATRIX_ENGINE_BASE)"
        in (place / "README.md").read_text()
    )


def test_a_library_for_a_board_knows_its_interrupt(tmp_path: Path) -> None:
    place = make(tmp_path, LIBRARY_ONLY)
    assert f".irq = {ENGINE_IRQ} }}" in (place / "model/ethosgen_devices.c").read_text()
    told = (place / "README.md").read_text()
    assert f"{ENGINE_BASE:#x}" in told and f"interrupt {ENGINE_IRQ}" in told
