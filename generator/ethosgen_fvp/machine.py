"""QEMU's machine for an FVP: Corstone-300's, with its missing devices added by a QEMU plug-in."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ethosgen.board import Board, load_board
from ethosgen.host.qemu_plugins import stored_plugin
from ethosgen.targets.attach.memory import SECURE_ALIAS, loaded_ranges
from ethosgen.targets.attach.monitor import Monitor
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen_fvp.platforms import FixedPlatform

_MACHINE = "corstone300"
_SOURCE = Path(__file__).parent / "memories.c"
_DDR = (0x60000000, 0x80000000)
_MEMORIES = (
    (0x00000000, 0x00080000),
    (0x01000000, 0x00200000),
    (0x20000000, 0x00080000),
    (0x21000000, 0x00400000),
    (0x28000000, 0x00800000),
)
"""Memories of QEMU's mps3-an547 by their non-secure addresses, as (start, size): both TCMs, SRAM,
ISRAM and QSPI (hw/arm/mps2-tz.c, hw/arm/armsse.c)."""
_RAM = re.compile(r"ram=(\w+):(\w+)")
CLOCK_ARGUMENTS = ("-rtc", "base=1970-01-01,clock=vm")
"""QEMU's arguments by which the board's clock (PL031) counts the simulated seconds from 0 on."""
_CLOCK_ADDR = 0x4930B000


def board_on_qemu(platform: FixedPlatform) -> Board:
    """Return the FVP's board with QEMU's machine for Corstone-300, which is closest to all."""
    board, machine = load_board(platform.board), load_board(_MACHINE)
    return board.model_copy(update={"run": board.run.model_copy(update={"qemu": machine.run.qemu})})


def require_memories(platform: FixedPlatform, elf: Path) -> None:
    """Raise InputError for a firmware with a part at addresses without memory in QEMU's machine."""
    memories = [*_MEMORIES, *_added_memories(platform)]
    for start, size in loaded_ranges(elf):
        if not _is_in(start, size, [_DDR]) and not _is_in(start & ~SECURE_ALIAS, size, memories):
            raise InputError(
                f"'{elf}' has {counted(size, 'byte')} at 0x{start:08x}, where {platform.name} on "
                "QEMU has no memory; docs/fvp.md lists its memories"
            )


def added_arguments(platform: FixedPlatform) -> list[str]:
    """Return QEMU's arguments for the missing devices of its machine.

    ToolError without a C compiler for this machine, or if it fails.
    """
    if not platform.added:
        return []
    plugin = stored_plugin(_SOURCE, f"QEMU's plug-in for {platform.name}")
    return ["-plugin", ",".join([str(plugin), *platform.added])]


def simulated_seconds(monitor: Monitor) -> int:
    """Return the simulated time in whole seconds."""
    seen = (monitor.word(addr) for addr in (_CLOCK_ADDR | SECURE_ALIAS, _CLOCK_ADDR))
    return next((seconds for seconds in seen if seconds is not None), 0)


def _added_memories(platform: FixedPlatform) -> Iterator[tuple[int, int]]:
    for argument in platform.added:
        if match := _RAM.fullmatch(argument):
            yield int(match[1], 0), int(match[2], 0)


def _is_in(start: int, size: int, memories: Sequence[tuple[int, int]]) -> bool:
    return any(at <= start and start + size <= at + length for at, length in memories)
