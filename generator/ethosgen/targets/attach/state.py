"""The place of a firmware that does not end: its processor's state, in words."""

import itertools
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ethosgen.targets.attach.stub import PC, XPSR, Stub
from ethosgen.targets.symbols import function_at
from ethosgen.values.errors import TargetError

_SP, _LR = 13, 14
_CFSR, _HFSR = 0xE000ED28, 0xE000ED2C
_EXCEPTION = 0x1FF
"""XPSR's field IPSR."""
_NAMES = {
    2: "NMI",
    3: "HardFault",
    4: "MemManage",
    5: "BusFault",
    6: "UsageFault",
    7: "SecureFault",
    11: "SVCall",
    12: "DebugMonitor",
    14: "PendSV",
    15: "SysTick",
}
_INTERRUPTS = 16
"""The number of the exception of interrupt 0."""
_RETURN = 0xFF00_0000
"""The highest byte of EXC_RETURN."""
_RETURN_PROCESS_STACK = 1 << 2
_STACKED_PC = 6
"""The place of the program counter among the words that the processor stacks; XPSR follows."""
_XPSR_ALWAYS, _XPSR_THUMB = 0x01F0_0000, 0x0100_0000
"""Bits of XPSR that have one value in all code."""
_SEARCHED_BYTES = 1024
"""How far up the stack a handler's saved EXC_RETURN is searched."""


def describe_state(stub: Stub, elfs: Sequence[Path]) -> str:
    """Describe a stopped processor: its place, its exception, and the place of the stopped code."""
    exception = stub.register(XPSR) & _EXCEPTION
    words = [f"it is at {_place(stub.register(PC), elfs)}"]
    if exception:
        words.append(f"in exception {exception} ({_name(exception)}, in IPSR)")
        words += [f"which stopped the code at {_place(pc, elfs)}" for pc in _stacked(stub, elfs)]
    else:
        words.append("in no exception (IPSR 0)")
    words += [f"{name} 0x{value:08x}" for name, value in _faults(stub)]
    return ", ".join(words)


def _name(exception: int) -> str:
    if exception >= _INTERRUPTS:
        return f"interrupt {exception - _INTERRUPTS}"
    return _NAMES.get(exception, "reserved")


def _place(addr: int, elfs: Sequence[Path]) -> str:
    function = next(filter(None, (function_at(addr, elf) for elf in elfs)), None)
    return f"0x{addr:08x} ({function[0]} + 0x{function[1]:x})" if function else f"0x{addr:08x}"


def _faults(stub: Stub) -> list[tuple[str, int]]:
    try:
        return [("CFSR", stub.read_word(_CFSR)), ("HFSR", stub.read_word(_HFSR))]
    except TargetError:  # an Armv6-M has none
        return []


def _stacked(stub: Stub, elfs: Sequence[Path]) -> list[int]:
    """Return where the exception stopped the code; [] if that is unknown.

    The handler runs on the main stack, and may have saved EXC_RETURN there; the registers that the
    processor has stacked follow. QEMU does not report the process stack's pointer.
    """
    words, back, start = _words(stub, stub.register(_SP)), stub.register(_LR), 0
    if back < _RETURN:
        start = next((i for i, word in enumerate(words) if word >= _RETURN), len(words))
        back, start = ([*words, 0])[start], start + 1
    if back < _RETURN or back & _RETURN_PROCESS_STACK:
        return []
    for pc, xpsr in itertools.pairwise(words[start + _STACKED_PC :]):
        if xpsr & _XPSR_ALWAYS == _XPSR_THUMB and any(function_at(pc, elf) for elf in elfs):
            return [pc]
    return []


def _words(stub: Stub, addr: int) -> list[int]:
    """Return the words of a stack, up to the end of its memory."""
    words: list[int] = []
    with suppress(TargetError):
        for offset in range(0, _SEARCHED_BYTES, 4):
            words.append(stub.read_word(addr + offset))
    return words
