"""Names the function at an address, for faults of firmware whose file is deleted with its build."""

from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_THUMB = 1
"""The bit of a function's address that stands for its instruction set."""


def place_of(address: int, elf: Path) -> str:
    """Describe the place of a code address in a file: in a function, or in none."""
    function = function_at(address, elf)
    if function is None:
        return f"no function of {elf.name} is there"
    return f"it is in {function[0]}(), 0x{function[1]:x} after its start"


def function_at(address: int, elf: Path) -> tuple[str, int] | None:
    """Return the function at an address, and the bytes from its start; None if there is none."""
    with elf.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab")
        if isinstance(symbols, SymbolTableSection):
            for symbol in symbols.iter_symbols():
                inside = address - (symbol["st_value"] & ~_THUMB)
                size = symbol["st_size"] or 1  # of assembly, which often states none
                if symbol["st_info"]["type"] == "STT_FUNC" and 0 <= inside < size:
                    return symbol.name, inside
    return None
