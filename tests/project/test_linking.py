"""The library's memory with linker scripts that know little or nothing of ethosgen."""

import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from ethosgen.board.any_board import any_board
from ethosgen.host.resources import resource_folder
from ethosgen.host.tools import CMAKE, GCC, NINJA
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from tests.support.needs import needs_build
from tests.support.programs import SCRATCH_BYTES, make_program

pytestmark = needs_build

VENDOR_SCRIPT = """
ENTRY(Reset_Handler)
MEMORY
{
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 64K
    RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 64K
}
_estack = ORIGIN(RAM) + LENGTH(RAM);
SECTIONS
{
    .isr_vector : { . = ALIGN(4); KEEP(*(.isr_vector)) . = ALIGN(4); } > FLASH
    .text : { *(.text) *(.text*) *(.glue_7) *(.eh_frame) KEEP(*(.init)) KEEP(*(.fini)) } > FLASH
    .rodata : { *(.rodata) *(.rodata*) } > FLASH
    .ARM : { __exidx_start = .; *(.ARM.exidx*) __exidx_end = .; } > FLASH
    _sidata = LOADADDR(.data);
    .data : { _sdata = .; *(.data) *(.data*) . = ALIGN(4); _edata = .; } > RAM AT > FLASH
    .bss : { _sbss = .; __bss_start__ = _sbss; *(.bss) *(.bss*) *(COMMON) _ebss = .;
             __bss_end__ = _ebss; } > RAM
    ._user_heap_stack : { . = ALIGN(8); PROVIDE(end = .); . = . + 0x400; } > RAM
}
"""
"""A linker script as written by a microcontroller vendor's tools."""

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.20)
project(theirs C)
add_subdirectory("${LIBRARY}/model" network)
add_executable(theirs main.c)
target_link_libraries(theirs PRIVATE plus_one_model)
target_link_options(theirs PRIVATE ${LINK})
"""
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER "{gcc}")
set(CMAKE_C_FLAGS_INIT
  "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -ffunction-sections -fdata-sections")
"""
MAIN = """
#include "plus_one.h"
void Reset_Handler(void);
int main(void)
{
    if (ethosgen_npu_init(0x48102000, true, true) != ETHOSGEN_OK) {
        return 1;
    }
    if (plus_one_init() != ETHOSGEN_OK) {
        return 2;
    }
    plus_one_input()[0] = 1;
    return (int)plus_one_run() + plus_one_output()[0];
}
void Reset_Handler(void)
{
    (void)main();
}
"""


def link(folder: Path, *options: str) -> Path:
    """Link a library into a CMake project that is somebody else's, as its README says."""
    write(render(make_program(), any_board(), platform=LIBRARY_ONLY), folder / "lib")
    (folder / "CMakeLists.txt").write_text(CMAKE_LISTS)
    (folder / "main.c").write_text(MAIN)
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(gcc=GCC.find()))
    configure = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA.find()}", "-S", ".", "-B", "build"]
    known = {
        "CMAKE_TOOLCHAIN_FILE": "toolchain.cmake",
        "LIBRARY": str(folder / "lib"),
        "LINK": ";".join(options),
    }
    configure += [f"-D{name}={value}" for name, value in known.items()]
    for arguments in (configure, ["--build", "build"]):
        command = [str(CMAKE.find()), *arguments]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "build" / "theirs"


def memory_of(elf: Path, symbol: str) -> tuple[str, int]:
    """Return the type of the section that holds a symbol, and the symbol's address."""
    with elf.open("rb") as file:
        image = ELFFile(file)
        (entry,) = image.get_section_by_name(".symtab").get_symbol_by_name(symbol)
        section = image.get_section(entry["st_shndx"])
        return section["sh_type"], entry["st_value"]


def is_stored(elf: Path, addr: int) -> bool:
    """Return whether the file has the bytes at an address, which then take flash."""
    with elf.open("rb") as file:
        loads = ELFFile(file).iter_segments("PT_LOAD")
        return any(0 <= addr - load["p_vaddr"] < load["p_filesz"] for load in loads)


def test_by_newlibs_own_script_the_arena_takes_no_flash(tmp_path: Path) -> None:
    elf = link(tmp_path, "--specs=nosys.specs", "-nostartfiles")
    assert memory_of(elf, "plus_one_arena")[0] == "SHT_NOBITS"
    assert memory_of(elf, "plus_one_commands_0")[0] == "SHT_PROGBITS"


def test_by_a_makers_script_the_arena_takes_no_flash(tmp_path: Path) -> None:
    (tmp_path / "theirs.ld").write_text(VENDOR_SCRIPT)
    script = f"-T{tmp_path}/theirs.ld"
    elf = link(tmp_path, "--specs=nano.specs", "-nostartfiles", script, "-Wl,--gc-sections")
    kind, addr = memory_of(elf, "plus_one_arena")
    assert kind == "SHT_NOBITS"
    assert 0x20000000 <= addr < 0x20010000 and addr % 16 == 0
    assert not is_stored(elf, addr) and not is_stored(elf, addr + SCRATCH_BYTES - 1)
    assert is_stored(elf, memory_of(elf, "plus_one_commands_0")[1])


def test_the_readmes_lines_place_it(tmp_path: Path) -> None:
    write(render(make_program(), any_board(), platform=LIBRARY_ONLY), tmp_path / "lib")
    text = (tmp_path / "lib" / "README.md").read_text()
    arena, constants = [line.strip() for line in text.splitlines() if line.startswith("    .eth")]
    more = VENDOR_SCRIPT.replace(
        "LENGTH = 64K\n}", "LENGTH = 64K\n    SRAM (rw) : ORIGIN = 0x30000000, LENGTH = 64K\n}"
    )
    more = more.replace("    .bss :", f"    {arena}\n    {constants}\n    .bss :")
    (tmp_path / "theirs.ld").write_text(more)
    script = f"-T{tmp_path}/theirs.ld"
    elf = link(tmp_path, "--specs=nano.specs", "-nostartfiles", script, "-Wl,--gc-sections")
    assert memory_of(elf, "plus_one_arena") == ("SHT_NOBITS", 0x30000000)
    assert memory_of(elf, "plus_one_commands_0")[1] >> 24 == 0x08


ZEPHYR_ORDER = """
MEMORY
{
    FLASH (rx) : ORIGIN = 0, LENGTH = 64K
    RAM (wx) : ORIGIN = 0x20000000, LENGTH = 64K
    ethosgen_commands (r) : ORIGIN = 0x60000000, LENGTH = 64K
    ethosgen_weights (r) : ORIGIN = 0x61000000, LENGTH = 64K
    ethosgen_arena (rw) : ORIGIN = 0x62000000, LENGTH = 64K
    ethosgen_io (rw) : ORIGIN = 0x63000000, LENGTH = 64K
    ethosgen_fast (rw) : ORIGIN = 0x64000000, LENGTH = 64K
}
ENTRY(main)
SECTIONS
{
    text : { *(.text) *(".text.*") *(.rodata) *(".rodata.*") } > FLASH
    .ARM.exidx : { *(.ARM.exidx*) } > FLASH
#define ROMABLE_REGION FLASH
#define RAMABLE_REGION RAM
#include "rom_sections.ld"
#include "ram_sections.ld"
    datas : { *(.data) *(".data.*") } > RAM AT > FLASH
    bss (NOLOAD) : { *(.bss) *(".bss.*") end = .; } > RAM AT > RAM
#include "sections.ld"
}
"""
"""The order in which Zephyr's linker.ld for Cortex-M has its own sections and a module's."""


def link_as_zephyr(folder: Path, has_chosen: bool) -> Path:
    chosen = f"DT_HAS_CHOSEN(x)={int(has_chosen)}"
    macros = ["LINKER_DT_NODE_REGION_NAME_TOKEN(x)=x", "DT_CHOSEN(x)=x", chosen]
    lib = resource_folder("zephyr_app") / "lib"
    command = [str(GCC.find()), "-E", "-P", "-x", "c", f"-I{lib}", "-", "-o", "z.ld"]
    command += [f"-D{macro}" for macro in macros]
    subprocess.run(command, cwd=folder, input=ZEPHYR_ORDER, text=True, check=True)
    return link(folder, "--specs=nano.specs", "-nostartfiles", f"-T{folder}/z.ld")


def test_zephyr_places_it_before_its_own_bss(tmp_path: Path) -> None:
    elf = link_as_zephyr(tmp_path, has_chosen=True)
    assert memory_of(elf, "plus_one_arena") == ("SHT_NOBITS", 0x62000000)
    assert memory_of(elf, "plus_one_weights") == ("SHT_PROGBITS", 0x61000000)


def test_zephyr_places_it_with_the_program_where_no_memory_is_chosen(tmp_path: Path) -> None:
    elf = link_as_zephyr(tmp_path, has_chosen=False)
    kind, arena = memory_of(elf, "plus_one_arena")
    assert kind == "SHT_NOBITS" and 0x20000000 <= arena < 0x20010000
    kind, weights = memory_of(elf, "plus_one_weights")
    assert kind == "SHT_PROGBITS" and 0 < weights < 0x10000
    assert is_stored(elf, weights) and not is_stored(elf, arena)


TWO_CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.20)
project(theirs C)
add_subdirectory("one/model" one)
add_subdirectory("two/model" two)
add_executable(theirs main.c)
target_link_libraries(theirs PRIVATE plus_one_model plus_two_model)
target_link_options(theirs PRIVATE --specs=nosys.specs -nostartfiles -Wl,-emain)
"""
TWO_MAIN = """
#include "plus_one.h"
#include "plus_two.h"
int main(void)
{
    return (int)plus_one_init() + (int)plus_two_init() + (int)plus_one_run() + (int)plus_two_run();
}
"""


def configure_two(folder: Path, name: str = "plus_two", npu: str = "ethos-u55-128") -> str:
    """Configure and build a project with two libraries; return CMake's output."""
    programs = {"one": make_program(), "two": make_program(name=name, npu=npu)}
    for place, program in programs.items():
        write(render(program, any_board(), platform=LIBRARY_ONLY), folder / place)
    (folder / "CMakeLists.txt").write_text(TWO_CMAKE_LISTS)
    (folder / "main.c").write_text(TWO_MAIN)
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(gcc=GCC.find()))
    configure = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={NINJA.find()}", "-S", ".", "-B", "build"]
    said = ""
    for arguments in ([*configure, "-DCMAKE_TOOLCHAIN_FILE=toolchain.cmake"], ["--build", "build"]):
        command = [str(CMAKE.find()), *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        said += done.stdout + done.stderr
        if done.returncode:
            break
    return " ".join(said.split())


def test_two_libraries_in_one_build_share_the_driver(tmp_path: Path) -> None:
    said = configure_two(tmp_path)
    elf = tmp_path / "build" / "theirs"
    assert elf.is_file(), said
    assert "warning" not in said
    for symbol in ("plus_one_run", "plus_two_run", "ethosgen_npu_run"):
        assert memory_of(elf, symbol)[0] == "SHT_PROGBITS"  # one, or this would not be unpacked
    archive = tmp_path / "build" / "two" / "libplus_two_model.a"
    listed = subprocess.run(
        [GCC.find().parent / "arm-none-eabi-ar", "t", archive],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "plus_two.c.obj" in listed.stdout and "npu" not in listed.stdout


def test_two_libraries_that_cannot_be_in_one_build_say_so(tmp_path: Path) -> None:
    said = configure_two(tmp_path / "npus", npu="ethos-u85-256")
    assert "the two libraries are for different NPUs or from different versions of ethosgen" in said
    assert "ethosgen project ONE.tflite OTHER.tflite --platform library" in said
    said = configure_two(tmp_path / "names", name="plus_one")
    assert "this build already has a network plus_one (rename one with --name)" in said
