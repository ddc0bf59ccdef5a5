"""The function at an address of a firmware."""

import subprocess
from pathlib import Path

from elftools.elf.elffile import ELFFile

from ethosgen.targets.symbols import place_of
from tests.support.needs import needs_arm_gcc

SOURCE = """
int first(int x) { return x + 1; }
static __attribute__((noinline)) int second(int x) { return x * x + first(x); }
int _start(int x) { return second(x) + second(x + 1); }
"""


@needs_arm_gcc
def test_the_function_at_an_address_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-O1", "-nostdlib", "a.c"]
    subprocess.run([*command, "-o", "a.elf"], cwd=tmp_path, check=True)
    with (tmp_path / "a.elf").open("rb") as file:
        symbols = {
            symbol.name: symbol
            for symbol in ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        }
    start, size = (symbols["second"][key] for key in ("st_value", "st_size"))
    assert start % 2 == 1, "a function of Thumb code"
    elf = tmp_path / "a.elf"
    assert place_of(start - 1, elf) == "it is in second(), 0x0 after its start"
    assert place_of(start + size - 3, elf) == f"it is in second(), 0x{size - 2:x} after its start"
    assert place_of(0xF0000000, elf) == "no function of a.elf is there"
