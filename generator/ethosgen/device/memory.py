"""A device as its model sees it: registers by offset, and the memory that it may access."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.errors import DeviceFault
from ethosgen.values.grammar import counted

_WORD_BYTES = 4
_SHOWN = 4
"""The number of parts of memory, the nearest ones, that a fault names."""


@dataclass(frozen=True)
class MemoryPart:
    """A part of memory: its first address and its bytes."""

    name: str
    start_addr: int
    memory: np.ndarray[Any, np.dtype[np.uint8]]
    writable: bool

    @property
    def end_addr(self) -> int:
        """The first address after it."""
        return self.start_addr + len(self.memory)


class DeviceRegisters:
    """Registers of 32 bits by their offset in bytes: `registers[0x08]`.

    They are memory that the processor shares: a model sees a write when it polls. DeviceFault for
    an offset outside the declared registers.
    """

    def __init__(self, name: str, words: np.ndarray[Any, np.dtype[np.uint32]]) -> None:
        self._name = name
        self._words = words

    def __getitem__(self, offset: int) -> int:
        """Return a register's value, unsigned."""
        return int(self._words[self._index(offset)])

    def __setitem__(self, offset: int, value: int) -> None:
        """Set a register to the low 32 bits of a value."""
        self._words[self._index(offset)] = value & 0xFFFFFFFF

    def signed(self, offset: int) -> int:
        """Return a register's value in two's complement."""
        value = self[offset]
        return value - (1 << 32) if value >> 31 else value

    def _index(self, offset: int) -> int:
        if offset % _WORD_BYTES or not 0 <= offset < len(self._words) * _WORD_BYTES:
            last = (len(self._words) - 1) * _WORD_BYTES
            raise DeviceFault(
                self._name,
                "register",
                f"it accessed register 0x{offset:x}, but the registers are at multiples of 4 from "
                f"0x0 to 0x{last:x}",
            )
        return offset // _WORD_BYTES


class DeviceMemory:
    """The memory that a device may access, by the processor's addresses."""

    def __init__(self, name: str, segments: Sequence[MemoryPart]) -> None:
        self._name = name
        self._segments = segments

    def read(
        self,
        address: int,
        shape: int | Sequence[int],
        dtype: Any = np.int8,
        strides: Sequence[int] | None = None,
    ) -> np.ndarray[Any, Any]:
        """Return an array in memory, read-only; `strides` are bytes, by default without gaps.

        DeviceFault if any byte of it is outside the shared memory.
        """
        view = self._view(address, shape, dtype, strides, writes=False)
        view.flags.writeable = False
        return view

    def write(
        self, address: int, values: np.ndarray[Any, Any], strides: Sequence[int] | None = None
    ) -> None:
        """Write an array to memory; DeviceFault as for `read`, and for memory that is read-only."""
        self._view(address, values.shape, values.dtype, strides, writes=True)[...] = values

    def check(self, address: int, count: int, writes: bool) -> None:
        """Raise DeviceFault if any of some bytes is outside the memory to read, or to write."""
        self._find(address, address + count, writes)

    def _view(
        self,
        address: int,
        shape: int | Sequence[int],
        dtype: Any,
        strides: Sequence[int] | None,
        writes: bool,
    ) -> np.ndarray[Any, Any]:
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        kind = np.dtype(dtype)
        steps = tuple(strides) if strides is not None else _dense(sizes, kind.itemsize)
        if any(size <= 0 for size in sizes):
            return np.zeros(sizes, kind)
        ends = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
        first = address + sum(min(end, 0) for end in ends)
        end_addr = address + sum(max(end, 0) for end in ends) + kind.itemsize
        segment = self._find(first, end_addr, writes)
        start = segment.memory[first - segment.start_addr :]
        return np.ndarray(sizes, kind, start.data, address - first, steps)

    def _find(self, first: int, end_addr: int, writes: bool) -> MemoryPart:
        for segment in self._segments:
            if segment.start_addr <= first and end_addr <= segment.end_addr:
                if writes and not segment.writable:
                    break
                return segment
        does = "wrote" if writes else "read"
        able = [segment for segment in self._segments if segment.writable or not writes]
        near = sorted(able, key=lambda part: max(part.start_addr - first, first - part.end_addr))
        known = ", ".join(
            f"{segment.name} 0x{segment.start_addr:08x} to 0x{segment.end_addr - 1:08x}"
            for segment in sorted(near[:_SHOWN], key=lambda part: part.start_addr)
        )
        if len(able) > _SHOWN:
            known += f" and {counted(len(able) - _SHOWN, 'more part')} of it"
        raise DeviceFault(
            self._name,
            "memory",
            f"it {does} 0x{first & 0xFFFFFFFF:08x} to 0x{(end_addr - 1) & 0xFFFFFFFF:08x}, outside "
            f"the memory that it may {'write' if writes else 'read'}: {known or 'none'}",
        )


def _dense(sizes: Sequence[int], item_bytes: int) -> tuple[int, ...]:
    steps, step = [], item_bytes
    for size in reversed(sizes):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))
