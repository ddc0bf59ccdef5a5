"""The access that a load or store of Thumb makes: addresses, registers, and other changes.

Capstone decodes the instruction. Sources: Armv8-M Architecture Reference Manual, B3.5.4 (IT state
in EPSR) and C2.4 (the instructions).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import capstone
from capstone import arm

from ethosgen.values.errors import TargetError

LONGEST_BYTES = 4
"""Bytes of the longest instruction."""
_WORD = 4
_MASK = 0xFFFF_FFFF

_SINGLE = {arm.ARM_INS_LDR: True, arm.ARM_INS_STR: False}
_PAIR = {arm.ARM_INS_LDRD: True, arm.ARM_INS_STRD: False}
_MULTIPLE = {
    arm.ARM_INS_LDM: (True, False),
    arm.ARM_INS_STM: (False, False),
    arm.ARM_INS_LDMDB: (True, True),
    arm.ARM_INS_STMDB: (False, True),
}
"""Whether each instruction loads; of those for several registers also whether it counts down."""

_NUMBERS = {getattr(arm, f"ARM_REG_R{number}"): number for number in range(13)} | {
    arm.ARM_REG_SP: 13,
    arm.ARM_REG_LR: 14,
    arm.ARM_REG_PC: 15,
}

Register = Callable[[int], int]
"""Returns a register of the processor by its number."""


@dataclass(frozen=True)
class Access:
    """Words in the order of the instruction: (address, register); bytes of the instruction.

    `updates` are the other registers that it changes: base registers.
    """

    loads: bool
    words: tuple[tuple[int, int], ...]
    updates: Mapping[int, int]
    size: int


def decode(code: bytes, addr: int, register: Register) -> Access:
    """Return the access of the instruction at `addr`.

    TargetError if it is not an access of 32-bit words.
    """
    instruction = next(_decoder().disasm(code, addr, 1), None)
    if instruction is None:
        raise _refusal("an instruction that is not a load or store of 32-bit words", addr)
    if instruction.id in _MULTIPLE:
        return _several(instruction, register)
    if instruction.id not in _SINGLE | _PAIR:
        raise _refusal(f"the instruction '{instruction.mnemonic} {instruction.op_str}'", addr)
    count = 1 if instruction.id in _SINGLE else 2
    place, updates = _address(instruction, count, register)
    numbers = [_NUMBERS[operand.reg] for operand in instruction.operands[:count]]
    words = tuple((place + _WORD * i, number) for i, number in enumerate(numbers))
    return Access((_SINGLE | _PAIR)[instruction.id], words, updates, instruction.size)


def advanced(xpsr: int) -> int:
    """Return XPSR after an instruction: an IT block continues with its next one."""
    state = (xpsr >> 25 & 0x3) | (xpsr >> 8 & 0xFC)
    state = state & 0xE0 | state << 1 & 0x1F if state & 0x7 else 0
    return xpsr & ~0x0600_FC00 | (state & 0x3) << 25 | (state & 0xFC) << 8


@cache
def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    return decoder


def _address(
    instruction: capstone.CsInsn, count: int, register: Register
) -> tuple[int, Mapping[int, int]]:
    """Return the address of a load or store, and its base register's new value if it changes."""
    memory = instruction.operands[count].mem
    number = _NUMBERS[memory.base]
    base = register(number)
    if number == _NUMBERS[arm.ARM_REG_PC]:
        base = instruction.address + 4 & ~3  # PC reads as the instruction's address plus 4, aligned
    offset = memory.disp
    if memory.index:
        offset = register(_NUMBERS[memory.index]) << instruction.operands[count].shift.value
    if len(instruction.operands) > count + 1:  # post-indexed: the offset is a separate operand
        return base, {number: base + instruction.operands[count + 1].imm & _MASK}
    place = base + offset & _MASK
    return place, {number: place} if instruction.writeback else {}


def _several(instruction: capstone.CsInsn, register: Register) -> Access:
    """Return the access of LDM or STM; the lowest register is at the lowest address."""
    loads, down = _MULTIPLE[instruction.id]
    number = _NUMBERS[instruction.operands[0].reg]
    numbers = sorted(_NUMBERS[operand.reg] for operand in instruction.operands[1:])
    base, size = register(number), _WORD * len(numbers)
    first = base - size if down else base
    words = tuple((first + _WORD * i & _MASK, which) for i, which in enumerate(numbers))
    behind = first if down else base + size
    return Access(
        loads, words, {number: behind & _MASK} if instruction.writeback else {}, instruction.size
    )


def _refusal(what: str, addr: int) -> TargetError:
    return TargetError(
        f"{what} at 0x{addr:08x} accesses the NPU's registers: they are words, so access them with "
        "32-bit loads and stores (volatile uint32_t)"
    )
