"""Projects whose network runs in a thread of FreeRTOS, whose kernel FREERTOS_KERNEL names."""

import os
import re
from pathlib import Path

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.recipes import recipe

PARTS = ROOT / "tests" / "proof" / "freertos"
DRIVER_PARTS = ROOT / "tests" / "driver" / "freertos"
KERNEL = os.environ.get("FREERTOS_KERNEL")
PORTS = {"mps2-an386": "ARM_CM4F", "mps2-an505": "ARM_CM33_NTZ/non_secure"}
NETWORKS = ("kws_int8", "vibration_int8")
VECTORS = """
    [11] = SVC_Handler,
    [14] = PendSV_Handler,
    [15] = SysTick_Handler,
"""
_VERSION = re.compile(r'tskKERNEL_VERSION_NUMBER\s+"(.+)"')


def kernel_version() -> str:
    """Return the kernel's own version."""
    match = _VERSION.search((Path(str(KERNEL)) / "include" / "task.h").read_text())
    assert match is not None
    return match.group(1)


def make_thread_project(board: str, network: str, place: Path) -> None:
    """Write a project on the CPU, and put FreeRTOS into it."""
    asked = recipe(ROOT / "demo" / f"{network}.tflite", board=board, npu=NO_NPU, check=False)
    flow.create_project(asked, directory=place, watch=Watch())
    for name in ("main.c", "FreeRTOSConfig.h"):
        (place / "app" / name).write_bytes((PARTS / name).read_bytes())
    config = (DRIVER_PARTS / "FreeRTOSConfig.h").read_bytes()
    (place / "app" / "driver_config.h").write_bytes(config)
    has_fpu = int(load_board(board).cpu.has_fpu)
    with (place / "CMakeLists.txt").open("a") as file:
        file.write(f'set(FREERTOS_KERNEL "{KERNEL}")\nset(FREERTOS_PORT {PORTS[board]})\n')
        file.write(f"add_compile_definitions(BOARD_HAS_FPU={has_fpu})\n")
        file.write((DRIVER_PARTS / "freertos.cmake").read_text())
    startup = place / "board" / "startup.c"
    before, line, after = startup.read_text().partition("    [16 + IRQ_CONSOLE_RX]")
    declared = "void SVC_Handler(void), PendSV_Handler(void), SysTick_Handler(void);\n"
    startup.write_text(declared + before + VECTORS + line + after)
