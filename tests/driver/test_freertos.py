"""FreeRTOS on QEMU, by the hooks that a library contains, where the NPU's interrupts go wrong.

FREERTOS_KERNEL names FreeRTOS's kernel, and ETHOSU_CORE_DRIVER the sources of Arm's driver.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ethosgen.board.any_board import any_board
from ethosgen.platforms import BAREMETAL, LIBRARY_ONLY
from ethosgen.project import open_project, render
from ethosgen.toolchain import build
from ethosgen.values.network import Network
from tests.support.faulty_npu import (
    FAULTS,
    TIMEOUT_MS,
    Board,
    check_fault,
    check_orders,
    make_network_project,
    started,
)
from tests.support.needs import needs_qemu
from tests.support.programs import make_program

PARTS = Path(__file__).parent / "freertos"
KERNEL = os.environ.get("FREERTOS_KERNEL")
HOOKS = ("ethosgen_freertos.c", "ethosgen_rtos.h")
VECTORS = """
    [11] = SVC_Handler,
    [14] = PendSV_Handler,
    [15] = SysTick_Handler,
"""

pytestmark = [pytest.mark.freertos, needs_qemu]


@dataclass(frozen=True)
class Setup:
    """A driver, ours or that of Arm's sources, with FreeRTOS's hooks or the default ones."""

    name: str
    arm: str | None = None
    has_hooks: bool = True


SETUPS = [Setup("direct"), Setup("direct, no hooks", has_hooks=False)]
if "ETHOSU_CORE_DRIVER" in os.environ:
    SETUPS.append(Setup("arm", arm=os.environ["ETHOSU_CORE_DRIVER"]))


def make_project(place: Path, has_hooks: bool) -> Network:
    """Write the project of a small network, and put FreeRTOS and the hooks into it."""
    network = make_network_project(place, BAREMETAL, "app")
    library = render(make_program(), any_board(), platform=LIBRARY_ONLY).files
    for name in HOOKS if has_hooks else ():
        (place / "app" / name).write_bytes(library[f"model/rtos/{name}"])
    for name in ("main.c", "FreeRTOSConfig.h"):
        (place / "app" / name).write_bytes((PARTS / name).read_bytes())
    with (place / "CMakeLists.txt").open("a") as file:
        file.write((PARTS / "freertos.cmake").read_text())
    startup = place / "board" / "startup.c"
    before, line, after = startup.read_text().partition("    [16 + IRQ_CONSOLE_RX]")
    declared = "void SVC_Handler(void), PendSV_Handler(void), SysTick_Handler(void);\n"
    startup.write_text(declared + before + VECTORS + line + after)
    return network


@pytest.fixture(scope="module", params=SETUPS, ids=lambda setup: setup.name)
def board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    place = tmp_path_factory.mktemp("freertos") / "small"
    network = make_project(place, request.param.has_hooks)
    options = {"ETHOSGEN_NPU_TIMEOUT_MS": str(TIMEOUT_MS), "FREERTOS_KERNEL": str(KERNEL)}
    if request.param.arm:
        options["ETHOSU_CORE_DRIVER"] = request.param.arm
    with started(build(place, "qemu", options).elf, open_project(place), network) as running:
        yield running


@pytest.mark.parametrize("name", FAULTS)
def test_a_success_is_right_and_the_next_run_works(board: Board, name: str) -> None:
    check_fault(board, name)


def test_no_order_of_faults_makes_a_wrong_success(board: Board) -> None:
    check_orders(board, 1)
