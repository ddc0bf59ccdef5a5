"""The effect of a Thumb instruction on the stack pointer, on registers, and on the flow.

Nothing else matters here, so the rest of the instruction set is not decoded: its length follows
from the first halfword, and every register that its encoding could name as a result loses its
value. Numbers of encodings are those of the Armv8-M Architecture Reference Manual (DDI 0553).
"""

from dataclasses import dataclass
from enum import Enum

SP, LR, PC = 13, 14, 15
_CALL_CHANGES = (0, 1, 2, 3, 12, LR)
"""Registers that a called function need not keep (AAPCS32)."""


class Flow(Enum):
    """The flow after an instruction."""

    ON = "on"
    BRANCH = "branch"
    """Only to the target."""
    MAYBE = "maybe"
    """To the target, or on."""
    CALL = "call"
    CALL_REGISTER = "call register"
    JUMP_REGISTER = "jump register"
    TABLE = "table"
    """To one of the entries of a table behind the instruction."""
    RETURN = "return"
    STOP = "stop"


class Move(Enum):
    """A register's new value."""

    SUM = "sum"
    """A register's value, and an integer."""
    WORD = "word"
    """The word at an address."""
    NUMBER = "number"
    TOP = "top"
    """Its own value with another upper half."""
    ALIGNED = "aligned"
    """Its own value with lower bits cleared."""
    SHIFTED = "shifted"
    NEGATED = "negated"
    REGISTERS = "registers"
    """The sum of two registers."""


@dataclass(frozen=True)
class Effect:
    """A new value of a register; `source` is a register."""

    to: int
    move: Move
    value: int = 0
    source: int = 0


@dataclass(frozen=True)
class ThumbInstruction:
    """`shift` is its addend to SP; the registers in `changes` are unknown after it."""

    size: int
    flow: Flow = Flow.ON
    target: int = 0
    register: int = 0
    shift: int = 0
    effect: Effect | None = None
    changes: tuple[int, ...] = ()
    is_wild: bool = False
    """It changes SP in a way that is not decoded here."""


def is_coprocessor(first: int) -> bool:
    """Return whether a halfword begins an instruction of floating point, MVE or a coprocessor."""
    return is_wide(first) and first >> 10 & 0b1011 == 0b1011


def is_wide(first: int) -> bool:
    """Return whether an instruction has a second halfword."""
    return first >> 11 in (0b11101, 0b11110, 0b11111)


def decode(addr: int, first: int, second: int = 0) -> ThumbInstruction:
    """Decode the instruction at an address from its halfwords."""
    return _wide(addr, first, second) if is_wide(first) else _narrow(addr, first)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value


def _narrow(addr: int, word: int) -> ThumbInstruction:
    top = word >> 12
    if top in (0b1011, 0b1101, 0b1110):
        return _narrow_stack(addr, word) if top == 0b1011 else _narrow_branch(addr, word)
    if top == 0b0100 and word >> 10 & 3 == 1:
        return _high_registers(word)
    effect = _narrow_effect(addr, word)
    if effect is not None:
        return ThumbInstruction(2, effect=effect)
    is_store = (top == 0b0101 and word >> 9 & 7 < 3) or (6 <= top <= 9 and not word >> 11 & 1)
    if is_store or word >> 11 == 0b00101:  # CMP
        return ThumbInstruction(2)
    base = word >> 8 & 7
    if top == 0b1100:  # STM, LDM
        return ThumbInstruction(2, changes=(*(i for i in range(8) if word >> i & 1), base))
    return ThumbInstruction(2, changes=(base if top == 0b1001 else word & 7,))


def _narrow_branch(addr: int, word: int) -> ThumbInstruction:
    if word >> 12 == 0b1110:
        return ThumbInstruction(2, Flow.BRANCH, addr + 4 + _signed(word & 0x7FF, 11) * 2)
    if word >> 8 & 0xF < 14:
        return ThumbInstruction(2, Flow.MAYBE, addr + 4 + _signed(word & 0xFF, 8) * 2)
    return ThumbInstruction(2, Flow.STOP if word >> 8 & 1 == 0 else Flow.ON)  # UDF, SVC


def _narrow_effect(addr: int, word: int) -> Effect | None:
    """Return the register that a simple instruction sets, and its value."""
    to, number, behind = word >> 8 & 7, word & 0xFF, (addr & ~3) + 4
    small = word >> 6 & 7
    effect: Effect | None = None
    match word >> 11:
        case 0b10101:  # ADD from SP
            effect = Effect(to, Move.SUM, number * 4, SP)
        case 0b10100:  # ADR
            effect = Effect(to, Move.NUMBER, behind + number * 4)
        case 0b01001:  # LDR from the constants after the code
            effect = Effect(to, Move.WORD, behind + number * 4)
        case 0b00100:  # MOV
            effect = Effect(to, Move.NUMBER, number)
        case 0b00110 | 0b00111:  # ADD, SUB
            effect = Effect(to, Move.SUM, -number if word >> 11 & 1 else number, to)
        case 0b00011 if word >> 10 & 1:  # the same with 3 bits
            small = -small if word >> 9 & 1 else small
            effect = Effect(word & 7, Move.SUM, small, word >> 3 & 7)
        case 0b00000:  # LSL
            effect = Effect(word & 7, Move.SHIFTED, word >> 6 & 31, word >> 3 & 7)
        case 0b01000 if word >> 6 & 31 == 9:  # RSB from 0
            effect = Effect(word & 7, Move.NEGATED, 0, word >> 3 & 7)
    return effect


def _high_registers(word: int) -> ThumbInstruction:
    """Decode ADD, CMP and MOV of any registers, BX and BLX."""
    to, source = word >> 4 & 8 | word & 7, word >> 3 & 15
    operation = word >> 8 & 3
    if operation == 3 and word >> 7 & 1:
        return ThumbInstruction(2, Flow.CALL_REGISTER, register=source, changes=_CALL_CHANGES)
    if operation == 3 or (operation == 2 and to == PC):
        flow = Flow.RETURN if source == LR else Flow.JUMP_REGISTER
        return ThumbInstruction(2, flow, register=source)
    if operation == 2:
        return ThumbInstruction(2, effect=Effect(to, Move.SUM, 0, source))
    if operation == 0 and SP in (to, source):
        return ThumbInstruction(2, effect=Effect(to, Move.REGISTERS, 0, source))
    return ThumbInstruction(2, changes=() if operation == 1 else (to,))


def _narrow_stack(addr: int, word: int) -> ThumbInstruction:
    registers = (word & 0xFF).bit_count()
    match word >> 8 & 0xF:
        case 0b0000:
            number = (word & 0x7F) * 4
            return ThumbInstruction(2, shift=-number if word >> 7 & 1 else number)
        case 0b0100 | 0b0101:  # PUSH
            return ThumbInstruction(2, shift=-4 * (registers + (word >> 8 & 1)))
        case 0b1100 | 0b1101:  # POP
            pops = word >> 8 & 1
            changes = tuple(i for i in range(8) if word >> i & 1)
            flow = Flow.RETURN if pops else Flow.ON
            return ThumbInstruction(2, flow, shift=4 * (registers + pops), changes=changes)
        case 0b0001 | 0b0011 | 0b1001 | 0b1011:  # CBZ, CBNZ
            distance = (word >> 3 & 0x40) | (word >> 2 & 0x3E)
            return ThumbInstruction(2, Flow.MAYBE, addr + 4 + distance)
    return ThumbInstruction(2, changes=(word & 7,))


def _wide(addr: int, first: int, second: int) -> ThumbInstruction:
    if first >> 11 == 0b11110 and second >> 15:
        return _wide_branch(addr, first, second)
    if is_coprocessor(first):
        return _coprocessor(first, second)
    if first >> 9 == 0b1110100:
        return _wide_transfer(addr, first, second)
    if first >> 9 == 0b1111100:
        return _single_transfer(addr, first, second)
    return _data(addr, first, second)


def _wide_branch(addr: int, first: int, second: int) -> ThumbInstruction:
    sign = first >> 10 & 1
    if first & 0xFF80 == 0xF000 and second >> 12 in (0xC, 0xE) and second & 1:
        return _loop(addr, first, second)
    if second >> 12 & 1:  # B, BL
        upper = (1 ^ (second >> 13 & 1) ^ sign) << 23 | (1 ^ (second >> 11 & 1) ^ sign) << 22
        distance = _signed(sign << 24 | upper | (first & 0x3FF) << 12 | (second & 0x7FF) << 1, 25)
        if second >> 14 & 1:
            return ThumbInstruction(4, Flow.CALL, addr + 4 + distance, changes=_CALL_CHANGES)
        return ThumbInstruction(4, Flow.BRANCH, addr + 4 + distance)
    if first >> 7 & 7 != 7 and second >> 14 & 1 == 0:  # B under a condition
        upper = (second >> 11 & 1) << 19 | (second >> 13 & 1) << 18
        distance = _signed(sign << 20 | upper | (first & 0x3F) << 12 | (second & 0x7FF) << 1, 21)
        return ThumbInstruction(4, Flow.MAYBE, addr + 4 + distance)
    if first & 0xFFF0 == 0xF7F0 and second >> 12 == 0xA:
        return ThumbInstruction(4, Flow.STOP)  # UDF
    return ThumbInstruction(4, changes=(second >> 8 & 15,))  # MSR, MRS, barriers


def _loop(addr: int, first: int, second: int) -> ThumbInstruction:
    """Decode WLS, LE and DLS, with or without tails."""
    distance = (second & 0x7FE) << 1 | second >> 10 & 2
    if second >> 12 == 0xC:
        distance = -distance if first & 0xF == PC else distance
        return ThumbInstruction(4, Flow.MAYBE, addr + 4 + distance, changes=(LR,))
    return ThumbInstruction(4, changes=(LR,))


def _coprocessor(first: int, second: int) -> ThumbInstruction:
    is_transfer = first >> 9 & 1 == 0
    base = first & (7 if is_transfer and _widens(second) else 15)
    if is_transfer and base == SP and first >> 5 & 1 and first >> 8 & 1 | first >> 7 & 1:
        words = second & 0xFF
        if second >> 9 & 7 == 5 and first & 0xFFB0 == 0xED20:  # VPUSH
            return ThumbInstruction(4, shift=-4 * words)
        if second >> 9 & 7 == 5 and first & 0xFFB0 == 0xECB0:  # VPOP
            return ThumbInstruction(4, shift=4 * words)
        return ThumbInstruction(4, is_wild=True)
    pair = base & ~1
    high = first >> 3 & 14 | 1
    to = second >> 12
    return ThumbInstruction(4, changes=(base, pair, pair + 1, high, to, to & ~1, to | 1))


def _widens(second: int) -> bool:
    """Return whether a transfer is VLDRB, VLDRH, VSTRB or VSTRH of wider lanes (T1 and T2).

    Their base is R0 to R7; the bit above it distinguishes bytes from halfwords.
    """
    return second >> 9 & 15 == 0b0111 and second >> 7 & 3 != 3


def _wide_transfer(addr: int, first: int, second: int) -> ThumbInstruction:
    """Decode LDM, STM, LDRD, STRD, TBB, exclusive accesses and operations on registers."""
    base, is_load = first & 15, first >> 4 & 1
    if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:
        return ThumbInstruction(4, Flow.TABLE, target=1 + (second >> 4 & 1), register=base)
    if first >> 6 & 1 == 0:  # several registers
        count = second.bit_count()
        loads = tuple(i for i in range(16) if is_load and second >> i & 1)
        shift = 0
        if base == SP and first >> 5 & 1:
            shift = 4 * count if is_load else -4 * count
            if first >> 7 & 3 != (1 if is_load else 2):
                return ThumbInstruction(4, is_wild=True)
        flow = Flow.RETURN if PC in loads and base != PC else Flow.ON  # CLRM has PC as its base
        if SP in loads:
            return ThumbInstruction(4, flow, is_wild=True)
        return ThumbInstruction(
            4, flow, shift=shift, changes=(*loads, base) if base != SP else loads
        )
    shift = 0
    if base == SP and first >> 5 & 1:  # LDRD, STRD that change SP
        shift = (second & 0xFF) * 4 * (1 if first >> 7 & 1 else -1)
    loads = (second >> 12, second >> 8 & 15) if is_load else (second >> 8 & 15,)
    return ThumbInstruction(4, shift=shift, changes=tuple(r for r in (*loads, base) if r != SP))


def _single_transfer(addr: int, first: int, second: int) -> ThumbInstruction:
    base, to, is_load = first & 15, second >> 12, first >> 4 & 1
    if is_load and base == PC and first & 0xFF7F == 0xF85F:
        number = second & 0xFFF if first >> 7 & 1 else -(second & 0xFFF)
        if to == PC:
            return ThumbInstruction(4, Flow.JUMP_REGISTER, register=PC)
        return ThumbInstruction(4, effect=Effect(to, Move.WORD, (addr & ~3) + 4 + number))
    shift = 0
    if not first >> 7 & 1 and base == SP and second >> 11 & 1 and second >> 8 & 1:
        number = second & 0xFF
        shift = number if second >> 9 & 1 else -number
    if is_load and to == PC and first >> 5 & 3 == 2:
        flow = Flow.RETURN if shift == 4 else Flow.JUMP_REGISTER
        return ThumbInstruction(4, flow, register=PC, shift=shift)
    if is_load and to == SP and first >> 5 & 3 == 2:
        return ThumbInstruction(4, is_wild=True)
    changes = (to, base) if is_load else (base,)
    return ThumbInstruction(4, shift=shift, changes=tuple(r for r in changes if r != SP))


def _data(addr: int, first: int, second: int) -> ThumbInstruction:
    """Decode operations on registers."""
    to = second >> 8 & 15
    effect = _sum_effect(first, second) or _number_effect(addr, first, second)
    if effect is not None:
        return ThumbInstruction(4, effect=effect)
    if to == SP and first >> 8 in (0xEA, 0xEB, *range(0xF0, 0xF8)):
        if first & 0xFFEF == 0xEA4F and not second & 0x70F0:  # MOV
            return ThumbInstruction(4, effect=Effect(SP, Move.SUM, 0, second & 15))
        return ThumbInstruction(4, is_wild=True)
    pair = (first & 14, second >> 8 & 14 | 1) if first >> 8 == 0xEA else ()
    return ThumbInstruction(4, changes=tuple(r for r in (to, second >> 12, *pair) if r != SP))


def _low12(first: int, second: int) -> int:
    return (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF


def _sum_effect(first: int, second: int) -> Effect | None:
    """Decode ADD and SUB of a number; PC as their result means a comparison."""
    source, to, number = first & 15, second >> 8 & 15, _low12(first, second)
    operation = first & 0xFBE0
    if operation in (0xF100, 0xF1A0) and to != PC:
        number = _expanded(number)
        return Effect(to, Move.SUM, number if operation == 0xF100 else -number, source)
    if first & 0xFBF0 in (0xF200, 0xF2A0) and source != PC:
        return Effect(to, Move.SUM, number if operation == 0xF200 else -number, source)
    return None


def _number_effect(addr: int, first: int, second: int) -> Effect | None:
    """Decode ADR, MOV, MOVW, MOVT, and the clearing of a register's lower bits."""
    source, to, number = first & 15, second >> 8 & 15, _low12(first, second)
    effect: Effect | None = None
    match first & 0xFBF0:
        case 0xF200 | 0xF2A0:  # ADR
            distance = number if first & 0xFBF0 == 0xF200 else -number
            effect = Effect(to, Move.NUMBER, (addr & ~3) + 4 + distance)
        case 0xF240:
            effect = Effect(to, Move.NUMBER, source << 12 | number)
        case 0xF2C0:
            effect = Effect(to, Move.TOP, source << 12 | number, to)
        case 0xF040 | 0xF050 if source == PC:
            effect = Effect(to, Move.NUMBER, _expanded(number))
        case 0xF020 | 0xF030 if not _expanded(number) & _expanded(number) + 1:  # BIC
            effect = Effect(to, Move.ALIGNED, _expanded(number), source)
        case 0xF360 if source == PC and not second & 0x70C0:  # BFC from bit 0
            effect = Effect(to, Move.ALIGNED, (2 << (second & 31)) - 1, to)
    return effect


def _expanded(number: int) -> int:
    """Return a modified immediate constant (ThumbExpandImm)."""
    low = number & 0xFF
    if number >> 10 == 0:
        return (low, low << 16 | low, low << 24 | low << 8, low * 0x01010101)[number >> 8 & 3]
    turned = 0x80 | number & 0x7F
    by = number >> 7 & 31
    return (turned >> by | turned << 32 - by) & 0xFFFFFFFF
