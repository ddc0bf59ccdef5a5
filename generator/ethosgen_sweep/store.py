"""A store of values, by the digest of all their inputs: a folder with a file for each."""

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ethosgen.values.errors import cannot_write

_NAME = "ethosgen-store"
"""The file with the store's name: two processes with the same name see the same folder."""


@dataclass(frozen=True)
class Shelf:
    """The place of a store, for other processes: they use it only if they see the same folder."""

    folder: Path
    name: str

    def open(self) -> "Store | None":
        """Return the store, None if this machine does not see its folder."""
        try:
            seen = (self.folder / _NAME).read_text()
        except OSError:
            return None
        return Store(self.folder) if seen == self.name else None


class Store:
    """Values by key. A value appears completely or not at all, even if processes are killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def make(cls, folder: Path) -> "Store":
        """Return the store in a folder, created if necessary; InputError if that fails."""
        store = cls(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / _NAME).exists():
                store._write(folder / _NAME, secrets.token_hex(16).encode())
        except OSError as error:
            raise cannot_write(folder, error) from None
        return store

    def shelf(self) -> Shelf:
        """Return the store's place, which can be pickled."""
        return Shelf(self.folder.absolute(), (self.folder / _NAME).read_text())

    def get(self, key: str) -> bytes | None:
        """Return a value, None if it is missing, damaged, or another key's."""
        try:
            digest, _, value = self._path(key).read_bytes().partition(b"\n")
        except OSError:
            return None
        return value if digest == _digest(key, value) else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value; InputError if that is impossible."""
        path = self._path(key)
        try:
            path.parent.mkdir(exist_ok=True)
            self._write(path, _digest(key, value) + b"\n" + value)
        except OSError as error:
            raise cannot_write(path, error) from None

    def drop(self, key: str) -> None:
        """Forget a value, if it is there."""
        with suppress(OSError):
            self._path(key).unlink()

    def lock(self, key: str) -> Path:
        """Return the file that marks a value as under computation."""
        return self._path(key).with_name(f".{key}.lock")

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        """Write a file in one step."""
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).chmod(0o644)  # workers may be other users
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise


def _digest(key: str, value: bytes) -> bytes:
    """Return the digest of a value under its key, so that a file under another name is refused."""
    return hashlib.sha256(key.encode() + b"\n" + value).hexdigest().encode()
