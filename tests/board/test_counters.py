"""The processor's cycle counter: what start-up writes, by the rules of Arm's manuals.

QEMU has no DWT, so a model of it runs what `board_init()` writes: the Armv7-M manual (DDI 0403),
the Armv8-M manual (DDI 0553), and for the lock the Cortex-M7's (DDI 0489).
"""

import re

import pytest

from ethosgen.board import board_names, load_board
from ethosgen.project import render
from tests.support.programs import make_cpu_program

DEMCR, CTRL, LAR = 0xE000EDFC, 0xE0001000, 0xE0001FB0
TRCENA, CYCCNTENA, CYCDISS = 1 << 24, 1 << 0, 1 << 23
KEY = 0xC5ACCE55
BOARDS = [
    name
    for name in board_names()
    if (board := load_board(name)).counter
    and board.counter.kind == "dwt"
    and "baremetal" in board.platforms
]
NAMED = re.compile(r"#define (\w+) (?:REGISTER\()?(0x[0-9a-fA-F]+)u\b|\b(\w+) = 1u << (\d+)")
WRITE = re.compile(r"^ *(\w+) (=|\|=|&=) (~?)(?:\(uint32_t\))?(\w+);", re.MULTILINE)


class Dwt:
    """A DWT after reset, and after a boot loader that stopped the counter in secure state."""

    def __init__(self, core: str) -> None:
        self.is_v8 = core in ("cortex-m33", "cortex-m52", "cortex-m55", "cortex-m85")
        self.registers = {DEMCR: 0, CTRL: 4 << 28 | (CYCDISS if self.is_v8 else 0)}
        self.is_locked = core == "cortex-m7"

    def write(self, address: int, value: int) -> None:
        """Take a write as the hardware does: without TRCENA or under the lock it has no effect."""
        if address == DEMCR:
            self.registers[DEMCR] = value
        elif not self.registers[DEMCR] & TRCENA:
            return
        elif address == LAR:
            self.is_locked = self.is_locked and value != KEY
        elif not self.is_locked:
            self.registers[address] = value

    @property
    def counts(self) -> bool:
        """Whether the counter runs, also in secure state."""
        ctrl = self.registers[CTRL]
        return bool(self.registers[DEMCR] & TRCENA and ctrl & CYCCNTENA and not ctrl & CYCDISS)


def run_start_up(text: str, dwt: Dwt) -> int:
    """Run the writes of board_init() to the DWT in order; return their number."""
    names = {n or e: int(v, 16) if n else 1 << int(b) for n, v, e, b in NAMED.findall(text)}
    body = text[text.index("void board_init(void)") :]
    body = body[: body.index("\n}\n")]
    done = 0
    for register, how, inverted, word in WRITE.findall(body):
        address = names[register]
        if address not in (DEMCR, CTRL, LAR):
            continue
        value, old = names[word], dwt.registers.get(address, 0)
        value = ~value & 0xFFFFFFFF if inverted else value
        dwt.write(address, {"=": value, "|=": old | value, "&=": old & value}[how])
        done += 1
    assert done == len(re.findall(r"^ *(?:DEMCR|DWT_\w+) \S*= ", body, re.MULTILINE))
    return done


def start_up_of(name: str) -> str:
    return render(make_cpu_program(), load_board(name)).files["board/board.c"].decode()


@pytest.mark.parametrize("name", BOARDS)
def test_the_counter_runs_after_start_up(name: str) -> None:
    text, core = start_up_of(name), load_board(name).cpu.core
    dwt = Dwt(core)
    assert not dwt.counts
    assert run_start_up(text, dwt) >= 2
    assert dwt.counts
    assert dwt.registers[CTRL] >> 28 == 4, "it leaves the other bits alone"
    assert "return DWT_CYCCNT;" in text


def test_the_boards_have_every_kind_of_dwt() -> None:
    cores = {load_board(name).cpu.core for name in BOARDS}
    assert cores >= {"cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"}


@pytest.mark.parametrize("left_out", ["DEMCR |=", "DWT_LAR =", "DWT_CTRL |="])
def test_the_model_misses_each_write_of_an_m7(left_out: str) -> None:
    text = start_up_of("nucleo-h743zi")
    assert text.count(left_out) == 1
    dwt = Dwt("cortex-m7")
    run_start_up(text.replace(left_out, "if (0) other ="), dwt)
    assert not dwt.counts


def test_a_core_without_a_cycle_counter_uses_another() -> None:
    for name in board_names():
        board = load_board(name)
        if board.counter and board.cpu.is_baseline:
            assert board.counter.kind in ("systick", "nrf", "cmsdk"), name
