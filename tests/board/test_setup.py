"""The registers that a board's start-up writes and awaits."""

import subprocess
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.project import render
from tests.support.needs import needs_gcc
from tests.support.programs import make_cpu_program

WAITS = """
#include "registers.h"
int main(int count, char **words)
{
    (void)words;
    static volatile uint32_t ready = 6;
    await_register((uintptr_t)&ready, 5, count == 1 ? 4 : 5);
    return 0;
}
"""


def board_files(name: str) -> dict[str, str]:
    files = render(make_cpu_program(), load_board(name)).files
    return {path: text.decode() for path, text in files.items() if path.startswith("board/")}


@needs_gcc
def test_a_clock_that_never_starts_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "registers.h").write_text(board_files("nucleo-f446re")["board/registers.h"])
    (tmp_path / "waits.c").write_text(WAITS)
    options = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2"]
    program = tmp_path / "waits"
    subprocess.run(["gcc", *options, str(tmp_path / "waits.c"), "-o", str(program)], check=True)
    assert subprocess.run([program], check=False).returncode == 0
    assert subprocess.run([program, "never"], check=False).returncode < 0, "ended by a signal"


@pytest.mark.parametrize("name", ["nucleo-f446re", "nucleo-f746zg", "nrf52840dk", "rpi-pico"])
def test_no_register_is_awaited_for_ever(name: str) -> None:
    text = "".join(board_files(name).values())
    assert "await_register(0x" in text
    assert "while ((REGISTER(0x" not in text


def test_the_nrf52840_has_its_cache_of_instructions_on() -> None:
    assert "REGISTER(0x4001e540u) =" in board_files("nrf52840dk")["board/board.c"]
