"""The stack of a bare-metal firmware's main(): its size, and the message when it is used up."""

import re
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ethosgen.targets.symbols import place_of
from ethosgen.values.errors import TargetError
from ethosgen.values.grammar import counted

STKOF = 1 << 20
"""The bit of CFSR that an Armv8-M sets when a stack pointer would pass its limit."""

_LIMIT, _TOP = "__stack_limit", "__stack_top"
"""Symbols of a project's linker script."""
_REGISTER = re.compile(r"\b(R\d\d|XPSR)=([0-9a-f]{8})\b")
_IPSR = 0x1FF
"""XPSR's field of the exception."""
_FRAME_BYTES, _FAR_BYTES = 0x20, 0x10000
"""The registers that the processor stacks; how far below its end a stack is likely to grow."""


def overflow_text(size: int | None, script: str = "board/*.ld") -> str:
    """Return what happened and the remedy; `size` is the stack's in bytes, None if unknown."""
    of = "" if size is None else f" of {counted(size, 'byte')}"
    return (
        f"main()'s stack{of} overflowed, so no result can be trusted; increase __stack_bytes in "
        f"the linker script ({script}), and build the project again"
    )


def stack_size(elf: Path) -> int | None:
    """Return the bytes of main()'s stack; None if the linker script is not one of ours."""
    symbol = _find_stack(elf)
    return None if symbol is None else len(symbol)


def describe_lockup(log: str, elf: Path) -> str | None:
    """Describe a fault within a fault from QEMU's output; None if it reports none."""
    if "qemu: fatal: Lockup" not in log:
        return None
    registers = dict(_REGISTER.findall(log))
    pc, sp, xpsr = (int(registers.get(name, "0"), 16) for name in ("R15", "R13", "XPSR"))
    stack = _find_stack(elf)
    if stack is not None and -_FAR_BYTES < sp - stack.start <= _FRAME_BYTES:
        return f"the firmware crashed: {overflow_text(len(stack))}"
    return (
        f"the firmware crashed: the processor locked up at 0x{pc:08x} ({place_of(pc, elf)}), in "
        f"exception {xpsr & _IPSR}, by a fault in its fault handler or without vectors, with "
        f"the stack pointer at 0x{sp:08x}"
    )


def _find_stack(elf: Path) -> range | None:
    if not elf.is_file():  # of a board that someone else has flashed
        return None
    with elf.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab")
        if not isinstance(symbols, SymbolTableSection):
            return None
        limit, top = (symbols.get_symbol_by_name(name) for name in (_LIMIT, _TOP))
        return range(limit[0]["st_value"], top[0]["st_value"]) if limit and top else None


def check_stack(used: int, size: int | None) -> None:
    """Raise TargetError if a firmware has used all of its stack: it needed more.

    A firmware fills the stack with a pattern at its start, and counts the changed bytes.
    """
    if size is not None and used >= size:
        raise TargetError(overflow_text(size))
