"""What QEMU reads from files: its shared memory, the firmware, and what it loads besides."""

import mmap
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.board import SharedRam
from ethosgen.values.errors import TargetError

_SPARE_BYTES = 1 << 20
"""Additional shared memory, for the register page and gaps between sections."""


def make_ram(facts: SharedRam, needed_bytes: int) -> tuple[Path, int]:
    """Create a file for QEMU's shared memory, with this many bytes in use; return it open."""
    folder = _ram_folder(needed_bytes + _SPARE_BYTES)
    handle, name = tempfile.mkstemp(prefix="ethosgen-", suffix=".ram", dir=folder)
    try:
        os.ftruncate(handle, facts.shared_size_bytes)
    except OSError as error:
        os.close(handle)
        Path(name).unlink(missing_ok=True)
        raise TargetError(
            f"cannot map {facts.shared_size_bytes >> 20} MiB of shared memory in '{folder}': "
            f"{error.strerror}"
        ) from None
    return Path(name), handle


def map_ram(
    handle: int, facts: SharedRam, start_addr: int, size: int
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Map a part of the shared memory; it may start anywhere."""
    offset = start_addr - facts.shared_start_addr
    page = offset % mmap.ALLOCATIONGRANULARITY
    mapped = mmap.mmap(handle, size + page, offset=offset - page)
    return np.frombuffer(mapped, np.uint8)[page:]


def load_arguments(elf: Path, more: Sequence[Path]) -> list[str]:
    """Return QEMU's arguments for the image that starts and for the others."""
    paths = [str(image).replace(",", ",,") for image in more]  # a comma ends an option's value
    loads = [word for path in paths for word in ("-device", f"loader,file={path}")]
    return ["-kernel", str(elf), *loads]


def loader_arguments(loaded: Mapping[int, Path]) -> list[str]:
    """Return the arguments that load files besides the firmware, each to its address."""
    return [
        argument
        for address, file in loaded.items()
        for argument in ("-device", f"loader,addr={address:#x},force-raw=on,file={_escaped(file)}")
    ]


def _escaped(file: Path) -> str:
    """Return a path as a value of QEMU's options, which commas separate."""
    return str(file).replace(",", ",,")


def _ram_folder(needed_bytes: int) -> Path:
    """Return the folder for shared memory: in memory, or on a disk if there is too little room.

    Too little room would end QEMU by SIGBUS during a run, so TargetError reports it first.
    """
    temporary = Path(tempfile.gettempdir())
    folders = [p for p in (Path("/dev/shm"), temporary) if os.access(p, os.W_OK)]
    room = {folder: shutil.disk_usage(folder).free for folder in folders}
    for folder, free_bytes in room.items():
        if free_bytes >= needed_bytes:
            return folder
    there = " and ".join(f"'{folder}' has {free >> 10} KiB" for folder, free in room.items())
    raise TargetError(
        f"the memory that QEMU shares with the NPU model needs {needed_bytes >> 10} KiB, and "
        f"{there or 'no folder for it is writable'}; free some, or name another folder in "
        "TMPDIR"
    )
