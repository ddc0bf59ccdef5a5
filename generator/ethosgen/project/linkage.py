"""The memory of each part of a firmware, for each way in which a board runs."""

from collections.abc import Sequence
from typing import Any

from ethosgen.board import Board, Placement
from ethosgen.values.device import Device, device_pages


def ways(board: Board) -> dict[str, str]:
    """Return the ways to run a firmware on the board, the default first.

    "board" is the hardware itself, or a Fixed Virtual Platform, which has the same memory map.
    """
    found = {}
    emulated = board.on_qemu
    if emulated is not None:
        instead = "" if emulated is board else f", where {emulated.description} stands in"
        found["qemu"] = f"on QEMU{instead}, with the NPU model in another process"
    found["board"] = (
        "on the board, or on Arm's FVP of it" if board.run.fvp is not None else "on the board"
    )
    return found


def host_board(board: Board, way: str) -> Board:
    """Return the board whose processor and memories the firmware uses."""
    emulated = board.on_qemu if way == "qemu" else None
    return emulated or board


def npu_base_addr(board: Board, way: str) -> int | None:
    """Return the address of the NPU's registers, None if the board file does not have it."""
    board = host_board(board, way)
    if way == "qemu" and board.run.qemu is not None:
        return board.run.qemu.npu_base_addr
    return board.npu.base_addr if board.npu else None


def placement(board: Board, way: str, memory_mode: str) -> Placement:
    """Return the memory of each part; on QEMU, one memory holds all that the NPU accesses."""
    board = host_board(board, way)
    chosen = board.placement(memory_mode)
    if way == "qemu" and board.run.qemu is not None:
        return chosen.model_copy(
            update={
                **dict.fromkeys(chosen.npu_parts(), board.run.qemu.npu_memory),
                "copied_from": None,  # QEMU's loader puts everything into place
            }
        )
    return chosen


def device_addrs(board: Board, way: str, devices: Sequence[Device]) -> list[int | None]:
    """Return the address of each device's registers, None if nobody has said it."""
    board = host_board(board, way)
    if way == "qemu" and board.run.qemu is not None:
        return list(device_pages(board.run.qemu.npu_base_addr, devices))
    places = [device.places.get(board.name) for device in devices]
    return [place.base_addr if place else None for place in places]


def capacity_bytes(board: Board, way: str, memory: str, devices: Sequence[Device] = ()) -> int:
    """Return the bytes of a memory that a firmware can use: on QEMU, those below all registers."""
    board = host_board(board, way)
    qemu = board.run.qemu
    if way == "qemu" and qemu is not None and memory == qemu.npu_memory:
        lowest = min(device_pages(qemu.npu_base_addr, devices), default=qemu.npu_base_addr)
        return lowest - board.memories[memory].start_addr
    return board.memories[memory].size_bytes


def memory_map(
    board: Board, way: str, memory_mode: str, devices: Sequence[Device] = ()
) -> dict[str, Any]:
    """Return the linker script's values: memories and placement."""
    return {
        "memories": [
            {
                "id": name,
                "access": memory.access,
                "start_addr": memory.start_addr,
                "size_bytes": capacity_bytes(board, way, name, devices),
            }
            for name, memory in host_board(board, way).memories.items()
        ],
        "placement": placement(board, way, memory_mode),
    }
