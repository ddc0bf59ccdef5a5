"""Decoded accesses are those of the Armv8-M manual."""

import subprocess
from pathlib import Path

import pytest

from ethosgen.host.tools import GCC
from ethosgen.targets.attach.access import Access, advanced, decode
from ethosgen.values.errors import TargetError
from tests.support.needs import needs_arm_gcc

PC = 0x1000_0000
BASE = 0x5810_2000
REGISTERS = {number: 0x100 * number for number in range(16)} | {2: 4, 3: BASE, 15: PC}

CASES = {
    "ldr r0, [r3]": Access(True, ((BASE, 0),), {}, 2),
    "str r2, [r3, #16]": Access(False, ((BASE + 16, 2),), {}, 2),
    "ldr r1, [r3, r2]": Access(True, ((BASE + 4, 1),), {}, 2),
    "ldr.w r1, [r3, r2, lsl #2]": Access(True, ((BASE + 16, 1),), {}, 4),
    "ldr.w r12, [r3, #0xf00]": Access(True, ((BASE + 0xF00, 12),), {}, 4),
    "str.w r1, [r3, #-8]": Access(False, ((BASE - 8, 1),), {}, 4),
    "str r1, [r3], #4": Access(False, ((BASE, 1),), {3: BASE + 4}, 4),
    "str r1, [r3], #-4": Access(False, ((BASE, 1),), {3: BASE - 4}, 4),
    "ldr r1, [r3, #4]!": Access(True, ((BASE + 4, 1),), {3: BASE + 4}, 4),
    "ldrd r0, r1, [r3, #8]": Access(True, ((BASE + 8, 0), (BASE + 12, 1)), {}, 4),
    "strd r0, r1, [r3], #8": Access(False, ((BASE, 0), (BASE + 4, 1)), {3: BASE + 8}, 4),
    "stmia r3!, {r0, r4}": Access(False, ((BASE, 0), (BASE + 4, 4)), {3: BASE + 8}, 2),
    "ldmdb.w r3, {r0, r9}": Access(True, ((BASE - 8, 0), (BASE - 4, 9)), {}, 4),
    "ldr r0, [sp, #4]": Access(True, ((0xD04, 0),), {}, 2),
    "ldr.w r0, [pc, #8]": Access(True, ((PC + 4 + 8, 0),), {}, 4),
}
OTHERS = ("ldrb r1, [r3]", "strh r1, [r3]", "vldr s0, [r3]", "vstrw.32 q0, [r3]", "adds r0, #1")


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Assemble every instruction, each in a section of its own."""
    folder = tmp_path_factory.mktemp("instructions")
    texts = [*CASES, *OTHERS]
    lines = [".syntax unified", ".thumb"]
    for number, text in enumerate(texts):
        lines += [f'.section .text.{number}, "ax"', text]
    (folder / "all.s").write_text("\n".join(lines) + "\n")
    gcc = str(GCC.find())
    command = [gcc, "-mcpu=cortex-m55", "-mfloat-abi=hard", "-c", "all.s", "-o", "all.o"]
    subprocess.run(command, cwd=folder, check=True)
    return {text: section(folder / "all.o", f".text.{n}") for n, text in enumerate(texts)}


def section(path: Path, name: str) -> bytes:
    from elftools.elf.elffile import ELFFile

    with path.open("rb") as file:
        return bytes(ELFFile(file).get_section_by_name(name).data())


@needs_arm_gcc
@pytest.mark.parametrize("text", CASES)
def test_an_access_of_words(codes: dict[str, bytes], text: str) -> None:
    assert decode(codes[text], PC, REGISTERS.__getitem__) == CASES[text]


@needs_arm_gcc
@pytest.mark.parametrize("text", OTHERS)
def test_other_instructions_are_refused(codes: dict[str, bytes], text: str) -> None:
    with pytest.raises(TargetError, match=r"at 0x10000000 accesses .*volatile uint32_t"):
        decode(codes[text], PC, REGISTERS.__getitem__)


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (0b0000_0000, 0b0000_0000),  # no IT block
        (0b0001_1000, 0b0000_0000),  # IT NE, its only instruction
        (0b0001_1100, 0b0001_1000),  # ITE NE, the first of two: else comes next
        (0b1010_0001, 0b1010_0010),  # four instructions: the last condition bit moves up
    ],
)
def test_an_it_block_goes_on(state: int, after: int) -> None:
    def in_xpsr(it: int) -> int:
        return 0x6100_0003 | (it & 3) << 25 | (it >> 2) << 10

    assert advanced(in_xpsr(state)) == in_xpsr(after)
