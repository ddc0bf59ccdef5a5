"""Check that networks fit a board's memories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ethosgen.backend import find_accelerator
from ethosgen.board import Board, FirmwarePlacement
from ethosgen.project.info import ProjectInfo
from ethosgen.project.linkage import capacity_bytes, host_board, placement, ways
from ethosgen.project.weights import file_bytes, regions_of
from ethosgen.project.words import ALIGNMENT
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import CapacityError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import CACHE_LINE_BYTES, rounded_up
from ethosgen.values.plan import IoStyle
from ethosgen.values.program import Program

SHARED_PARTS = ("arena", "fast")
"""Parts that several networks share, one after the other."""

_Sizes = Mapping[str, Mapping[str, int]]
"""Network → part → bytes."""


def own_alignment(program: Program, board: Board) -> int:
    """Return the alignment of a network's memory that the NPU or devices may write."""
    return shared_alignment(board, bool(program.plan.accelerator or program.plan.devices))


def shared_alignment(board: Board, has_masters: bool) -> int:
    """Return the alignment, of address and size, of memory that the CPU and bus masters share.

    The memory must not share a data cache line with anything else.
    """
    return CACHE_LINE_BYTES if has_masters and board.cpu.dcache else ALIGNMENT


def part_sizes(program: Program, board: Board) -> dict[str, int]:
    """Return the bytes of each part of a network in memory, by the placement's names."""
    alignment = own_alignment(program, board)
    ports = (*program.inputs, *program.outputs)
    owned = program.io is IoStyle.CALLER
    apart = file_bytes(regions_of(program)) if program.plan.apart else None
    return {
        "arena": rounded_up(program.arena_bytes, alignment),
        "io": sum(rounded_up(program.plan.buffer_bytes(p.tensor), alignment) for p in ports)
        if owned
        else 0,
        "commands": 0 if apart else _blob_bytes(program, "commands"),
        "weights": apart
        or _blob_bytes(program, "weights")
        + sum(rounded_up(len(constant.data), ALIGNMENT) for constant in program.constants),
        "fast": rounded_up(program.plan.fast_bytes, ALIGNMENT),
    }


def _blob_bytes(program: Program, part: str) -> int:
    return sum(
        rounded_up(len(blob.data), ALIGNMENT) for blob in program.plan.blobs if blob.part == part
    )


def check_capacity(programs: Sequence[Program], board: Board, memory_mode: str) -> None:
    """Compare sizes with memories; CapacityError gives the memory and the missing bytes.

    Networks share one arena, which is as large as the largest needs; all else adds up. The error
    names the networks concerned, and the memory modes that would have enough room. Code, data and
    stack take some kilobytes; the linker checks them.
    """
    sizes = {program.name: part_sizes(program, board) for program in programs}
    shortage = _find_shortage(sizes, board, memory_mode)
    if shortage is None:
        return
    able = [
        mode
        for mode in board.memory_modes(programs[0].plan.accelerator)
        if mode != memory_mode and _find_shortage(sizes, board, mode) is None
    ]
    remedy = _would_do(able) or f"choose {_smaller(len(programs))} or a board with more memory"
    names = " and ".join(f"'{name}'" for name in shortage.networks)
    verb = "does" if len(shortage.networks) == 1 else "together do"
    raise CapacityError(
        f"{names} {verb} not fit board '{board.name}' in memory mode {memory_mode}: "
        f"{shortage.words}; {remedy}"
    )


APPLICATION_BYTES = 4 << 10
"""More than the stack and the data of our applications; the linker knows better."""


def arena_room(programs: Sequence[Program], board: Board, memory_mode: str) -> int:
    """Return the bytes that the board leaves for the networks' arena, besides their other parts.

    An application's stack and data get APPLICATION_BYTES of the same memory.
    """
    sizes = {program.name: part_sizes(program, board) for program in programs}
    rooms = []
    for way in ways(board):
        for memory, parts in _by_memory(sizes, placement(board, way, memory_mode)).items():
            if "arena" in parts:
                others = [part for part in parts if part != "arena"]
                have = capacity_bytes(board, way, memory) - APPLICATION_BYTES
                rooms.append(have - _need(sizes, others))
    return max(min(rooms, default=0), 0)


def link_remedy(info: ProjectInfo, way: str, overflows: Mapping[str, int]) -> str:
    """Return the remedy if memories overflow by the given numbers of bytes.

    A memory mode has enough room if it moves as many bytes out of each such memory, by the
    networks' sizes, and adds nothing to the memories of code and data, whose sizes are unknown.
    """
    board = info.board
    memories = host_board(board, way).memories
    named = {name.lower(): name for name in memories}  # the linker's names are in one case
    overflows = {named.get(memory, memory): count for memory, count in overflows.items()}
    sizes = {network.name: network.parts for network in info.networks}
    now = placement(board, way, info.memory_mode)

    def would_do(mode: str) -> bool:
        other = placement(board, way, mode)
        if (other.code, other.data) != (now.code, now.data) or _find_shortage(sizes, board, mode):
            return False
        taken, wanted = _by_memory(sizes, now), _by_memory(sizes, other)
        return all(
            _need(sizes, taken.get(memory, [])) - _need(sizes, wanted.get(memory, []))
            >= overflows.get(memory, 0)
            for memory in {now.code, now.data, *overflows}
        )

    accelerator = None if info.npu == NO_NPU else find_accelerator(info.npu)
    modes = [mode for mode in board.memory_modes(accelerator) if mode != info.memory_mode]
    smaller = f"{_smaller(len(sizes))}, a smaller application or a board with more memory"
    if not overflows.keys() <= memories.keys():  # Zephyr's own regions
        return f"choose {smaller}"
    return _would_do(list(filter(would_do, modes))) or (
        f"no other memory mode of board '{board.name}' has enough room: choose {smaller}"
    )


def _would_do(modes: Sequence[str]) -> str:
    return f"use --memory-mode {' or '.join(modes)}" if modes else ""


def _smaller(count: int) -> str:
    return "a smaller network" if count == 1 else "smaller or fewer networks"


@dataclass(frozen=True)
class _Shortage:
    networks: tuple[str, ...]
    words: str


def _find_shortage(sizes: _Sizes, board: Board, memory_mode: str) -> _Shortage | None:
    """Return the bytes missing in the first memory that is too small, None if all fits."""
    for way in ways(board):
        for memory, parts in _by_memory(sizes, placement(board, way, memory_mode)).items():
            have = capacity_bytes(board, way, memory)
            if _need(sizes, parts) > have:
                return _describe_shortage(sizes, parts, memory, have)
    return None


def _by_memory(sizes: _Sizes, chosen: FirmwarePlacement) -> dict[str, list[str]]:
    """Return the parts that each memory must hold, including where they are stored."""
    used = [part for part in chosen.npu_parts() if any(parts[part] for parts in sizes.values())]
    by_memory: dict[str, list[str]] = {}
    for part in used:
        by_memory.setdefault(chosen.npu_parts()[part], []).append(part)
    if chosen.copied_from:
        stored = [part for part in ("commands", "weights") if part in used]
        kept = by_memory.setdefault(chosen.copied_from, [])
        kept += [part for part in stored if part not in kept]
    return by_memory


def _need(sizes: _Sizes, parts: Sequence[str]) -> int:
    return sum(_part_bytes(sizes, part) for part in parts)


def _part_bytes(sizes: _Sizes, part: str) -> int:
    each = [parts[part] for parts in sizes.values()]
    return max(each) if part in SHARED_PARTS else sum(each)


def _describe_shortage(sizes: _Sizes, parts: Sequence[str], memory: str, have: int) -> _Shortage:
    """Blame the networks that do not fit alone; if each does, all that contribute."""
    alone = [name for name, own in sizes.items() if sum(own[part] for part in parts) > have]
    blamed = {name: sizes[name] for name in alone[:1] or sizes}
    what = " and ".join(f"{part} ({counted(_part_bytes(blamed, part), 'byte')})" for part in parts)
    short = _need(blamed, parts) - have
    verb = "need" if len(parts) > 1 else "needs"
    words = f"{what} {verb} {counted(short, 'byte')} more than the {have:,} of '{memory}'"
    return _Shortage(tuple(blamed), words)


def part_capacities(board: Board, memory_mode: str) -> dict[str, tuple[str, int]]:
    """Return the memory of each large part, and its size, in the way with the least room."""
    capacities: dict[str, tuple[str, int]] = {}
    for way in ways(board):
        chosen = placement(board, way, memory_mode)
        for part in ("weights", "arena", "io"):
            memory = chosen.npu_parts()[part]
            size = capacity_bytes(board, way, memory)
            if part not in capacities or size < capacities[part][1]:
                capacities[part] = (memory, size)
    return capacities


def room_bytes(board: Board, memory_mode: str) -> tuple[int, int]:
    """Return the bytes of a board's memories of code and constants, and of data and tensors.

    A memory that holds both counts in both.
    """
    chosen = placement(board, "board", memory_mode)
    parts = chosen.npu_parts()
    stored = {chosen.code, chosen.copied_from, parts.get("weights"), parts.get("commands")}
    kept = {chosen.data, parts.get("arena"), parts.get("io"), parts.get("fast")}
    flash, ram = (
        sum(capacity_bytes(board, "board", memory) for memory in memories if memory)
        for memories in (stored, kept)
    )
    return flash, ram
