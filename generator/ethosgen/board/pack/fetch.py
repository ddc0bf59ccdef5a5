"""Runs in a child: lets cmsis-pack-manager fetch an index and its descriptions."""

import os
from pathlib import Path

from cmsis_pack_manager import Cache

PLACE = "place.txt"


def fetch(index: str | None, folder: str | None, scratch: str) -> list[str]:
    """Fetch into `folder`, by default cmsis-pack-manager's own cache, which pyOCD shares.

    If that folder is not writable, nothing is cached. `scratch` is for the list of indexes, the
    database, and a note of the descriptions' folder: an invalid description ends the process.
    Return the names of the devices that it recognized.
    """
    addresses = None
    if index is not None:
        addresses = Path(scratch) / "indexes.txt"
        addresses.write_text(f"{index}\n", encoding="utf-8")
    cache = Cache(
        True,
        False,
        json_path=scratch,
        data_path=folder,
        vidx_list=str(addresses) if addresses else None,
    )
    if not _is_writable(Path(cache.data_path)):
        cache.data_path = str(Path(scratch) / "descriptions")
        Path(cache.data_path).mkdir()
    (Path(scratch) / PLACE).write_text(str(cache.data_path), encoding="utf-8")
    cache.cache_descriptors()
    return sorted(cache.index)


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
