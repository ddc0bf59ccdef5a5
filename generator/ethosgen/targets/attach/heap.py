"""Answers semihosting's question for heap and stack (SYS_HEAPINFO), which QEMU answers with a TCM.

Until the question comes, breakpoints are on all calls of the host, then only on that one. Source:
Arm's Semihosting for AArch32 and AArch64.
"""

from collections.abc import Sequence
from pathlib import Path

from elftools.elf.constants import P_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.targets.attach.packets import Closed
from ethosgen.targets.attach.stub import PC, Stub

_CALL = bytes.fromhex("abbe")
"""bkpt 0xab"""
_HEAPINFO = 0x16
_WORD_BYTES = 4


class HeapAnswer:
    """The answer: heap's base and limit, stack's base and limit; 0 lets the C library decide."""

    def __init__(self, stub: Stub, elfs: Sequence[Path], values: tuple[int, int, int, int]) -> None:
        self._stub = stub
        self._values = values
        self._calls = {addr for elf in elfs for addr in find_calls(elf)}

    def watch(self) -> None:
        """Set the breakpoints."""
        for addr in self._calls:
            self._stub.set_breakpoint(addr)

    def serve(self) -> None:
        """Answer the call that the processor has stopped at, or let QEMU do so.

        Closed if the call ends QEMU.
        """
        place = self._stub.register(PC)
        if place not in self._calls:
            return
        if self._stub.register(0) == _HEAPINFO:
            block = self._stub.read_word(self._stub.register(1))
            words = (value.to_bytes(_WORD_BYTES, "little") for value in self._values)
            self._stub.write(block, b"".join(words))
            self._stub.set_register(PC, place + len(_CALL))
            for addr in self._calls - {place}:
                self._stub.clear_breakpoint(addr)
            self._calls = {place}
            return
        self._stub.clear_breakpoint(place)
        if self._stub.ask(b"s")[:1] in (b"W", b"X"):
            raise Closed
        self._stub.set_breakpoint(place)


def find_calls(elf: Path) -> list[int]:
    """Return the addresses of an ELF's calls of the host, and of words that look like one."""
    with elf.open("rb") as file:
        segments = [
            (segment["p_vaddr"], segment.data())
            for segment in ELFFile(file).iter_segments()
            if segment["p_type"] == "PT_LOAD" and segment["p_flags"] & P_FLAGS.PF_X
        ]
    return [
        start + offset
        for start, data in segments
        for offset in range(0, len(data) - 1, 2)
        if data[offset : offset + 2] == _CALL
    ]
