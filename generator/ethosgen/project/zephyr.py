"""Additional values for a Zephyr application: configuration symbols and sizes."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from ethosgen.board import Board
from ethosgen.values.errors import InputError
from ethosgen.values.multiples import pieces

_POINTER_BYTES = 4
_HEAP_CHUNK_BYTES = 8
_HEAP_HEADER_BYTES = 4
_HEAP_OWN_BYTES = 48
"""The overhead of a heap below 512 bytes: 16, six buckets of 4, and 8 for the end marker (Zephyr
lib/heap/heap.c)."""


def zephyr_facts(board: Board, driver: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for a Zephyr project's templates.

    `driver` has the sizes in bytes of the kernel objects and of the memory that the NPU's driver
    allocates.
    """
    if not board.run.zephyr:
        raise InputError(
            f"board '{board.name}' has no Zephyr board; name one in run.zephyr of its board "
            "file, or use --platform baremetal"
        )
    objects = driver.get("kernel_objects", ())
    return {
        "zephyr_targets": [known.target for known in board.run.zephyr],
        "qemu_targets": [known.target for known in board.run.zephyr if "qemu" in known.ways],
        # k_malloc stores a pointer to the heap before each block.
        "heap_bytes": heap_bytes(_POINTER_BYTES + size for size in objects),
        "malloc_bytes": heap_bytes(driver.get("allocations", ())),
        "stack_bytes": 1024,
        "pyocd_target": _pyocd_target(board),
        **_program(board),
    }


def _pyocd_target(board: Board) -> str | None:
    """Return pyOCD's name of the board from its flash command, None if there is none."""
    command = board.flash["pyocd"].command if "pyocd" in board.flash else []
    named = [word for option, word in pairwise(command) if option in ("--target", "-t")]
    return named[0] if named else None


def _program(board: Board) -> dict[str, Any]:
    """Return the memory that Zephyr's program shares with networks, and its part, or None."""
    known = board.run.zephyr[0]
    if known.program is None or known.program_bytes is None:
        return {"program": None}
    start = board.memories[known.program].start_addr - known.program_bytes
    return {
        "program": known.program,
        "program_addr": start,
        "program_bytes": known.program_bytes,
    }


def shared_board(board: Board) -> Board:
    """Return the board for networks: without the memory of Zephyr's program."""
    for known in board.run.zephyr:
        if known.program is not None and known.program_bytes is not None:
            whole = board.memories[known.program]
            rest = whole.model_copy(
                update={
                    "start_addr": whole.start_addr + known.program_bytes,
                    "size_bytes": whole.size_bytes - known.program_bytes,
                }
            )
            return board.model_copy(update={"memories": {**board.memories, known.program: rest}})
    return board


def heap_bytes(allocations: Iterable[int]) -> int:
    """Return the size of a Zephyr heap, below 512 bytes, that holds these allocations."""
    chunks = (pieces(_HEAP_HEADER_BYTES + a, _HEAP_CHUNK_BYTES) for a in allocations)
    return _HEAP_OWN_BYTES + _HEAP_CHUNK_BYTES * sum(chunks)
