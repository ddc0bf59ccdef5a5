"""The registers of an NPU's AXI timing adapters, which delay nothing here."""

from collections.abc import Iterable, Iterator

from ethosgen.targets.attach.memory import SECURE_ALIAS

_MASKS = {
    0x00: 0x3F,  # MAXR
    0x04: 0x3F,  # MAXW
    0x08: 0x3F,  # MAXRW
    0x0C: 0xFFF,  # RLATENCY
    0x10: 0xFFF,  # WLATENCY
    0x14: 0xFFFF,  # PULSE_ON
    0x18: 0xFFFF,  # PULSE_OFF
    0x1C: 0xFFFF,  # BWCAP
    0x20: 0x3F,  # PERFCTRL
    0x24: 0xFFFFFFFF,  # PERFCNT
    0x28: 0xFFF,  # MODE
    0x2C: 0,  # MAXPENDING, which can only be read
    0x30: 0xF,  # HISTBIN
    0x34: 0xFFFFFFFF,  # HISTCNT
    0x38: 0,  # VERSION
}
"""By a register's offset, its bits that can be written.

Source: timing_adapter.c of Arm's ethos-u-core-platform, which accepts no other version than this.
"""
_VERSION_OFFSET, _VERSION = 0x38, 0x1117
BLOCK_BYTES = 0x40
"""The size of an adapter's registers, of which the last word is not used."""


class TimingAdapters:
    """Registers that read what was written. Secure and non-secure addresses are the same ones."""

    def __init__(self, addrs: Iterable[int]) -> None:
        self._blocks = {addr & ~SECURE_ALIAS: {_VERSION_OFFSET: _VERSION} for addr in addrs}

    def windows(self) -> Iterator[int]:
        """Yield the addresses of all blocks of registers, secure and non-secure."""
        for addr in self._blocks:
            yield from (addr, addr | SECURE_ALIAS)

    def owns(self, addr: int) -> bool:
        """Return whether an address is that of a register."""
        return self._find(addr) is not None

    def read(self, addr: int) -> int:
        """Return a register's value."""
        place = self._find(addr)
        assert place is not None
        start, offset = place
        return self._blocks[start].get(offset, 0)

    def write(self, addr: int, value: int) -> None:
        """Write a register's bits that can be written."""
        place = self._find(addr)
        assert place is not None
        start, offset = place
        if mask := _MASKS.get(offset, 0):
            self._blocks[start][offset] = value & mask

    def _find(self, addr: int) -> tuple[int, int] | None:
        """Return a register's block and its offset in it."""
        offsets = ((start, (addr & ~SECURE_ALIAS) - start) for start in self._blocks)
        return next((each for each in offsets if 0 <= each[1] < BLOCK_BYTES), None)
