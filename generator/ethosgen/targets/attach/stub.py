"""QEMU's GDB stub: the memory and the registers of the processor while it is stopped."""

from ethosgen.targets.attach.packets import Closed, Packets
from ethosgen.values.errors import TargetError

SP = 13
PC = 15
XPSR = 25
"""Numbers of registers in GDB's description of an M-profile core; R0 to R12, SP and LR precede."""

XPSR_THUMB = 1 << 24
"""The bit of XPSR without which each instruction is a fault."""

ACCESS_WATCHPOINT = 4
_WORD_BYTES = 4
_WRITE_BYTES = 1024
"""Bytes of one write: two digits each, in the stub's packet of 4096."""
_ANSWER_S = 60.0


class Stub(Packets):
    """The stub of a stopped QEMU."""

    def ask(self, request: bytes) -> bytes:
        """Return the answer to a request; TargetError if there is none."""
        self.send(request)
        answer = self.receive(_ANSWER_S)
        if answer is None:
            raise TargetError("QEMU's GDB stub does not answer")
        return answer

    def begin(self) -> None:
        """Request the target's description: only then the stub numbers registers accordingly."""
        self.ask(b"qSupported:qXfer:features:read+")
        self.ask(b"qXfer:features:read:target.xml:0,ffb")

    def watch(self, start_addr: int, size: int) -> None:
        """Stop before each access to addresses; TargetError if the stub refuses."""
        self._command(b"Z%d,%x,%x" % (ACCESS_WATCHPOINT, start_addr, size), "watch", start_addr)

    def set_breakpoint(self, addr: int) -> None:
        """Stop before the instruction at an address; TargetError if the stub refuses."""
        self._command(b"Z0,%x,2" % addr, "stop at", addr)

    def clear_breakpoint(self, addr: int) -> None:
        """Stop there no longer."""
        self._command(b"z0,%x,2" % addr, "stop no more at", addr)

    def register(self, number: int) -> int:
        """Return a register."""
        return int.from_bytes(bytes.fromhex(self.ask(b"p%x" % number).decode()), "little")

    def set_register(self, number: int, value: int) -> None:
        """Write a register."""
        digits = value.to_bytes(_WORD_BYTES, "little").hex().encode()
        self._command(b"P%x=%s" % (number, digits), "write register", number)

    def read(self, addr: int, size: int) -> bytes:
        """Return bytes of memory, at most 1024; TargetError if there is none."""
        answer = self.ask(b"m%x,%x" % (addr, size))
        if answer.startswith(b"E") or len(answer) != 2 * size:
            raise TargetError(f"QEMU cannot read the firmware's memory at 0x{addr:08x}")
        return bytes.fromhex(answer.decode())

    def read_word(self, addr: int) -> int:
        """Return a word of memory."""
        return int.from_bytes(self.read(addr, _WORD_BYTES), "little")

    def write(self, addr: int, data: bytes) -> None:
        """Write bytes of memory; TargetError if there is none."""
        for start in range(0, len(data), _WRITE_BYTES):
            part, at = data[start : start + _WRITE_BYTES], addr + start
            request = b"M%x,%x:%s" % (at, len(part), part.hex().encode())
            self._command(request, "write", at)

    def step(self) -> None:
        """Let the processor execute an instruction; TargetError if it does not."""
        if not self.ask(b"s").startswith(b"T05"):
            raise TargetError("QEMU does not execute the first instruction")

    def end(self) -> None:
        """End QEMU."""
        try:
            self.send(b"k")
        except Closed:
            return

    def _command(self, request: bytes, what: str, where: int) -> None:
        if self.ask(request) != b"OK":
            raise TargetError(f"QEMU's GDB stub refuses to {what} 0x{where:08x}")
