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

    Code, data and stack are some kilobytes and the linker's to check.
    """
    sizes = part_sizes(program)
    for way in ways(board):
        by_memory: dict[str, list[str]] = {}
        for part, memory in placement(board, way, memory_mode).npu_parts().items():
            if sizes[part]:
                by_memory.setdefault(memory, []).append(part)
        for memory, parts in by_memory.items():
            have, need = capacity_bytes(board, way, memory), sum(sizes[part] for part in parts)
            if need > have:
                what = " and ".join(f"{part} ({sizes[part]:,} bytes)" for part in parts)
                raise CapacityError(
                    f"'{program.name}' does not fit board '{board.name}': {what} need "
                    f"{need - have:,} bytes more than the {have:,} of memory '{memory}'; choose a "
                    "smaller network or a board with more memory"
                )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
