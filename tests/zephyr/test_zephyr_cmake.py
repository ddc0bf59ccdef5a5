"""The application's and the module's CMake, with Zephyr's functions as stubs that take notes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.platforms import ZEPHYR
from ethosgen.project import render, write
from tests import ROOT
from tests.support.programs import make_program

APP = ROOT / "zephyr_app"
CMAKE = shutil.which("cmake")
NEW_DRIVER = """
unsigned int ethosu_config_select(uint64_t address, int index);
void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int count);
"""
OLD_DRIVER = "void ethosu_flush_dcache(uint32_t *p, size_t bytes);\n"
CALLED = (
    "zephyr_include_directories",
    "zephyr_library_named",
    "zephyr_library_compile_options",
    "zephyr_library_compile_definitions",
    "zephyr_compile_definitions",
    "zephyr_compile_options",
    "zephyr_library_sources",
    "zephyr_library_sources_ifdef",
    "zephyr_library_include_directories",
    "zephyr_library_link_libraries",
    "zephyr_link_libraries",
    "zephyr_linker_sources",
    "board_runner_args",
)
STUB = """cmake_minimum_required(VERSION 3.20)
project(stub NONE)
{functions}
{variables}
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE ccache)
set(ZEPHYR_BASE ${{CMAKE_SOURCE_DIR}})
set(ZEPHYR_HAL_ETHOS_U_MODULE_DIR ${{CMAKE_SOURCE_DIR}})
include({module}/CMakeLists.txt)
message("NOTE flasher ${{BOARD_FLASH_RUNNER}}")
get_property(launcher GLOBAL PROPERTY RULE_LAUNCH_COMPILE)
message("NOTE launcher ${{launcher}} end")
"""
NPU = {
    "CONFIG_ETHOSGEN": "y",
    "CONFIG_ETHOSGEN_NPU": "y",
    "CONFIG_DT_HAS_ARM_ETHOS_U_ENABLED": "y",
    "ETHOSGEN_NPU_LIMITS": "AXI_LIMIT0_MAX_BEATS_BYTES=0",
    "ETHOSGEN_NPU_PORTS": "NPU_QCONFIG=2;NPU_REGIONCFG_0=3",
    "ETHOSGEN_ON": "board",
}

pytestmark = pytest.mark.compiler("cmake")


def configure(place: Path, variables: dict[str, str], driver: str = NEW_DRIVER) -> tuple[int, str]:
    """Configure the module; return the status and the output on one line."""
    (place / "include").mkdir(parents=True)
    (place / "include" / "ethosu_driver.h").write_text(driver)
    common = place / "boards" / "common"
    common.mkdir(parents=True)
    (common / "pyocd.board.cmake").write_text('message("NOTE pyocd.board.cmake")\n')
    functions = "\n".join(
        f'function({name})\n  message("NOTE {name} ${{ARGN}}")\nendfunction()' for name in CALLED
    )
    settings = "\n".join(f'set({name} "{value}")' for name, value in variables.items())
    text = STUB.format(functions=functions, variables=settings, module=APP)
    (place / "CMakeLists.txt").write_text(text)
    return run(place, place / "build")


def run(source: Path, build: Path, *options: str, **variables: str) -> tuple[int, str]:
    command = [str(CMAKE), "-S", str(source), "-B", str(build), *options]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(build), **variables}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_a_board_without_an_npu_gets_one_sentence(tmp_path: Path) -> None:
    variables = {**NPU, "CONFIG_DT_HAS_ARM_ETHOS_U_ENABLED": "", "BOARD": "nucleo"}
    status, said = configure(tmp_path, variables)
    assert status != 0
    assert "board nucleo has no NPU: its devicetree has no enabled node" in said
    assert "no enabled node with compatible arm,ethos-u" in said
    assert "choose a board that has one, or add the node in an overlay" in said


def test_without_an_npu_no_driver_is_asked_for(tmp_path: Path) -> None:
    variables = {"CONFIG_ETHOSGEN": "y", "CONFIG_ETHOSGEN_SERVER": "y", "ETHOSGEN_ON": "qemu"}
    status, said = configure(tmp_path, variables)
    assert status == 0
    assert "ethosu_core_driver" not in said and "lib/npu" not in said
    assert "zephyr_library_compile_definitions ETHOSGEN_ON_QEMU" in said


def test_a_network_on_the_cpu_alone_needs_no_library(tmp_path: Path) -> None:
    """A library without sources would be refused by CMake."""
    status, said = configure(tmp_path, {"CONFIG_ETHOSGEN": "y"})
    assert status == 0
    assert "zephyr_library_named" not in said
    assert "NOTE zephyr_linker_sources RAM_SECTIONS;lib/ram_sections.ld" in said


@pytest.mark.parametrize(("driver", "is_told"), [(OLD_DRIVER, True), (NEW_DRIVER, False)])
def test_ports_are_compiled_into_drivers_that_do_not_ask(
    driver: str, is_told: bool, tmp_path: Path
) -> None:
    status, said = configure(tmp_path, NPU, driver)
    assert status == 0
    assert ("zephyr_compile_definitions NPU_QCONFIG=2;NPU_REGIONCFG_0=3" in said) == is_told
    assert "zephyr_compile_definitions AXI_LIMIT0_MAX_BEATS_BYTES=0" in said


def test_an_old_driver_cannot_have_two_ports_for_one_region(tmp_path: Path) -> None:
    variables = {name: value for name, value in NPU.items() if name != "ETHOSGEN_NPU_PORTS"}
    status, said = configure(tmp_path, variables, OLD_DRIVER)
    assert status != 0
    assert "use hal_ethos_u of April 2025 or newer" in said


@pytest.mark.parametrize(("driver", "is_pointer"), [(OLD_DRIVER, True), (NEW_DRIVER, False)])
@pytest.mark.parametrize("zephyrs_own", ["", "y"])
def test_cache_hooks_have_the_drivers_signature(
    driver: str, is_pointer: bool, zephyrs_own: str, tmp_path: Path
) -> None:
    variables = {**NPU, "CONFIG_CPU_HAS_DCACHE": "y", "CONFIG_ETHOS_U_DCACHE": zephyrs_own}
    status, said = configure(tmp_path, variables, driver)
    assert status == 0
    ours = not zephyrs_own
    assert ("zephyr_library_sources lib/npu/cache.c" in said) == ours
    assert ("ETHOSGEN_CACHE_HOOKS_TAKE_POINTER" in said) == (ours and is_pointer)


@pytest.mark.parametrize("on", ["board", "qemu"])
def test_a_board_without_a_runner_gets_pyocd(on: str, tmp_path: Path) -> None:
    variables = {**NPU, "ETHOSGEN_PYOCD_TARGET": "mps3_an547", "ETHOSGEN_ON": on}
    status, said = configure(tmp_path, variables)
    assert status == 0
    assert ("NOTE board_runner_args pyocd;--target=mps3_an547" in said) == (on == "board")
    assert ("NOTE flasher pyocd" in said) == (on == "board")


@pytest.mark.parametrize(
    ("version", "is_used"),
    [("4.7.5", False), ("4.9.1", False), ("4.9.2", True), ("4.13.6", True), (None, True)],
)
def test_a_ccache_that_loses_call_graphs_is_not_used(
    version: str | None, is_used: bool, tmp_path: Path
) -> None:
    """See ccache's issue 1400: it restored an object without the .ci file beside it."""
    variables = {"CONFIG_ETHOSGEN": "y", "CONFIG_ETHOSGEN_SERVER": "y", "ETHOSGEN_ON": "board"}
    variables |= {"CMAKE_C_COMPILER_ID": "GNU", "CONFIG_MAIN_STACK_SIZE": "1024"}
    if version:
        ccache = tmp_path / "ccache"
        ccache.write_text(f"#!/bin/sh\necho ccache version {version}\n")
        ccache.chmod(0o755)
        variables["CCACHE_FOUND"] = str(ccache)
    status, said = configure(tmp_path / "module", variables)
    assert status == 0 and "NOTE zephyr_compile_options -fcallgraph-info=su" in said
    assert f"NOTE launcher{' ccache' if is_used else ''} end" in said
    assert (f"ccache {version} is not used: it loses the call graphs" in said) != is_used


@pytest.mark.parametrize(("launcher", "kept"), [("ccache", ""), ("distcc", "distcc")])
def test_an_environment_that_names_ccache_leaves_it_to_zephyr(
    launcher: str, kept: str, tmp_path: Path
) -> None:
    place = tmp_path / "app"
    write(render(make_program(), load_board("corstone300"), platform=ZEPHYR), place)
    config = tmp_path / "ZephyrConfig.cmake"
    config.write_text('message(FATAL_ERROR "starts $ENV{CMAKE_C_COMPILER_LAUNCHER}.")\n')
    options = ("-DBOARD=mps3/an547", f"-DZephyr_DIR={tmp_path}")
    _status, said = run(place, tmp_path / "build", *options, CMAKE_C_COMPILER_LAUNCHER=launcher)
    assert f"starts {kept}." in said


def test_an_application_without_zephyr_says_what_to_set(tmp_path: Path) -> None:
    place = tmp_path / "app"
    write(render(make_program(), load_board("corstone300"), platform=ZEPHYR), place)
    status, said = run(place, tmp_path / "build", "-DBOARD=mps3/an547")
    assert status != 0
    assert "Zephyr was not found; set ZEPHYR_BASE to its directory" in said


def test_an_application_without_a_network_says_what_to_name(tmp_path: Path) -> None:
    status, said = run(APP / "app", tmp_path / "build")
    assert status != 0
    assert "There is no network in" in said and "-DETHOSGEN_MODEL=DIR" in said
