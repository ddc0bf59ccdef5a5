"""The secure side of a non-secure firmware: its files, and the values for their templates."""

from collections.abc import Sequence
from typing import Any

from ethosgen.board import Board
from ethosgen.board.trustzone import Guard, Trustzone
from ethosgen.platforms import find_platform
from ethosgen.project.linkage import npu_base_addr
from ethosgen.values.errors import InputError

PERIPHERALS = "PERIPHERALS"
"""The region of the SAU with the peripherals; the others are named after memories."""


def check_platform(board: Board, platform: str) -> None:
    """Raise InputError for non-secure firmware on a platform without a generated secure side."""
    how = find_platform(platform).secure_remedy
    if board.is_non_secure and how:
        raise InputError(f"--security non-secure does not work with --platform {platform}: {how}")


def secure_facts(board: Board, ways: Sequence[str]) -> dict[str, Any] | None:
    """Return the templates' values for the secure side, None for secure firmware."""
    trustzone = board.trustzone
    if trustzone is None or not board.is_non_secure:
        return None
    counter = board.counter
    return {
        "bit": trustzone.secure_bit,
        **{part: _kept(board, trustzone, part) for part in ("code", "data")},
        "vectors": board.memories[trustzone.code.memory].start_addr,
        "regions": _regions(board, trustzone),
        "mpcs": [_guard(board, trustzone, mpc) for mpc in trustzone.mpcs],
        "tgus": [_guard(board, trustzone, tgu) for tgu in trustzone.tgus],
        "setup": trustzone.setup,
        "counter_control_addr": _secure(trustzone, counter.control_addr if counter else 0),
        "npu_by_way": [_npu(board, trustzone, way) for way in ways] if board.npu else [],
    }


def _secure(trustzone: Trustzone, addr: int) -> int:
    return addr | 1 << trustzone.secure_bit


def _reserved_bytes(trustzone: Trustzone, memory: str) -> int:
    """Return the size of a memory's first part, which the secure image keeps."""
    parts = (trustzone.code, trustzone.data)
    return sum(part.size_bytes for part in parts if part.memory == memory)


def _kept(board: Board, trustzone: Trustzone, part: str) -> dict[str, int]:
    """Return the first and the last address of a part of the secure image."""
    reserved = trustzone.code if part == "code" else trustzone.data
    memory = board.memories[reserved.memory]
    both = trustzone.code.memory == trustzone.data.memory and part == "code"
    behind = trustzone.data.size_bytes if both else 0
    start = _secure(trustzone, memory.start_addr - reserved.size_bytes - behind)
    return {"start": start, "last": start + reserved.size_bytes - 1}


def _regions(board: Board, trustzone: Trustzone) -> list[dict[str, Any]]:
    """Return the SAU's non-secure regions: all memories, and the peripherals."""
    memories = [
        {"name": name.upper(), "start": memory.start_addr, "last": memory.end_addr - 1}
        for name, memory in board.memories.items()
    ]
    start, size = trustzone.peripherals.start_addr, trustzone.peripherals.size_bytes
    return [*memories, {"name": PERIPHERALS, "start": start, "last": start + size - 1}]


def _guard(board: Board, trustzone: Trustzone, guard: Guard) -> dict[str, Any]:
    """Return a guard's values; the secure image's part of the memory comes first."""
    memory, first = board.memories[guard.memory], guard.start_addr
    if first is None:
        first = memory.start_addr - _reserved_bytes(trustzone, guard.memory)
    end = memory.end_addr if guard.size_bytes is None else first + guard.size_bytes
    name = f"NS_{guard.memory.upper()}"
    is_first, is_last = first <= memory.start_addr, memory.end_addr <= end
    return {
        "base_addr": guard.base_addr,
        "first_addr": first,
        "start": f"{name}_START" if is_first else f"0x{first:08x}u",
        "last": f"{name}_LAST" if is_last else f"0x{end - 1:08x}u",
    }


def _npu(board: Board, trustzone: Trustzone, way: str) -> dict[str, Any]:
    """Return the NPU's registers at their secure addresses: QEMU's have one address."""
    addr = npu_base_addr(board, way) or 0
    is_model = way == "qemu"
    return {"id": way, "is_model": is_model, "addr": addr if is_model else _secure(trustzone, addr)}
