"""The hooks that libraries contain for RTOSes, compiled for a board and run on this machine."""

import subprocess
from pathlib import Path

import pytest

from ethosgen.board.any_board import any_board
from ethosgen.host.tools import GCC
from ethosgen.platforms import LIBRARY_ONLY
from ethosgen.project import render, write
from tests.support.needs import needs_arm_gcc, needs_gcc
from tests.support.programs import make_cpu_program, make_program

PARTS = Path(__file__).parent / "rtos"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
RTOSES = {"freertos": "freertos", "cmsis_rtos2": "cmsis_os2"}
"""By RTOS, the file with its functions for this machine."""
INTERRUPT_MS = 50
TIMEOUT_MS = 300
DELAY_MS = 200
"""What a busy machine may add to a time."""


@needs_arm_gcc
@pytest.mark.parametrize("rtos", RTOSES)
@pytest.mark.parametrize("static", [0, 1])
def test_the_hooks_compile(tmp_path: Path, rtos: str, static: int) -> None:
    for name, program in (("npu", make_program()), ("cpu", make_cpu_program())):
        write(render(program, any_board(), platform=LIBRARY_ONLY), tmp_path / name)
        model = tmp_path / name / "model"
        macros = ["-DTICKS_PER_S=1000", f"-DconfigSUPPORT_STATIC_ALLOCATION={static}"]
        command = [str(GCC.find()), "-mcpu=cortex-m55", *STRICT, *macros, "-fsyntax-only"]
        source = str(model / "rtos" / f"ethosgen_{rtos}.c")
        subprocess.run([*command, f"-I{model}", f"-I{PARTS}", source], check=True)


@needs_gcc
@pytest.mark.parametrize("rtos", RTOSES)
@pytest.mark.parametrize(("rate", "static"), [(1000, 0), (100, 1)])
def test_the_hooks_wait_and_lock(tmp_path: Path, rtos: str, rate: int, static: int) -> None:
    write(render(make_program(), any_board(), platform=LIBRARY_ONLY), tmp_path)
    model = tmp_path / "model"
    macros = [
        f"-DTICKS_PER_S={rate}u",
        f"-DETHOSGEN_NPU_TIMEOUT_MS={TIMEOUT_MS}u",
        f"-DconfigSUPPORT_STATIC_ALLOCATION={static}",
        "-D_DEFAULT_SOURCE",
    ]
    folders = [f"-I{folder}" for folder in (model, model / "rtos", PARTS)]
    sources = [model / "rtos" / f"ethosgen_{rtos}.c", PARTS / f"{RTOSES[rtos]}.c", PARTS / "main.c"]
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", *macros, *folders]
    subprocess.run([*command, *map(str, sources), "-o", str(tmp_path / "main")], check=True)
    done = subprocess.run([str(tmp_path / "main")], check=True, capture_output=True, text=True)
    said = {
        line.split()[0]: [int(word) for word in line.split()[1:]]
        for line in done.stdout.split("\n")[:-1]
    }
    assert [*said] == ["init", "waited", "stale", "timeout", "clock", "lock"]
    assert said["init"][0] == said["lock"][0] == 1
    for step, result, least_ms in (
        ("waited", 1, INTERRUPT_MS),
        ("stale", 1, 0),
        ("timeout", 0, TIMEOUT_MS),
    ):
        assert said[step][0] == result
        assert least_ms - 1000 / rate <= said[step][1] <= least_ms + DELAY_MS, step
    per_ms, elapsed_ms = said["clock"]
    assert per_ms == 1 and INTERRUPT_MS - 1000 / rate <= elapsed_ms <= INTERRUPT_MS + DELAY_MS
