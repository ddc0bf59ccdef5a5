"""Faults that a firmware, or the secure image that guards it, reports before it ends."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ethosgen.targets.security import SECURE_IMAGE
from ethosgen.targets.stack import STKOF, overflow_text
from ethosgen.targets.symbols import place_of

_FAULT = struct.Struct("<4I")
"""struct server_fault of a project's app/server.h."""
_OLD_FAULT = struct.Struct("<II")
"""The same in older projects, which do not tell their stack."""
_ZEPHYR_FAULT = struct.Struct("<III")
_ZEPHYR_REASONS = {
    0: "CPU exception",
    1: "unhandled interrupt",
    2: "stack overflow",
    3: "kernel oops",
    4: "kernel panic",
}
"""enum k_fatal_error_reason of Zephyr's include/zephyr/fatal_types.h."""
_SECURE_FAULT = struct.Struct("<8I")
"""struct secure_fault of a project's secure/veneers.h."""

_SFARVALID = 1 << 6
_SECURE_FAULTS = {
    1 << 0: ("INVEP", "entered secure code elsewhere than at a veneer's SG instruction"),
    1 << 1: ("INVIS", "returned from an exception to a stack without the integrity signature"),
    1 << 2: ("INVER", "returned from an exception with a wrong EXC_RETURN"),
    1 << 3: ("AUVIOL", "accessed a secure address"),
    1 << 4: ("INVTRAN", "branched from secure to non-secure code without BXNS or BLXNS"),
    1 << 5: ("LSPERR", "failed to save floating-point registers lazily"),
    1 << 7: ("LSERR", "failed to restore or clear floating-point registers lazily"),
}
"""Bits of SFSR, which the Armv8-M manual describes: the name, and what the code did."""
_BFARVALID = 1 << 15
_BUS_FAULTS = {
    1 << 8: ("IBUSERR", "fetched an instruction that the bus refused"),
    1 << 9: ("PRECISERR", "made an access that the bus refused"),
    1 << 10: ("IMPRECISERR", "made, some instructions before, an access that the bus refused"),
    1 << 11: ("UNSTKERR", "could not read its stack on the return from an exception"),
    1 << 12: ("STKERR", "could not write its stack for an exception"),
    1 << 13: ("LSPERR", "could not save floating-point registers lazily"),
}
"""The bus faults in CFSR; an MPC, a PPC or a TGU that stops an access causes them."""
_CAUSES = {
    1: "the SAU has fewer regions than its partition.h requires; join memories there",
    2: (
        "a block of a memory protection controller or TCM gate would be secure only in part; move "
        "the borders in its partition.h to multiples of the block"
    ),
    3: "there is no non-secure firmware where its partition.h expects one; load both images",
    4: "the non-secure firmware returned from its reset handler",
}
"""enum secure_cause of a project's secure/veneers.h, without faults."""


@dataclass(frozen=True)
class _SecureFault:
    """A struct secure_fault."""

    cfsr: int
    pc: int
    cause: int
    is_non_secure: int
    sfsr: int
    sfar: int
    bfar: int
    cfsr_ns: int


def describe_fault(body: bytes, stack_bytes: int | None = None, elf: Path | None = None) -> str:
    """Return the sentence for the body of a fault's frame.

    `stack_bytes` is the size of main()'s stack, and `elf` the firmware's file, if they are known.
    """
    if len(body) == _SECURE_FAULT.size:
        return _secure_text(_SecureFault(*_SECURE_FAULT.unpack(body)), stack_bytes, elf)
    if len(body) == _ZEPHYR_FAULT.size:
        _, pc, reason = _ZEPHYR_FAULT.unpack(body)
        named = _ZEPHYR_REASONS.get(reason, f"a processor fault (its reason {reason})")
        return f"the firmware crashed: Zephyr reports {named} at 0x{pc:08x}; {_place(pc, elf)}"
    size, used, cfsr, pc = stack_bytes, 0, 0, 0
    if len(body) == _FAULT.size:
        cfsr, pc, size, used = _FAULT.unpack(body)
    elif len(body) == _OLD_FAULT.size:
        cfsr, pc = _OLD_FAULT.unpack(body)
    if cfsr & STKOF or (size and used >= size):
        return f"the firmware crashed: {overflow_text(size)}"
    return (
        f"the firmware crashed: a processor fault at 0x{pc:08x} (CFSR 0x{cfsr:08x}); "
        f"{_place(pc, elf)}"
    )


def _place(pc: int, elf: Path | None) -> str:
    if elf is None or not elf.is_file():
        return "look the address up with arm-none-eabi-addr2line"
    return place_of(pc, elf)


def _secure_text(fault: _SecureFault, stack_bytes: int | None, elf: Path | None) -> str:
    if fault.cause in _CAUSES:
        return f"the secure image stopped: {_CAUSES[fault.cause]}"
    who = "non-secure code" if fault.is_non_secure else "secure code"
    if (fault.cfsr_ns if fault.is_non_secure else fault.cfsr) & STKOF:
        if fault.is_non_secure:
            return f"the firmware crashed: {overflow_text(stack_bytes)}"
        return f"the firmware crashed: {overflow_text(None, 'secure/secure.ld')}"
    at = f"{who} at 0x{fault.pc:08x}"
    image = elf.with_name(SECURE_IMAGE) if elf and not fault.is_non_secure else elf
    where = _place(fault.pc, image)
    if fault.sfsr:
        what = _named(_SECURE_FAULTS, fault.sfsr, _SFARVALID, fault.sfar)
        registers = _bits("SFSR", fault.sfsr, {**_SECURE_FAULTS, _SFARVALID: ("SFARVALID", "")})
        return f"the firmware crashed: SecureFault: {at} {what} ({registers}); {where}"
    if fault.cfsr & sum(_BUS_FAULTS):
        what = _named(_BUS_FAULTS, fault.cfsr, _BFARVALID, fault.bfar)
        registers = _bits("CFSR", fault.cfsr, {**_BUS_FAULTS, _BFARVALID: ("BFARVALID", "")})
        return (
            f"the firmware crashed: BusFault: {at} {what} ({registers}); a memory protection "
            "controller or a peripheral protection controller guards it, or nothing is there; "
            f"{where}"
        )
    cfsr = fault.cfsr_ns if fault.is_non_secure else fault.cfsr
    return f"the firmware crashed: a processor fault of {at} (CFSR 0x{cfsr:08x}); {where}"


def _named(known: Mapping[int, tuple[str, str]], value: int, valid: int, addr: int) -> str:
    """Return the offending access in words, with the address if the register has it."""
    done = " and ".join(what for bit, (_, what) in known.items() if value & bit)
    return f"{done}, 0x{addr:08x}" if value & valid else done


def _bits(register: str, value: int, known: Mapping[int, tuple[str, str]]) -> str:
    def names() -> Iterator[str]:
        for bit in sorted(known):
            if value & bit:
                yield known[bit][0]

    return f"{register} 0x{value:08x}: {', '.join(names())}"
