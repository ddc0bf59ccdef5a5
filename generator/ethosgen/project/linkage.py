"""The memory of each part of a firmware, for each way in which a board runs."""

from collections.abc import Sequence
from typing import Any

from ethosgen.board import Board, FirmwarePlacement, SharedRam
from ethosgen.values.device import Device, device_pages


def ways(board: Board) -> dict[str, str]:
    """Return the ways to run a firmware on the board, the default first.

    "board" is the hardware itself, or a Fixed Virtual Platform, which has the same memory map.
    """
    described = {}
    emulated = board.on_qemu
    if emulated is not None:
        instead = "" if emulated is board else f", where {emulated.description} stands in"
        model = ", with the NPU model in another process" if _shared(board, "qemu") else ""
        described["qemu"] = f"on QEMU{instead}{model}"
    described["board"] = (
        "on the board, or on Arm's FVP of it" if board.run.fvp is not None else "on the board"
    )
    return described


def host_board(board: Board, way: str) -> Board:
    """Return the board whose processor and memories the firmware uses."""
    emulated = board.on_qemu if way == "qemu" else None
    return emulated or board


def _shared(board: Board, way: str) -> SharedRam | None:
    """Return the memory that QEMU shares with the NPU model, None for other ways and boards."""
    qemu = host_board(board, way).run.qemu
    return qemu.shared if way == "qemu" and qemu is not None else None


def npu_base_addr(board: Board, way: str) -> int | None:
    """Return the address of the NPU's registers, None if the board file does not have it."""
    if shared := _shared(board, way):
        return shared.npu_base_addr
    board = host_board(board, way)
    return board.npu.base_addr if board.npu else None


def placement(board: Board, way: str, memory_mode: str) -> FirmwarePlacement:
    """Return the memory of each part; on QEMU, one memory holds all parts for the NPU."""
    chosen = host_board(board, way).placement(memory_mode)
    if shared := _shared(board, way):
        return chosen.model_copy(
            update={
                **dict.fromkeys(chosen.npu_parts(), shared.npu_memory),
                "copied_from": None,  # QEMU's loader puts everything into place
            }
        )
    return chosen


def device_addrs(board: Board, way: str, devices: Sequence[Device]) -> list[int | None]:
    """Return the address of each device's registers, None if unknown."""
    if shared := _shared(board, way):
        return list(device_pages(shared.npu_base_addr, devices))
    board = host_board(board, way)
    places = [device.places.get(board.name) for device in devices]
    return [place.base_addr if place else None for place in places]


def capacity_bytes(board: Board, way: str, memory: str, devices: Sequence[Device] = ()) -> int:
    """Return the bytes of a memory that a firmware can use: on QEMU, those below all registers."""
    shared, board = _shared(board, way), host_board(board, way)
    if shared is not None and memory == shared.npu_memory:
        lowest = min(device_pages(shared.npu_base_addr, devices), default=shared.npu_base_addr)
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
