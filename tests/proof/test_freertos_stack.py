"""The bound of a thread's stack against what a thread of FreeRTOS uses on QEMU.

FREERTOS_KERNEL names FreeRTOS's kernel. A thread of a higher priority interrupts the network's at
each tick, so a switch comes at most places of its code.
"""

import os
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.targets.stack_bounds import MOST_ABOVE
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe

PARTS = Path(__file__).parent / "freertos"
DRIVER_PARTS = ROOT / "tests" / "driver" / "freertos"
KERNEL = os.environ.get("FREERTOS_KERNEL")
PORTS = {"mps2-an386": "ARM_CM4F", "mps2-an505": "ARM_CM33_NTZ/non_secure"}
VECTORS = """
    [11] = SVC_Handler,
    [14] = PendSV_Handler,
    [15] = SysTick_Handler,
"""
SAMPLES = 8

pytestmark = [pytest.mark.freertos, needs_qemu]


def make_project(board: str, network: str, place: Path) -> None:
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


@pytest.mark.parametrize("network", ["kws_int8", "vibration_int8"])
@pytest.mark.parametrize("board", PORTS)
def test_a_thread_uses_the_bound_and_not_much_less(
    board: str, network: str, tmp_path: Path
) -> None:
    make_project(board, network, tmp_path / "p")
    (bound,) = flow.build_project(tmp_path / "p", watch=Watch()).stack
    assert bound.need is not None and bound.need.in_thread, bound.why
    options = flow.RunOptions(Inputs(None, SAMPLES, 1))
    report = flow.run_project(tmp_path / "p", options, watch=Watch())
    assert isinstance(report, Report) and report.passed and report.run_stack is not None
    use = report.run_stack
    assert use.bound == bound.need.run + bound.need.interrupt
    print(f"{network} on {board}: bound {use.bound}, used {use.used}")
    assert use.used <= use.bound <= use.used + MOST_ABOVE
