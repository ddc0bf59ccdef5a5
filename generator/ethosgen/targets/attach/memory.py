"""The memories of a firmware, for the NPU model.

The memory that QEMU keeps in a file is mapped. The others are copies: `load` fetches them before a
command stream, `store` writes back the changes.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.backend.protocol import SharedMemory
from ethosgen.board import Board, SharedRam
from ethosgen.targets.attach.monitor import Monitor
from ethosgen.targets.attach.stub import Stub
from ethosgen.values.errors import TargetError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SECURE_ALIAS = 1 << 28
"""Secure and non-secure addresses of a memory differ in this bit in Arm's subsystems (Corstone SSE
Technical Reference Manuals, memory map)."""
_GAP_BYTES = 64
"""Unchanged bytes between changed ones that are written back with them: a write has a cost."""


@dataclass(frozen=True)
class NpuMemory:
    """A memory that the NPU reaches, at the address that the firmware uses."""

    name: str
    start_addr: int
    size: int
    writable: bool


def copied_parts(board: Board, elfs: Sequence[Path], shared: SharedRam) -> list[NpuMemory]:
    """Return the memories that must be copied.

    They are the board's memories that the NPU reaches, and the ELFs' sections in memories that the
    board file does not name.
    """

    def is_mapped(start: int) -> bool:
        return shared.shared_start_addr <= start < shared.shared_end_addr

    parts = [
        NpuMemory(name, memory.start_addr, memory.size_bytes, "w" in memory.access)
        for name, memory in board.memories.items()
        if memory.npu_port is not None and not is_mapped(memory.start_addr)
    ]
    known = [(memory.start_addr, memory.size_bytes) for memory in board.memories.values()]
    for section in (section for elf in elfs for section in _sections(elf)):
        start = section.start_addr
        if not is_mapped(start) and not any(_is_in(start, other, size) for other, size in known):
            parts.append(section)
    return parts


def _is_in(addr: int, start: int, size: int) -> bool:
    """Return whether an address is in a memory, by its secure or its non-secure address."""
    return any(base <= addr < base + size for base in (start, start ^ SECURE_ALIAS))


def _sections(elf: Path) -> Iterator[NpuMemory]:
    with elf.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            flags, size = section["sh_flags"], section["sh_size"]
            if size and flags & SH_FLAGS.SHF_ALLOC:
                writable = bool(flags & SH_FLAGS.SHF_WRITE)
                yield NpuMemory(section.name, section["sh_addr"], size, writable)


def loaded_ranges(elf: Path) -> Iterator[tuple[int, int]]:
    """Yield address and size of an ELF's segments, where they are loaded and where they run."""
    with elf.open("rb") as file:
        for segment in ELFFile(file).iter_segments():
            if segment["p_type"] == "PT_LOAD":
                sizes = (("p_paddr", "p_filesz"), ("p_vaddr", "p_memsz"))
                yield from ((segment[at], segment[size]) for at, size in sizes if segment[size])


class GuestMemory:
    """The memories of a firmware on QEMU; a context, since it has a temporary file."""

    def __init__(self, stub: Stub, monitor: Monitor, parts: Sequence[NpuMemory]) -> None:
        self._stub = stub
        self._monitor = monitor
        self._copies = [(part, np.zeros(part.size, np.uint8)) for part in parts]
        self._loaded = [np.zeros(0, np.uint8) for _ in parts]
        self._addrs = [part.start_addr for part in parts]
        self._folder = tempfile.TemporaryDirectory(prefix="ethosgen-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._folder.cleanup()

    def segments(self) -> list[SharedMemory]:
        """Return the copies for the NPU's bus, each at its secure and its non-secure address."""
        return [
            SharedMemory(part.name, start, copy, part.writable)
            for part, copy in self._copies
            for start in (part.start_addr, part.start_addr ^ SECURE_ALIAS)
        ]

    def load(self) -> None:
        """Copy the memories; the firmware must be stopped."""
        file = Path(self._folder.name) / "memory"
        for index, (part, copy) in enumerate(self._copies):
            self._addrs[index] = self._save(part, file)
            copy[:] = np.fromfile(file, np.uint8)
            self._loaded[index] = copy.copy()

    def store(self) -> None:
        """Write back the changes since `load`."""
        copies = [copy for _, copy in self._copies]
        for addr, copy, loaded in zip(self._addrs, copies, self._loaded, strict=True):
            for start, end in changed_ranges(loaded, copy):
                self._stub.write(addr + start, copy[start:end].tobytes())

    def _save(self, part: NpuMemory, file: Path) -> int:
        """Save a memory; return its address for the processor's state.

        QEMU's monitor has the processor's view: in non-secure state, no secure address.
        """
        try:
            self._monitor.save(part.start_addr, part.size, file)
        except TargetError:
            alias = part.start_addr ^ SECURE_ALIAS
            self._monitor.save(alias, part.size, file)
            return alias
        return part.start_addr


def changed_ranges(before: Bytes, after: Bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges [start, end) where two memories differ; close ones are joined."""
    changed = np.flatnonzero(before != after)
    if not len(changed):
        return
    breaks = np.flatnonzero(np.diff(changed) > _GAP_BYTES)
    starts = changed[np.concatenate(([0], breaks + 1))]
    ends = changed[np.concatenate((breaks, [len(changed) - 1]))] + 1
    yield from ((int(start), int(end)) for start, end in zip(starts, ends, strict=True))
