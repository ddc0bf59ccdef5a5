"""The library with GCC and Clang, in each standard of C and C++, by docs/builds.md."""

import re
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.flow.attachment import attach_firmware
from ethosgen.host.tools import GCC
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project.rendering import KERNEL_OPTIONS
from ethosgen.toolchain.baremetal import build
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.kernel_files import write_kernels
from tests.support.needs import needs_qemu
from tests.support.small_models import image_net
from tests.targets.attach.firmwares import (
    APPLICATION,
    EXIT_STATUS,
    RUNS,
    expected,
    outputs,
    shorthands,
)

CORE = ["-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard"]
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
STANDARDS = ("c99", "c11", "c17", "c2x", "c++11", "c++14", "c++17", "c++20")
RTOS = ROOT / "tests" / "driver" / "rtos"
ON_CPU = ("CONV_2D", "FULLY_CONNECTED", "SOFTMAX")
"""Operators of the network that the CPU runs, so that it has kernels of several kinds."""

COMPILERS = [
    pytest.param("gcc", marks=pytest.mark.compiler("arm-none-eabi-gcc")),
    pytest.param("clang", marks=pytest.mark.compiler("arm-none-eabi-gcc", "clang")),
]


def compiler(name: str, core: Sequence[str] = CORE) -> list[str]:
    """Return the command of a compiler for a core; Clang uses the headers of GCC's newlib."""
    if name == "gcc":
        return [str(GCC.find()), *core]
    return [name, "--target=arm-none-eabi", *core, "-fshort-enums", "-isystem", newlib_headers()]


def newlib_headers() -> str:
    """Return the folder of GCC's newlib."""
    query = [str(GCC.find()), "-xc", "-E", "-v", "/dev/null"]
    said = subprocess.run(query, capture_output=True, text=True, check=True).stderr
    listed = said.partition("#include <...> search starts here:\n")[2].split("End of search")[0]
    (newlib,) = [line for line in listed.split() if Path(line, "newlib.h").is_file()]
    return newlib


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compilers")
    recipe = Recipe(
        (image_net(place / "image_net.tflite"),),
        "corstone300",
        platform=LIBRARY_ONLY,
        options=OffloadOptions(ON_CPU, OffloadMode("all")),
    )
    flow.create_project(recipe, directory=place / "library", watch=Watch())
    return place / "library"


def public_headers(model: Path, is_cpp: bool, standard: str) -> list[Path]:
    """Return the headers that applications include, each of which needs no other before it."""
    names = ["image_net.h", "rtos/ethosgen_rtos.h"]
    names += [f"ethosgen_{name}.h" for name in ("status", "npu", "networks", "profile")]
    names += ["ethosgen_quantization.h"]
    if is_cpp and standard != "c++11":
        names += ["ethosgen.hpp", "image_net.hpp"]
    return [model / name for name in names]


@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("standard", STANDARDS)
def test_each_header_is_clean_in_each_standard(
    library: Path, tmp_path: Path, name: str, standard: str
) -> None:
    is_cpp = "++" in standard
    files = []
    for header in public_headers(library / "model", is_cpp, standard):
        file = tmp_path / f"{header.name}.{'cpp' if is_cpp else 'c'}"
        file.write_text(f'#include "{header}"\n#include "{header}"\nextern int nothing;\n')
        files.append(str(file))
    command = [*compiler(name), f"-std={standard}", *STRICT, f"-I{library / 'model'}"]
    subprocess.run([*command, "-fsyntax-only", *files], check=True)


def compile_library(library: Path, place: Path, name: str, options: list[str]) -> list[str]:
    """Compile the sources as the page says; return the objects."""
    place.mkdir()
    model = library / "model"
    lists = (model / "CMakeLists.txt").read_text()
    (kernels,) = re.findall(
        rf"\(([^()]*) PROPERTIES\s+COMPILE_OPTIONS \"{KERNEL_OPTIONS[0]}", lists
    )
    sources = [path for path in model.glob("*.c") if not path.stem.endswith(("_core", "_networks"))]
    for is_kernel in (False, True):
        chosen = [
            str(source) for source in sources if (source.name in kernels.split()) == is_kernel
        ]
        assert len(chosen) >= 3
        own = list(KERNEL_OPTIONS) if is_kernel else ["-Wall", "-Wextra", "-Wno-unused-parameter"]
        command = [*compiler(name), "-std=c11", *options, *own, "-Werror", "-ffunction-sections"]
        subprocess.run([*command, "-c", *chosen], cwd=place, check=True)
    return [str(path) for path in sorted(place.glob("*.o"))]


@needs_qemu
@pytest.mark.parametrize("name", COMPILERS)
@pytest.mark.parametrize("option", ["-O0", "-O2"])
def test_the_outputs_are_the_same(
    library: Path, tmp_path: Path, name: str, option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    npu = load_board("corstone300").npu
    assert npu is not None
    objects = compile_library(library, tmp_path / "objects", name, [option])
    (tmp_path / "network.h").write_text(shorthands(library))
    command = [str(GCC.find()), *CORE, "-O1", f"-I{tmp_path}", f"-I{library / 'model'}"]
    command += [
        f"-DNPU_BASE={npu.base_addr:#x}u",
        f"-DRUNS={RUNS}",
        f"-DEXIT_STATUS={EXIT_STATUS}u",
    ]
    command += ["-nostartfiles", "-T", str(APPLICATION / "app.ld"), "--specs=nosys.specs"]
    command += ["-Wl,--gc-sections,--no-warn-rwx-segment", str(APPLICATION / "main.c")]
    elf = tmp_path / "app.elf"
    subprocess.run([*command, *objects, "-lm", "-o", str(elf)], check=True)
    end = attach_firmware(elf, "corstone300", limit_s=100, log=lambda _run: None)
    said = capfd.readouterr().out
    assert end.status == EXIT_STATUS and end.inferences >= RUNS, said
    assert outputs(said) == expected(library.parent)


@pytest.mark.parametrize("name", COMPILERS)
def test_kernels_without_optimization_say_what_they_need(
    library: Path, tmp_path: Path, name: str
) -> None:
    command = [*compiler(name), "-std=c11", "-O0", "-c", str(library / "model/ethosgen_matrix.c")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "compile this file with -O2: its assembly needs the registers" in done.stderr


NEW_CLANG = "clang-19"
CURRENT = [
    pytest.param("gcc", marks=pytest.mark.compiler("arm-none-eabi-gcc")),
    pytest.param(NEW_CLANG, marks=pytest.mark.compiler("arm-none-eabi-gcc", NEW_CLANG)),
]
KERNELS = {
    "cortex-m55": ("hard", ("helium", "floats")),
    "cortex-m33": ("hard", ("dsp", "floats")),
    "cortex-m0plus": ("soft", ("thumb",)),
}
"""By core: what passes floating-point numbers, and the folders of the kernels for it."""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kernels")
    write_kernels(place)
    return place


@pytest.mark.parametrize("frame", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])
@pytest.mark.parametrize("option", ["-Os", "-O2", "-O3"])
@pytest.mark.parametrize("name", CURRENT)
def test_all_kernels_compile_at_all_options(
    kernels: Path, tmp_path: Path, name: str, option: str, frame: str
) -> None:
    for core, (passing, folders) in KERNELS.items():
        files = [str(path) for folder in folders for path in sorted(kernels.glob(f"{folder}/*.c"))]
        assert len(files) >= 8
        target = (f"-mcpu={core}", "-mthumb", f"-mfloat-abi={passing}")
        options = ["-std=c11", option, frame, *STRICT, f"-I{kernels}"]
        subprocess.run([*compiler(name, target), *options, "-c", *files], cwd=tmp_path, check=True)


BUILDS = [
    ("gcc", "MinSizeRel", "-fno-omit-frame-pointer", "ON"),
    (NEW_CLANG, "MinSizeRel", "", "OFF"),
    (NEW_CLANG, "Release", "-fno-omit-frame-pointer", "ON"),
]
"""Compiler, CMake's type of build, CFLAGS, and whether the linker optimizes."""
DSP = ("mps2-an386",)


LOOSE = pytest.mark.loose_stack(
    "Clang gives ethosgen_dsp_run_channel(), which does not run for these shapes, a deep frame"
)
BUILDS_AND_BOARDS = [
    pytest.param(*options, board, marks=[LOOSE] if options[0] == NEW_CLANG and board in DSP else [])
    for options, board in product(BUILDS, ("corstone300", *DSP))
]


@needs_qemu
@pytest.mark.compiler(NEW_CLANG)
@pytest.mark.parametrize(("name", "kind", "flags", "lto", "board"), BUILDS_AND_BOARDS)
def test_a_project_is_exact_by_each_toolchain_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    board: str,
    name: str,
    kind: str,
    flags: str,
    lto: str,
) -> None:
    recipe = Recipe((image_net(tmp_path / "image_net.tflite"),), board, NO_NPU)
    place = tmp_path / "project"
    flow.create_project(recipe, directory=place, watch=Watch())
    monkeypatch.setenv("CFLAGS", f"-Werror {flags}")
    options = {"CMAKE_BUILD_TYPE": kind, "CMAKE_INTERPROCEDURAL_OPTIMIZATION": lto}
    if name != "gcc":
        file = str(place / "cmake" / "clang.cmake")
        options |= {"CMAKE_TOOLCHAIN_FILE": file, "CMAKE_C_COMPILER": name}
    build(place, "qemu", options)
    report = flow.run_project(place, flow.RunOptions(Inputs(None, 3, 5)), watch=Watch())
    assert isinstance(report, Report) and report.passed and report.samples == 3
