"""Record a simulation: an entry for each operation, and the arrays of selected operations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.errors import InputError, cannot_write

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Entry:
    """One operation that ran. `read` and `written` map a memory to bytes; `macs` counts products.

    `number` counts an inference's operations from 0, over all partitions. `offset` is that of its
    command. `checksum` is the CRC-32 of the elements written, in NHWC order. `seconds` is the
    simulator's own time.
    """

    sample: int
    partition: str
    number: int
    offset: int
    name: str
    macs: int
    read: Mapping[str, int]
    written: Mapping[str, int]
    checksum: int
    seconds: float = field(compare=False)


class Trace:
    """Collects entries; `dumps` maps an operation's number to the .npz file for its arrays.

    Only the first sample is dumped.
    """

    def __init__(self, dumps: Mapping[int, Path] | None = None) -> None:
        self.entries: list[Entry] = []
        self._pending_dumps = dict(dumps or {})
        self._sample = -1
        self._partition = ""
        self._number = 0

    def begin_sample(self) -> None:
        """Record the start of an inference."""
        self._sample += 1
        self._number = 0

    def begin_partition(self, name: str) -> None:
        """Record the partition of the following operations."""
        self._partition = name

    @property
    def wants_arrays(self) -> bool:
        """Whether the next operation's arrays are to be dumped."""
        return self._number in self._pending_dumps

    def add(
        self,
        *,
        offset: int,
        name: str,
        macs: int,
        read: Mapping[str, int],
        written: Mapping[str, int],
        checksum: int,
        seconds: float,
        arrays: Callable[[], Arrays],
    ) -> None:
        """Record the end of an operation; `arrays` returns its arrays, if they are to be dumped.

        Raises InputError if they cannot be written to their file.
        """
        sample = max(self._sample, 0)
        where = (sample, self._partition, self._number)
        self.entries.append(Entry(*where, offset, name, macs, read, written, checksum, seconds))
        path = self._pending_dumps.pop(self._number, None)
        if path is not None:
            _save(path, arrays())
        self._number += 1

    def check_dumps(self) -> None:
        """Raise InputError if an operation to dump never ran."""
        if self._pending_dumps:
            wanted = min(self._pending_dumps)
            raise InputError(
                f"there is no operation {wanted} to dump; an inference has {self._number}, counted "
                "from 0 (--trace lists them)"
            )


def _save(path: Path, arrays: Arrays) -> None:
    partial = path.with_name(f".{path.name}.partial")
    everything: dict[str, Any] = dict(arrays)
    try:
        with partial.open("wb") as file:
            np.savez(file, **everything)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from None
