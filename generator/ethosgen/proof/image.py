"""A firmware's ELF: its code and constants by address, and its symbols."""

from bisect import bisect_right
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section, SymbolTableSection

from ethosgen.proof.instruction import is_coprocessor, is_wide
from ethosgen.values.errors import InputError

_MAPPING = ("$t", "$d", "$a")
"""Symbols that say where code and data begin (ELF for the Arm Architecture)."""
THREAD_SWITCHES = ("PendSV_Handler", "xPortPendSVHandler")
"""FreeRTOS's switch to another thread, which keeps floating-point registers only of a thread that
used them."""


@dataclass(frozen=True)
class LoadedSection:
    """A section that is in memory; `data` is empty if start-up clears it."""

    name: str
    start: int
    size: int
    data: bytes = field(repr=False)

    @property
    def end(self) -> int:
        """The address after it."""
        return self.start + self.size


@dataclass(frozen=True)
class FirmwareImage:
    """The sections, and the symbols by name and by address, without Thumb's bit 0.

    `functions` has the first of several static functions of one name, `names` has all.
    """

    parts: tuple[LoadedSection, ...]
    functions: dict[str, int] = field(repr=False)
    names: dict[int, str] = field(repr=False)
    objects: dict[str, tuple[int, int]] = field(repr=False)
    marks: tuple[tuple[int, str], ...] = field(repr=False)

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(self.names)

    @cached_property
    def _mark_addrs(self) -> list[int]:
        return [addr for addr, _ in self.marks]

    def is_function(self, addr: int) -> bool:
        """Whether a function begins at an address, bit 0 aside."""
        return addr & ~1 in self.names

    def functions_at(self, addr: int) -> Iterator[int]:
        """Yield the function that a pointer points to, or those in the table that it points to."""
        if addr & 1 and self.is_function(addr):
            yield addr & ~1
        for at in range(addr, addr + self._tables.get(addr, 0) - 3, 4):
            word = self.read(at, 4) or 0
            if word & 1 and self.is_function(word):
                yield word & ~1

    @cached_property
    def _tables(self) -> dict[int, int]:
        return {addr: size for addr, size in self.objects.values() if size % 4 == 0}

    def owner(self, addr: int) -> int | None:
        """Return the start of the function around an address."""
        index = bisect_right(self._starts, addr) - 1
        return self._starts[index] if index >= 0 else None

    def is_code(self, addr: int) -> bool:
        """Whether instructions, not constants, are at an address."""
        index = bisect_right(self._mark_addrs, addr) - 1
        return index >= 0 and self.marks[index][1] == "$t" and self._part(addr) is not None

    def constants(self, start: int) -> Iterator[int]:
        """Yield the addresses of the words of constants among a function's code."""
        index = bisect_right(self._starts, start)
        end = self._starts[index] if index < len(self._starts) else start + 0x10000
        for addr in range(start + 3 & ~3, end, 4):
            if not self.is_code(addr) and self._part(addr) is not None:
                yield addr

    def end_of_constants(self, addr: int) -> int:
        """Return the start of the code after the constants at an address."""
        index = bisect_right(self._mark_addrs, addr)
        return next((a for a, kind in self.marks[index:] if kind == "$t"), addr)

    @cached_property
    def has_floats(self) -> bool:
        """Whether an instruction uses floating point, MVE or a coprocessor; true if unknown.

        That of an RTOS's switch does not count.
        """
        ends = (*(addr for addr, _ in self.marks[1:]), 1 << 32)
        return not self.marks or any(map(self._has_floats, self.marks, ends))

    def _has_floats(self, mark: tuple[int, str], end: int) -> bool:
        """Return whether the code between a mark and the next one has such an instruction."""
        (addr, kind), part = mark, self._part(mark[0])
        if kind != "$t" or part is None:
            return False
        data = part.data[addr - part.start : end - part.start]
        words = [int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2)]
        at = 0
        while at < len(words):
            if is_coprocessor(words[at]):
                owner = self.names.get(self.owner(addr + 2 * at) or 0)
                if owner not in THREAD_SWITCHES:
                    return True
            at += 1 + is_wide(words[at])
        return False

    def read(self, addr: int, size: int) -> int | None:
        """Return an integer at an address; None if nothing is there."""
        part = self._part(addr)
        if part is None or addr + size > part.start + len(part.data):
            return None
        return int.from_bytes(part.data[addr - part.start :][:size], "little")

    def bytes_at(self, addr: int, size: int) -> bytes:
        """Return bytes at an address; fewer at the section's end."""
        part = self._part(addr)
        return b"" if part is None else part.data[addr - part.start :][:size]

    def part(self, name: str) -> LoadedSection | None:
        """Return a section by its name."""
        return next((part for part in self.parts if part.name == name), None)

    def _part(self, addr: int) -> LoadedSection | None:
        return next((p for p in self.parts if p.start <= addr < p.end and p.data), None)


def read_image(elf: Path) -> FirmwareImage:
    """Read a firmware; InputError if the file is not an ELF."""
    try:
        with elf.open("rb") as file:
            parsed = ELFFile(file)
            if (machine := parsed["e_machine"]) != "EM_ARM":
                raise InputError(
                    f"'{elf}' is not firmware for a Cortex-M: its machine is {machine}"
                )
            kept = {i: s for i, s in enumerate(parsed.iter_sections()) if _is_kept(s)}
            symbols = parsed.get_section_by_name(".symtab")
            return _with_symbols(tuple(map(_part, kept.values())), symbols, kept.keys())
    except (OSError, ELFError) as error:
        raise InputError(f"cannot read firmware '{elf}': {error}") from None


def _is_kept(section: Section) -> bool:
    return bool(section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_size"])


def _part(section: Section) -> LoadedSection:
    data = b"" if section["sh_type"] == "SHT_NOBITS" else section.data()
    return LoadedSection(section.name, section["sh_addr"], section["sh_size"], data)


def _with_symbols(
    parts: tuple[LoadedSection, ...], table: object, kept: Container[int]
) -> FirmwareImage:
    """Return the image with the symbols of its sections.

    Debug information has marks, too, whose values are not addresses.
    """
    functions: dict[str, int] = {}
    names: dict[int, str] = {}
    objects: dict[str, tuple[int, int]] = {}
    marks: list[tuple[int, str]] = []
    for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
        kind, value = symbol["st_info"]["type"], symbol["st_value"]
        if symbol.name[:2] in _MAPPING and kind == "STT_NOTYPE":
            if symbol["st_shndx"] in kept:
                marks.append((value, symbol.name[:2]))
        elif kind == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF":
            functions.setdefault(symbol.name, value & ~1)
            names.setdefault(value & ~1, symbol.name)
        elif symbol["st_shndx"] != "SHN_UNDEF":
            objects.setdefault(symbol.name, (value, symbol["st_size"]))
    return FirmwareImage(parts, functions, names, objects, tuple(sorted(marks)))
