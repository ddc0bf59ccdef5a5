"""Labelled samples in the files of a folder: arrays, pictures and sounds."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.samples import sounds
from ethosgen.samples.files import load_array, stack_inputs
from ethosgen.samples.pictures import SUFFIXES, Preparation, meaning, read_picture, require_usable
from ethosgen.samples.quantizing import quantized
from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]

ARRAYS = ".npy"
ALL = (ARRAYS, *SUFFIXES, sounds.SUFFIX)
KINDS = ", ".join(ALL)
_DIGITS = 9
"""The most digits of a label."""


@dataclass(frozen=True)
class LabelledSteps:
    """Steps of samples with a label and a number of steps for each sample, and classes' names.

    `note` describes the conversion of pixels or of a sound's values, "" without any.
    """

    steps: Array
    labels: Array
    names: tuple[str, ...]
    lengths: tuple[int, ...]
    note: str


def read_folder(
    path: Path,
    tensor: Tensor,
    table: Path | None,
    names: tuple[str, ...],
    preparation: Preparation,
    is_sequence: bool,
) -> LabelledSteps:
    """Read the files of a folder.

    Their labels are in a table (.csv) with lines FILE,LABEL; without one, the folder has a
    subfolder for each class. `names` are the classes' names in order, if known. Each array has one
    sample or several; with `is_sequence` one, of several steps.
    """
    if table is None:
        files, names = _by_class(path, names)
    else:
        files, names = _by_table(path, table)
    has_pictures = any(_is_picture(file) for file, _ in files)
    if has_pictures:
        require_usable(tensor, preparation)
    parts: list[Array] = []
    labels: list[int] = []
    rates: set[int] = set()
    for file, label in files:
        part, rate_hz = _read(file, tensor, preparation, is_sequence)
        parts.append(part)
        rates.add(rate_hz)
        if parts[-1].shape[1:] != parts[0].shape[1:]:
            raise InputError(f"{path}: its files hold samples of different shapes")
        labels += [label] * (1 if is_sequence else len(parts[-1]))
    rates.discard(0)
    if len(rates) > 1:
        few, many = min(rates), max(rates)
        raise InputError(f"{path}: has sounds of {few:,} Hz and of {many:,} Hz; resample them")
    notes = [meaning(tensor, preparation)] if has_pictures else []
    notes += (sounds.meaning(tensor, rate_hz) for rate_hz in rates)
    return LabelledSteps(
        np.concatenate(parts),
        np.array(labels, np.int64),
        names,
        tuple(map(len, parts)) if is_sequence else (1,) * len(labels),
        "; ".join(notes),
    )


def _is_picture(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES


def _read(
    file: Path, tensor: Tensor, preparation: Preparation, is_sequence: bool
) -> tuple[Array, int]:
    """Return a file's samples, stacked, and the rate of a sound in Hz, 0 for others."""
    if _is_picture(file):
        return read_picture(file, tensor, preparation)[np.newaxis], 0
    if file.suffix.lower() == sounds.SUFFIX:
        sound = sounds.read_sound(file)
        steps = sounds.as_steps(file, sound, tensor, is_sequence, preparation.pad)
        return steps, sound.rate_hz
    values = load_array(file)
    try:
        array = quantized(values, tensor)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    return stack_inputs(file, [tensor], {tensor.name: array}, "input")[tensor.name], 0


def _by_class(path: Path, names: tuple[str, ...]) -> tuple[list[tuple[Path, int]], tuple[str, ...]]:
    """Return the files in a folder's subfolders with their labels, and the classes' names."""
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    labels, names = _number(path, [folder.name for folder in folders], names)
    files = [
        (file, label)
        for folder, label in zip(folders, labels, strict=True)
        for file in sorted(folder.iterdir())
        if file.suffix.lower() in ALL
    ]
    if not files:
        raise InputError(
            f"{path}: has no files ({KINDS}) in subfolders, one for each class; or name a table of "
            "files and labels with --labels FILE.csv"
        )
    return files, names


def _number(
    path: Path, folders: Sequence[str], names: tuple[str, ...]
) -> tuple[list[int], tuple[str, ...]]:
    """Return each folder's label, and the classes' names; folders named by numbers are labels."""
    if not names and folders and all(name.isdecimal() for name in folders):
        return [_number_of(name, path) for name in folders], ()
    names = names or tuple(folders)
    unknown = next((name for name in folders if name not in names), None)
    if unknown is not None:
        raise InputError(f"{path}: no class is called '{unknown}'; add it to --labels")
    return [names.index(name) for name in folders], names


def _number_of(label: str, where: Path) -> int:
    """Return a label's number; InputError if no network has so many classes."""
    if len(label) > _DIGITS:
        raise InputError(f"{where}: the label {label[:_DIGITS]}... is larger than any class")
    return int(label)


def _by_table(path: Path, table: Path) -> tuple[list[tuple[Path, int]], tuple[str, ...]]:
    """Return the files that a table lists with their labels, and the classes' names."""
    rows = list(_rows(table))
    texts = [label for _, label in rows]
    is_numbers = all(label.isdecimal() for label in texts)
    names = () if is_numbers else tuple(sorted(set(texts)))
    files = []
    for (line, name), label in rows:
        file = path / name
        if file.suffix.lower() not in ALL or not file.is_file():
            raise InputError(f"{table}, line {line}: '{file}' is not a file of these: {KINDS}")
        files.append((file, _number_of(label, table) if is_numbers else names.index(label)))
    return files, names


def _rows(table: Path) -> Iterator[tuple[tuple[int, str], str]]:
    """Yield a line's number and file, and its label; a header line without a file is skipped."""
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"{table}: not a readable table with lines FILE,LABEL") from None
    if rows and [cell.strip().lower() for cell in rows[0][1]] == ["file", "label"]:
        rows = rows[1:]
    if not rows:
        raise InputError(f"{table}: has no lines FILE,LABEL")
    for number, row in rows:
        if len(row) != 2 or not all(cell.strip() for cell in row):
            raise InputError(f"{table}, line {number}: must be FILE,LABEL")
        yield (number, row[0].strip()), row[1].strip()
