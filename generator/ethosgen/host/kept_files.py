"""Files of the user's cache: written completely, and removed when unused for long."""

import contextlib
import hashlib
import tempfile
from functools import cache
from pathlib import Path


def keep_file(path: Path, data: bytes, most: int, by_size: bool = True) -> None:
    """Write a file, and remove others of its folder and suffix until the rest fits `most`.

    The least recently used go first. `most` limits the bytes of all files, or, without `by_size`,
    their number. A full disk, or someone else's folder, is not an error.
    """
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            new = Path(folder) / path.name
            new.write_bytes(data)
            new.replace(path)
        _trim(path, most, by_size)


def _trim(kept: Path, most: int, by_size: bool) -> None:
    files = []
    for path in kept.parent.glob(f"*{kept.suffix}"):
        with contextlib.suppress(OSError):  # another process may remove it
            if path.is_file():
                status = path.stat()
                files.append((status.st_mtime_ns, status.st_size if by_size else 1, path))
    left = most
    for _, weight, path in sorted(files, reverse=True):
        left -= weight
        if left < 0:
            path.unlink(missing_ok=True)


@cache
def modules_digest(*folders: Path) -> str:
    """Return the digest of the Python modules in folders.

    It stands for ethosgen's version in a cache, which does not change with each edit.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
