"""The memory of each part of a firmware, for each way in which a board runs."""

from typing import Any

from ethosgen.board import Board, Placement

REGISTER_PAGE_BYTES = 4096
"""The size of the NPU's register file in the memory that QEMU shares."""


def ways(board: Board) -> dict[str, str]:
    """Return the ways to run a firmware on the board, the default first.

    "board" is the hardware itself, or a Fixed Virtual Platform, which has the same memory map.
    """
    found = {}
    if board.run.qemu is not None:
        found["qemu"] = "on QEMU, with the NPU model in another process"
    found["board"] = (
        "on the board, or on Arm's FVP of it" if board.run.fvp is not None else "on the board"
    )
    return found


def npu_base_addr(board: Board, way: str) -> int | None:
    """Return the address of the NPU's registers, None if the board file does not have it."""
    if way == "qemu" and board.run.qemu is not None:
        return board.run.qemu.npu_base_addr
    return board.npu.base_addr


def placement(board: Board, way: str, memory_mode: str) -> Placement:
    """Return the memory of each part; on QEMU, one memory holds all that the NPU accesses."""
    chosen = board.placement(memory_mode)
    if way == "qemu" and board.run.qemu is not None:
        return chosen.model_copy(
            update={
                **dict.fromkeys(chosen.npu_parts(), board.run.qemu.npu_memory),
                "copied_from": None,  # QEMU's loader puts everything into place
            }
        )
    return chosen


def capacity_bytes(board: Board, way: str, memory: str) -> int:
    """Return the bytes of a memory that a firmware can use."""
    size = board.memories[memory].size_bytes
    qemu = board.run.qemu
    if way == "qemu" and qemu is not None and memory == qemu.npu_memory:
        return size - REGISTER_PAGE_BYTES
    return size


def memory_map(board: Board, way: str, memory_mode: str) -> dict[str, Any]:
    """Return the linker script's values: memories and placement."""
    return {
        "memories": [
            {
                "id": name,
                "access": memory.access,
                "start_addr": memory.start_addr,
                "size_bytes": capacity_bytes(board, way, name),
            }
            for name, memory in board.memories.items()
        ],
        "placement": placement(board, way, memory_mode),
    }
