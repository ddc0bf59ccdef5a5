"""The library's own clock on QEMU, beside SysTick's other user: an RTOS or a HAL."""

from collections.abc import Sequence
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.targets import TARGETS, Firmware
from ethosgen.targets.session import Session
from ethosgen.toolchain import build
from tests.support.needs import needs_qemu
from tests.support.npu_stub import PlusOneNpu
from tests.support.programs import make_program

WAITS = 100
TICKS_PER_MS = 32_000
OWN_TICK = """
    *(volatile uint32_t *)0xE000E014u = 32000u - 1u; /* SysTick, each millisecond */
    *(volatile uint32_t *)0xE000E018u = 0;
    *(volatile uint32_t *)0xE000E010u = 7u;
"""
MEASURE = """
    const volatile bool never = false;
    uint32_t per_ms;
    uint32_t clock_before = ethosgen_npu_clock(&per_ms);
    uint32_t before = board_ticks();
    for (int i = 0; i < WAITS; i++) {
        (void)ethosgen_npu_wait(&never);
        (void)ethosgen_npu_clock(&per_ms);
    }
    result->npu_status = ethosgen_npu_clock(&per_ms) - clock_before;
    result->npu_qread = board_ticks() - before;
"""


def edit(path: Path, changes: Sequence[tuple[str, str]]) -> None:
    """Replace text, each piece of which must be there."""
    text = path.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)


@needs_qemu
def test_the_clock_counts_the_ticks_of_an_rtos(tmp_path: Path) -> None:
    """Each tick wakes the wait at nearly the same SysTick count."""
    place = tmp_path / "p"
    write(render(make_program(), load_board("corstone300")), place)
    handler = "static void SysTick_Handler(void)\n{\n}\n\n/* Unused interrupts"
    edit(
        place / "board" / "startup.c",
        [
            ("/* Unused interrupts", handler),
            ("    [16 + IRQ_CONSOLE_RX]", "    [15] = SysTick_Handler,\n    [16 + IRQ_CONSOLE_RX]"),
        ],
    )
    edit(
        place / "app" / "main.c",
        [
            ("    tell_npu(result);\n", "    tell_npu(result);\n" + MEASURE),
            ("WAITS", str(WAITS)),
            ("    console_init(); /*", OWN_TICK + "    console_init(); /*"),
        ],
    )
    info = open_project(place)
    with TARGETS["qemu"].start(Firmware(build(place).elf, info, PlusOneNpu)) as qemu:
        session = Session(qemu.console, qemu.check)
        hz = session.hello(10).ticks_hz
        reply = session.run(30)
    clock, counter = reply.npu_status, reply.npu_qread * TICKS_PER_MS * 1000 // hz
    # A tick for each wait; QEMU may oversleep some, and SysTick cannot tell of these.
    assert (WAITS - 2) * TICKS_PER_MS < clock < counter + TICKS_PER_MS
