"""Every snippet of the pages on a library in other firmware, compiled in a frame."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
from elftools.elf.elffile import ELFFile

from ethosgen import flow
from ethosgen.board.any_board import any_board
from ethosgen.cli import cli
from ethosgen.host.tools import GCC
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.project.test_build_systems import cmake
from tests.project.test_linking import VENDOR_SCRIPT, link, memory_of
from tests.support.needs import needs_arm_gcc, needs_build
from tests.support.programs import make_program
from tests.support.recipes import recipe
from tests.support.snippets import PAGES, all_snippets, snippets

DEMOS = ("digits_int8", "kws_int8", "vibration_int8")
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-mcpu=cortex-m55", "-fsyntax-only"]
PLACES = {
    ("CMake", "cmake"),  # test_build_systems.py
    ("CMake", "sh"),
    ("Make", "make"),
    ("Zephyr", "cmake"),  # tests/zephyr/test_zephyr_module.py
    ("Zephyr", "yaml"),
    ("Zephyr", "ini"),
    ("Zephyr", "dts"),
    ("CMSIS pack", "yaml"),  # test_pack.py
    ("PlatformIO", "ini"),  # test_layout_builds.py
    ("Arduino", "sh"),  # test_layouts.py, test_layout_builds.py
    ("Clang", "sh"),  # test_compilers.py
    ("Stack", "c"),
    ("GNU ld and LLVM's lld", "ld"),
    ("Time", "c"),
    ("Watchdogs", "c"),
    ("RTOS", "cmake"),
    ("RTOS", "c"),
    ("Interrupts", "c"),
    ("Power", "c"),
    ("Several networks and threads", "c"),
    ("Real values", "c"),
    ("C++", "cpp"),
    ("Run your firmware on QEMU", "sh"),
    ("An input that comes by rows", "c"),  # test_feed.py
}
"""The headings and languages of the snippets, all of which a test uses."""
UNTESTED = {"armlink scatter file", "IAR ILINK"}
"""Headings of fragments that the page calls untested, as indented text."""
DECLARED = "void give_up(void);\nvoid report(float score);\n"
VALUES = """
#include "plus_one.h"
#include "ethosgen_quantization.h"
float classify(int8_t *input, const int8_t *output, const float *samples);
float classify(int8_t *input, const int8_t *output, const float *samples)
{
%s    return score;
}
"""
CLOCK = '#include "ethosgen_npu.h"\nuint32_t HAL_GetTick(void);\n%s'
DRIVERS = "#define NPU_IRQn 56\n#define NPU_BASE_ADDR 0x58102000u\n"
POWER = f"""
#include "ethosgen_npu.h"
{DRIVERS}{DECLARED}
void NVIC_DisableIRQ(int irq), NVIC_EnableIRQ(int irq);
void turn_npu_off(void), turn_npu_on(void), wait_for_work(void), rest(void);
%s"""
INTERRUPT = f"""
#include "plus_one.h"
{DRIVERS}{DECLARED}
void NVIC_EnableIRQ(int irq);
void NPU_IRQHandler(void), start_networks(void);
%s"""
CPP = "%s\nvoid classify(const float (&samples)[PLUS_ONE_INPUT_ELEMENTS])\n{\n%s}\n"


def named(text: str) -> str:
    """Put the network's name in place of NAME, which macros have in capital letters."""
    return re.sub(r"NAME(?=_[A-Z])", "PLUS_ONE", text).replace("NAME", "plus_one")


@pytest.fixture(scope="module", params=["plus_one", *DEMOS])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library of a network, also of each demo network, under the same name."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param in DEMOS:
        network = ROOT / "demo" / f"{request.param}.tflite"
        asked = recipe(network, npu="ethos-u55-128", check=False, names=("plus_one",))
        program = flow.create_project(asked, directory=folder / "lib", watch=Watch())
        assert program.directory == folder / "lib"
    else:
        write(render(make_program(), any_board(), platform=LIBRARY_ONLY), folder / "lib")
    return folder / "lib" / "model"


def compiles(folder: Path, text: str, language: str, *options: str, library: Path) -> None:
    """Compile a text with a library's headers."""
    (folder / f"snippet.{language}").write_text(text)
    standard = {"c": "c11", "cpp": "c++14"}[language]
    folders = [f"-I{library}", f"-I{library}/rtos"]
    command = [str(GCC.find()), f"-std={standard}", *STRICT, *folders, *options]
    subprocess.run([*command, str(folder / f"snippet.{language}")], check=True)


def test_every_snippet_has_a_test() -> None:
    assert {place[:2] for place in all_snippets()} == PLACES
    text = "\n".join(page.read_text() for page in PAGES)
    fenceless = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    parts = re.split(r"^#+ (.+)$", fenceless, flags=re.M)
    indented = {
        heading
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
        if re.search(r"\n\n    \S", text)
    }
    # Commands that make libraries; lines of logs, and GDB's command line.
    commands = {"Add the library to your build", "An input that comes by rows"}
    commands |= {"Bands of rows instead of whole tensors", "Run your firmware on QEMU", "Stack"}
    commands |= {"With an NPU"}
    assert indented == UNTESTED | commands


@needs_arm_gcc
def test_the_clock_compiles(tmp_path: Path, model: Path) -> None:
    (clock,) = snippets("c", "Time")
    compiles(tmp_path, CLOCK % clock, "c", library=model)


@needs_arm_gcc
def test_the_watchdog_compiles(tmp_path: Path, model: Path) -> None:
    (hook,) = snippets("c", "Watchdogs")
    compiles(tmp_path, f"void feed_watchdog(void);\n{hook}", "c", library=model)


@needs_arm_gcc
def test_the_real_values_compile(tmp_path: Path, model: Path) -> None:
    (lines,) = snippets("c", "Real values")
    compiles(tmp_path, VALUES % named(lines), "c", library=model)


@needs_arm_gcc
def test_the_first_bound_of_a_stack_compiles(tmp_path: Path, model: Path) -> None:
    (lines,) = snippets("c", "Stack")
    stack = "static uint8_t stack[KWS_STACK_BYTES];\nuint8_t *top(void);\n"
    use = "uint8_t *top(void)\n{\n    return stack;\n}\n"
    compiles(tmp_path, f'#include "plus_one.h"\n{lines}{stack}{use}', "c", library=model)


@needs_arm_gcc
def test_the_interrupt_compiles(tmp_path: Path, model: Path) -> None:
    (lines,) = snippets("c", "Interrupts")
    compiles(tmp_path, INTERRUPT % named(lines), "c", library=model)


@needs_arm_gcc
def test_the_power_cycle_compiles(tmp_path: Path, model: Path) -> None:
    (lines,) = snippets("c", "Power")
    compiles(tmp_path, POWER % lines, "c", library=model)


@needs_arm_gcc
def test_two_networks_compile(tmp_path: Path) -> None:
    (lines,) = snippets("c", "Several networks and threads")
    programs = [make_program(name="plus_one"), make_program(name="plus_two")]
    write(render(programs, any_board(), platform=LIBRARY_ONLY), tmp_path / "lib")
    for letter, program in zip("AB", programs, strict=True):
        lines = re.sub(rf"\b{letter}(?=[._])", program.name, lines)
    first, rest = lines.split("\n\n", 1)
    text = f"{first}\n{DRIVERS}bool prepare_both(void);\n{rest}"
    model = tmp_path / "lib" / "model"
    more = [f"-I{model / program.name}" for program in programs]
    compiles(tmp_path, text, "c", *more, library=model)


@needs_arm_gcc
def test_the_cpp_compiles(tmp_path: Path, model: Path) -> None:
    (text,) = snippets("cpp", "C++")
    include, body = named(text).split("\n\n", 1)
    declared = f"{include}\n{DECLARED}void classify(const float (&)[PLUS_ONE_INPUT_ELEMENTS]);\n"
    compiles(tmp_path, CPP % (declared, body), "cpp", "-fno-exceptions", "-fno-rtti", library=model)


@needs_build
def test_the_linker_script_places_the_sections(tmp_path: Path) -> None:
    (lines,) = snippets("ld", "GNU ld and LLVM's lld")
    more = VENDOR_SCRIPT.replace(
        "LENGTH = 64K\n}", "LENGTH = 64K\n    SRAM (rw) : ORIGIN = 0x30000000, LENGTH = 64K\n}"
    )
    (tmp_path / "theirs.ld").write_text(more.replace("    .bss :", f"{lines}\n    .bss :"))
    script = f"-T{tmp_path}/theirs.ld"
    elf = link(tmp_path, "--specs=nano.specs", "-nostartfiles", script, "-Wl,--gc-sections")
    assert memory_of(elf, "plus_one_arena") == ("SHT_NOBITS", 0x30000000)
    for symbol in ("plus_one_commands_0", "plus_one_weights"):
        assert memory_of(elf, symbol)[1] >> 24 == 0x08


def binding_of(elf: Path, symbol: str) -> str:
    with elf.open("rb") as file:
        (entry,) = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(symbol)
        return str(entry["st_info"]["bind"])


@needs_build
def test_the_hooks_for_an_rtos_replace_the_librarys(tmp_path: Path) -> None:
    write(render(make_program(), any_board(), platform=LIBRARY_ONLY), tmp_path / "lib")
    (code,) = snippets("c", "RTOS")
    (added,) = snippets("cmake", "RTOS")
    (first, *_) = snippets("cmake", "CMake")
    lines = named(first + added).replace("PATH", f"{tmp_path}/lib")
    headers = ROOT / "tests" / "driver" / "rtos"
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(app C)\nadd_executable(app main.c use.c)\n"
        f'{lines}target_include_directories(app PRIVATE "{headers}" "{tmp_path}/lib/model/rtos")\n'
        "target_compile_definitions(app PRIVATE TICKS_PER_S=1000)\n"
        "target_compile_options(app PRIVATE -Wall -Wextra -Werror)\n"
        "target_link_options(app PRIVATE --specs=nosys.specs -nostartfiles -Wl,-emain\n"
        "  -Wl,--unresolved-symbols=ignore-all)\n"  # FreeRTOS's own
    )
    (tmp_path / "use.c").write_text(f'#include "plus_one.h"\n{DECLARED}{named(code)}')
    cmake(tmp_path)
    elf = tmp_path / "build" / "app"
    assert binding_of(elf, "ethosgen_npu_wait") == binding_of(elf, "classify") == "STB_GLOBAL"
    assert binding_of(elf, "ethosgen_npu_wait_begin") == "STB_WEAK", "the library's own"


def test_the_command_line_is_one() -> None:
    (line,) = snippets("sh", "Run your firmware on QEMU")
    program, name, *options = shlex.split(line)
    assert program == "ethosgen"
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    known, _, _ = command.make_parser(
        click.Context(command, **command.context_settings)
    ).parse_args(options)
    assert (known["elf"], known["board"]) == ("app.elf", "corstone300")
