"""What runs between two marks is counted, whether or not QEMU interrupts blocks at devices."""

import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from ethosgen.cycles.code import constant_ranges
from ethosgen.cycles.counting import BlockCounter, CodeCount, Passage, read_counts
from ethosgen.values.errors import TargetError
from tests.support.needs import needs_qemu

SOURCE = Path(__file__).with_name("firmware.S")
DEVICE, MEMORY = 0x58100008, 0x30000800
LOOPS = 5
BEFORE_LOOP, IN_LOOP, AFTER_LOOP, IN_LEAF = 1, 3, 5, 3
"""Instructions: MOVS; the loop's; BL, CMP, BEQ, PUSH, and the load that is the mark; the leaf's."""


def build(folder: Path, mark_addr: int) -> Path:
    """Build the firmware."""
    elf = folder / "firmware.elf"
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m55", "-nostdlib", f"-DMARK={mark_addr:#x}"]
    command += ["-Wl,--section-start=.vectors=0x10000000", "-Wl,-Ttext=0x10000100"]
    command += ["-Wl,-e,reset", str(SOURCE), "-o", str(elf)]
    subprocess.run(command, check=True, capture_output=True)
    return elf


def run(elf: Path, counter: BlockCounter, *options: str) -> None:
    """Run a firmware until it ends itself."""
    command = ["qemu-system-arm", "-M", "mps3-an547", "-kernel", str(elf), *options]
    command += ["-display", "none", "-monitor", "none", "-serial", "null"]
    command += ["-semihosting-config", "enable=on,target=native", *counter.arguments()]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def symbols(elf: Path) -> dict[str, int]:
    """Return the addresses of a firmware's symbols."""
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {symbol.name: symbol["st_value"] & ~1 for symbol in table.iter_symbols()}


def executions(count: CodeCount, addr: int) -> int:
    """Return the execution count of the instruction at an address."""
    return sum(p.times for p in count.passages if p.block[0] <= addr < p.block[1])


@needs_qemu
@pytest.mark.parametrize("mark_addr", [DEVICE, MEMORY])
@pytest.mark.parametrize("options", [(), ("-icount", "shift=6,sleep=on")], ids=["free", "icount"])
def test_known_code_is_counted(mark_addr: int, options: tuple[str, ...], tmp_path: Path) -> None:
    elf = build(tmp_path, mark_addr)
    at = symbols(elf)
    counter = BlockCounter(tmp_path, mark_addr, constant_ranges(elf))
    run(elf, counter, *options)
    (count,) = counter.between(1)
    assert count.instructions == BEFORE_LOOP + LOOPS * IN_LOOP + AFTER_LOOP + IN_LEAF
    assert executions(count, at["again"]) == LOOPS
    assert executions(count, at["leaf"]) == 1
    assert executions(count, at["skipped"]) == 0
    again = [p for p in count.passages if p.before and p.block[0] == at["again"] < p.before[1]]
    assert sum(p.times for p in again) == LOOPS - 1
    taken = [p for p in count.passages if p.before and p.before[1] != p.block[0]]
    assert sum(p.times for p in taken) == LOOPS - 1 + 3, "those of the loop, BL, BX and BEQ"
    assert count.constant_bytes == LOOPS * 4, "words of constants"
    assert count.loaded_bytes == LOOPS * 4 + 1 + 4, "a byte of the stack and the mark too"
    assert count.stored_bytes == 4


@needs_qemu
def test_firmware_may_have_many_ranges_of_constants(tmp_path: Path) -> None:
    """Each network of a firmware has its own; 31 of them had more than 16 ranges."""
    elf = build(tmp_path, DEVICE)
    (whole,) = [r for r in constant_ranges(elf) if r[0] <= symbols(elf)["constant"] < r[1]]
    words = [(start, start + 4) for start in range(whole[0] & ~3, whole[1], 4)]
    counter = BlockCounter(tmp_path, DEVICE, words[-250:])
    run(elf, counter)
    assert counter.between(1)[0].constant_bytes == LOOPS * 4


@needs_qemu
def test_marks_may_be_those_of_a_function_alone(tmp_path: Path) -> None:
    elf = build(tmp_path, DEVICE)
    whole = BlockCounter(tmp_path, DEVICE)
    run(elf, whole)
    known = whole.fresh()
    assert known[1:] and whole.fresh() == [], "only what is new"
    inside = BlockCounter(tmp_path, DEVICE, look=(symbols(elf)["reset"], symbols(elf)["leaf"]))
    run(elf, inside)
    assert [c.passages for c in inside.fresh()] == [c.passages for c in known]
    elsewhere = BlockCounter(tmp_path, DEVICE, look=(0x200, 0x300))
    run(elf, elsewhere)
    assert elsewhere.fresh() == []


@needs_qemu
def test_marks_that_are_missing_are_an_error(tmp_path: Path) -> None:
    elf = build(tmp_path, DEVICE)
    counter = BlockCounter(tmp_path, MEMORY)
    run(elf, counter)
    with pytest.raises(TargetError, match=r"0x30000800 0 times, at least 2 were expected"):
        counter.between(1)


def test_a_line_for_each_pair_of_blocks_is_read() -> None:
    lines = ["0 0 100 104 1", "100 104 104 10a 12", "mark 37 8 4 2", "mark 1 2 3 0"]
    first, second = read_counts(lines)
    assert first == CodeCount(
        37,
        8,
        4,
        2,
        (Passage(None, (0x100, 0x104), 1), Passage((0x100, 0x104), (0x104, 0x10A), 12)),
    )
    assert second == CodeCount(1, 2, 3, 0, ())
