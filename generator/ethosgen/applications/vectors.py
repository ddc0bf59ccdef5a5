"""Reads streams of vectors from files that loggers and scripts write."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.samples.files import load_array, read_archive
from ethosgen.values.errors import InputError, reason_of
from ethosgen.values.grammar import counted

Array = np.ndarray[Any, Any]


def load_vectors(path: Path, size: int) -> list[Array]:
    """Return a file's rows as vectors of `size` floats.

    A file with one column is a signal, which is cut into vectors. InputError for any other file, or
    one whose rows have another size.
    """
    if path.suffix == ".csv":
        values = _read_csv(path)
    elif path.suffix == ".npy":
        values = load_array(path)
    elif path.suffix == ".npz":
        values = _read_npz(path)
    else:
        raise InputError(
            f"'{path}' is not a .csv, .npy or .npz file, the formats of streams of vectors"
        )
    if values.dtype.kind not in "fiu":
        raise InputError(f"'{path}' holds {values.dtype}, but a sensor gives numbers")
    rows = values.reshape(len(values) if values.ndim else 1, -1).astype(np.float32)
    if rows.shape[1] == 1 and size != 1:
        rows = rows[: len(rows) // size * size].reshape(-1, size)
        if not len(rows):
            raise InputError(
                f"'{path}' has {counted(len(values), 'value')}, but a vector has {size:,}"
            )
    if rows.shape[1] != size:
        raise InputError(
            f"'{path}' has rows of {counted(rows.shape[1], 'value')}, but the network takes "
            f"vectors of {size:,}"
        )
    if not np.isfinite(rows).all():
        raise InputError(f"'{path}' has values that are not finite; remove them")
    return list(rows)


def _read_csv(path: Path) -> Array:
    """Return the numbers of a .csv file; a first line of words is a header."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read '{path}': {reason_of(error)}") from None
    rows = [(number, line.split(",")) for number, line in enumerate(lines, 1) if line.strip()]
    if rows and not _is_number(rows[0][1][0]):
        rows = rows[1:]
    if not rows:
        raise InputError(f"'{path}' has no numbers")
    for number, cells in rows:
        wrong = next((cell for cell in cells if not _is_number(cell)), None)
        if wrong is not None:
            raise InputError(f"line {number} of '{path}' has '{wrong.strip()}' instead of a number")
        endless = next((cell for cell in cells if not math.isfinite(float(cell))), None)
        if endless is not None:
            raise InputError(
                f"line {number} of '{path}' has '{endless.strip()}', but a sensor gives finite "
                "numbers; remove the line, or put a number there"
            )
        if len(cells) != len(rows[0][1]):
            raise InputError(
                f"line {number} of '{path}' has {counted(len(cells), 'value')}, but the first has "
                f"{len(rows[0][1])}"
            )
    return np.array([[float(cell) for cell in cells] for _, cells in rows])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_npz(path: Path) -> Array:
    """Return the one array of an .npz file."""
    arrays = list(read_archive(path).values())
    if len(arrays) != 1:
        raise InputError(
            f"'{path}' has {counted(len(arrays), 'array')}, but a stream of vectors is one; pass "
            "an .npz with one array"
        )
    return np.asarray(arrays[0])
