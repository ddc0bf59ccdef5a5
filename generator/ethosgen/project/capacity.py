"""Does a network fit a board's memories?"""

from ethosgen.board import Board
from ethosgen.errors import CapacityError
from ethosgen.plan import IoStyle
from ethosgen.program import Program
from ethosgen.project.linkage import capacity_bytes, placement, ways

_HEADER_BYTES = 32
_ALIGNMENT = 16


def part_sizes(program: Program) -> dict[str, int]:
    """Return the bytes of each part that a network puts into memory, by the placement's names."""
    ports = (*program.inputs, *program.outputs)
    owned = program.io is IoStyle.CALLER
    return {
        "arena": _aligned(program.arena_bytes),
        "io": sum(_aligned(port.tensor.bytes) for port in ports) if owned else 0,
        "commands": sum(_aligned(_HEADER_BYTES + len(p.commands)) for p in program.plan.partitions),
        "weights": _aligned(len(program.plan.read_only))
        + sum(_aligned(len(constant.data)) for constant in program.constants),
        "fast": _aligned(program.plan.scratch_fast_bytes),
    }


def check_capacity(program: Program, board: Board, memory_mode: str) -> None:
    """Compare sizes with memories; CapacityError says which memory lacks how much.

    It names the memory modes that would do, by the same sizes. Code, data and stack are some
    kilobytes and the linker's to check.
    """
    lack = _find_lack(program, board, memory_mode)
    if lack is None:
        return
    able = [
        mode
        for mode in board.memory_modes(program.plan.accelerator)
        if mode != memory_mode and _find_lack(program, board, mode) is None
    ]
    remedy = (
        f"--memory-mode {' or '.join(able)} would do"
        if able
        else "choose a smaller network or a board with more memory"
    )
    raise CapacityError(
        f"'{program.name}' does not fit board '{board.name}' in memory mode {memory_mode}: "
        f"{lack}; {remedy}"
    )


def _find_lack(program: Program, board: Board, memory_mode: str) -> str | None:
    """Return what a mode lacks in the first memory that is too small, None if all fits."""
    sizes = part_sizes(program)
    for way in ways(board):
        chosen = placement(board, way, memory_mode)
        by_memory: dict[str, list[str]] = {}
        for part, memory in chosen.npu_parts().items():
            if sizes[part]:
                by_memory.setdefault(memory, []).append(part)
        stored = [part for part in ("commands", "weights") if chosen.copied_from and sizes[part]]
        if stored and chosen.copied_from:
            kept = by_memory.setdefault(chosen.copied_from, [])
            kept += [part for part in stored if part not in kept]
        for memory, parts in by_memory.items():
            have, need = capacity_bytes(board, way, memory), sum(sizes[part] for part in parts)
            if need > have:
                what = " and ".join(f"{part} ({sizes[part]:,} bytes)" for part in parts)
                return f"{what} need {need - have:,} bytes more than the {have:,} of '{memory}'"
    return None


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
