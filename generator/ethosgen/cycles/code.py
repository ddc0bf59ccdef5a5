"""The code of an ELF as text for llvm-mca, by llvm-objdump of the same release."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.cycles.counting import Addresses
from ethosgen.cycles.models import CoreModel
from ethosgen.host.tools import LLVM_OBJDUMP, CommandError, run_command
from ethosgen.values.errors import InputError

_LIMIT_S = 300.0
_MOST_ALIGNMENT = 64
_FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
_LINE = re.compile(r"^ *([0-9a-f]+):\s+(.*)$")
_COMMENT = re.compile(r"\s*@.*$")
_TARGET = re.compile(r"(0x[0-9a-f]+) <[^>]*>")

UNKNOWN = "<unknown>"
"""What llvm-objdump writes for an instruction that it does not know."""


@dataclass(frozen=True)
class CodeLine:
    """An instruction: its address, and its text as an assembler takes it."""

    addr: int
    text: str

    @property
    def mnemonic(self) -> str:
        """Its first word."""
        return self.text.split(None, 1)[0]


class CodeText:
    """The instructions of an ELF by address, and the functions that they are in."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: list[CodeLine] = []
        self._starts: list[int] = []
        self._names: list[str] = []
        for line in lines:
            if match := _FUNCTION.match(line):
                self._starts.append(int(match[1], 16))
                self._names.append(match[2])
            elif match := _LINE.match(line):
                self._lines.append(CodeLine(int(match[1], 16), _plain(match[2])))
        self._addrs = [line.addr for line in self._lines]

    def block(self, block: Addresses) -> Sequence[CodeLine]:
        """Return the instructions of a block."""
        start, end = (bisect_left(self._addrs, addr) for addr in block)
        return self._lines[start:end]

    def addresses(self, function: str) -> Addresses | None:
        """Return a function's address range, None if no function has that name."""
        if function not in self._names:
            return None
        start = self._starts[self._names.index(function)]
        following = bisect_right(self._starts, start)
        end = self._starts[following] if following < len(self._starts) else self._addrs[-1] + 1
        return start, end

    def function(self, addr: int) -> str:
        """Return the name of the function at an address, or the address if there is none."""
        index = bisect_right(self._starts, addr) - 1
        return self._names[index] if index >= 0 else f"{addr:#x}"


def read_code(elf: Path, model: CoreModel) -> CodeText:
    """Return the code of an ELF; InputError for another file, ToolError without llvm-objdump.

    The model selects the instruction set: an ELF does not record that it uses DSP instructions.
    """
    command = [
        str(LLVM_OBJDUMP.find()),
        "-d",
        "--no-show-raw-insn",
        f"--mcpu={model.cpu}",
        str(elf),
    ]
    try:
        return CodeText(run_command(command, _LIMIT_S).splitlines())
    except CommandError as error:
        raise InputError(f"cannot read the code of '{elf}': {error}") from None


def constant_ranges(elf: Path) -> list[Addresses]:
    """Return the address ranges of code and constants, as in flash: sections never written.

    Neighbours form one range, including padding between them.
    """
    ranges: list[Addresses] = []
    for start, end in sorted(_constant_sections(elf)):
        if ranges and start - ranges[-1][1] < _MOST_ALIGNMENT:
            ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
        else:
            ranges.append((start, end))
    return ranges


def _constant_sections(elf: Path) -> Iterator[Addresses]:
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            flags, start, size = (section[f"sh_{key}"] for key in ("flags", "addr", "size"))
            if size and flags & SH_FLAGS.SHF_ALLOC and not flags & SH_FLAGS.SHF_WRITE:
                yield start, start + size


def _plain(text: str) -> str:
    """Return an instruction without comments, and with numbers as targets of branches."""
    return " ".join(_TARGET.sub("#4", _COMMENT.sub("", text)).split())
