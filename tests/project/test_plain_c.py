"""With ETHOSGEN_PLAIN_C kernels and libraries have no assembly, and a library runs."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ethosgen import targets
from ethosgen.board import load_board
from ethosgen.project import Project, open_project, render, write
from ethosgen.toolchain import build
from tests.support.kernel_files import write_kernels
from tests.support.needs import needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import make_program
from tests.support.project_kinds import device_project, projects

RTOS = Path(__file__).parent.parent / "driver" / "rtos"
KERNELS = {
    "cortex-m55": ("hard", ("helium", "floats")),
    "cortex-m7": ("hard", ("dsp", "floats")),
    "cortex-m3": ("soft", ("thumb", "dsp")),
    "cortex-m0plus": ("soft", ("thumb", "floats")),
}
ASSEMBLY = re.compile(r"\b(?:__asm__|__asm|asm)\b")
SUPPLIED = """
#ifdef ETHOSGEN_PLAIN_C
#include <ethosgen_npu.h>
void ethosgen_npu_barrier(void)
{
    __asm volatile("dsb\\n\\tisb" ::: "memory");
}

uint32_t ethosgen_npu_mask(void)
{
    uint32_t state;

    __asm volatile("mrs %0, primask\\n\\tcpsid i" : "=r"(state)::"memory");
    return state;
}

void ethosgen_npu_unmask(uint32_t state)
{
    __asm volatile("msr primask, %0\\n\\tisb" ::"r"(state) : "memory");
}
#endif
"""
"""What an application defines."""


def _own_text(place: Path, core: str, files: list[Path], options: list[str]) -> str:
    """Return what the preprocessor makes of files, without the compiler's headers."""
    command = ["arm-none-eabi-gcc", f"-mcpu={core}", "-mthumb", "-O2", "-std=c11", "-E"]
    folders = {file.parent for file in place.rglob("*.h")} | {RTOS}
    command += [*options, *(f"-I{folder}" for folder in sorted(folders)), *map(str, files)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "-DETHOSGEN_PLAIN_C" not in options or "__arm_v" not in text, "no intrinsics"
    return "".join(re.split(r'^# \d+ "/usr[^\n]*\n.*?(?=^# \d+ "/tmp)', text, flags=re.M | re.S))


@pytest.mark.compiler("arm-none-eabi-gcc")
@pytest.mark.parametrize("core", KERNELS)
def test_kernels_have_no_assembly(tmp_path: Path, core: str) -> None:
    passing, folders = KERNELS[core]
    write_kernels(tmp_path)
    files = [file for folder in folders for file in sorted(tmp_path.glob(f"{folder}/*.c"))]
    own = _own_text(tmp_path, core, files, [f"-mfloat-abi={passing}", "-DETHOSGEN_PLAIN_C"])
    assert len(files) >= 16 and "ethosgen_" in own
    assert not ASSEMBLY.search(own)


def _library(project: Project, place: Path) -> list[Path]:
    """Write the library, and return its C files; Arm's headers are not here, so not its driver."""
    for path in project.library:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(project.files[path])
    return sorted(file for file in place.rglob("*.c") if file.name != "ethosgen_npu_core.c")


LIBRARIES = (
    "bare metal",
    "U85",
    "two networks",
    "TrustZone",
    "library",
    "weights apart",
    "element",
)


@pytest.mark.compiler("arm-none-eabi-gcc")
@pytest.mark.parametrize("core", ["cortex-m55", "cortex-m0plus"])
@pytest.mark.parametrize("kind", [*LIBRARIES, "devices"])
def test_libraries_have_no_assembly(tmp_path: Path, kind: str, core: str) -> None:
    models = tmp_path / "models"
    models.mkdir()
    project = device_project(models) if kind == "devices" else projects()[kind]
    place = tmp_path / "library"
    files = _library(project, place)
    assert ASSEMBLY.search(_own_text(place, core, files, []))
    assert not ASSEMBLY.search(_own_text(place, core, files, ["-DETHOSGEN_PLAIN_C"]))


def test_arms_driver_gets_no_assembly() -> None:
    text = projects()["library"].files["model/cmsis/cmsis_compiler.h"].decode()
    plain, _, other = text.partition("#ifdef ETHOSGEN_PLAIN_C")[2].partition("#else")
    assert "__WFE()" in plain and not ASSEMBLY.search(plain) and ASSEMBLY.search(other)
    core = projects()["library"].files["model/ethosgen_npu_core.c"].decode()
    assert "ethosu_invoke" in core and not ASSEMBLY.search(core)


@needs_qemu
def test_a_library_without_assembly_runs(tmp_path: Path) -> None:
    write(render(make_program(), load_board("corstone300")), tmp_path)
    main, commands = tmp_path / "app" / "main.c", tmp_path / "CMakeLists.txt"
    main.write_text(main.read_text() + SUPPLIED)
    lines = commands.read_text().split("\n")
    place = next(i for i, line in enumerate(lines) if line.startswith("project("))
    lines.insert(place + 1, "add_compile_definitions(ETHOSGEN_PLAIN_C)")
    commands.write_text("\n".join(lines))
    info = open_project(tmp_path)
    (tensor,) = info.network.inputs
    random = np.random.default_rng(3).integers(-128, 127, tensor.shape, np.int8)
    outcome = targets.run(build(tmp_path).elf, info, [{tensor.name: random}], attach=PlusOneNpu)
    (sample,) = outcome.samples
    assert np.array_equal(sample.outputs["serving/output:0"], random + 1)
