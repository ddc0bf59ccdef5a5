"""Files of the user's cache: written completely, and removed when unused for long."""

import atexit
import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ethosgen.host.folders import cache_folder

_DIGITS = 32
"""Digits of a digest in a file's name."""


def compiled_file(
    kind: str, name: str, facts: object, build: Callable[[Path], Path], most: int
) -> Path:
    """Return a file of the cache's folder `kind`; `build` compiles it in a folder if it is missing.

    `facts` are what it is made of, as values with a text that says all. The folder keeps `most`
    files. Where the cache cannot be written, the file lives as long as this process.
    """
    digest = hashlib.sha256(repr(facts).encode()).hexdigest()[:_DIGITS]
    plain = Path(name)
    path = cache_folder() / kind / f"{plain.stem}-{digest}{plain.suffix}"
    if path.is_file():
        with contextlib.suppress(OSError):  # of another user
            os.utime(path)
        return path
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as folder:
        built = build(Path(folder).resolve())
        keep_file(path, built.read_bytes(), most, by_size=False)
        if not path.is_file():  # the cache cannot be written
            spare = _spare_folder() / path.name
            shutil.copy(built, spare)
            return spare
    return path


@cache
def _spare_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ethosgen-compiled-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


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
