"""Labelled data: an .npz file, or a folder of arrays, pictures or sounds."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.samples.files import load_array, read_archive, stack_inputs
from ethosgen.samples.folders import read_folder
from ethosgen.samples.pictures import AS_IT_IS, Preparation
from ethosgen.samples.quantizing import quantized
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]

DATA, LABELS = "x", "y"
"""The names that an .npz file may give to the only input, and gives to the labels."""


@dataclass(frozen=True)
class Labelled:
    """Samples in the inputs' types, a label for each, and the classes' names where data have any.

    `note` describes the conversion of pictures' pixels or sounds' values.

    The first axis of each array counts the steps of all samples in order. `lengths` are the
    samples' numbers of steps; None means one each.
    """

    inputs: Mapping[str, Array]
    labels: Array
    names: tuple[str, ...] = ()
    lengths: tuple[int, ...] | None = None
    note: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    def steps(self, index: int) -> list[Arrays]:
        """Return one sample's inputs, step by step."""
        first, last = self._bounds[index : index + 2]
        return [
            {name: array[step] for name, array in self.inputs.items()}
            for step in range(first, last)
        ]

    @cached_property
    def _bounds(self) -> list[int]:
        """Return each sample's first step, and the number of all steps."""
        return [0, *accumulate(self.lengths or [1] * len(self))]

    def digest(self) -> str:
        """Return the SHA-256 of inputs, labels and lengths."""
        total = hashlib.sha256(repr(self.lengths).encode())
        for name, array in (*sorted(self.inputs.items()), ("labels", self.labels)):
            total.update(f"{len(name)} {name} {array.dtype} {array.shape} ".encode())
            total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()


def load_labelled(
    path: Path,
    inputs: Sequence[Tensor],
    labels: Path | None,
    is_sequence: bool = False,
    preparation: Preparation = AS_IT_IS,
) -> Labelled:
    """Read labelled data; InputError names the file and the fault.

    `labels` is an .npy file with the samples' labels, a text file with the name of a class in each
    line, or a table (.csv) of the files in a folder. With `is_sequence`, each sample is a sequence
    of inputs: the second axis of an archive's array, or all of an .npy file in a folder.
    """
    suffix = labels.suffix.lower() if labels is not None else ""
    names = _read_names(labels) if labels is not None and suffix == ".txt" else ()
    table = labels if suffix == ".csv" else None
    answers = load_array(labels) if labels is not None and suffix not in (".txt", ".csv") else None
    if path.is_dir():
        if answers is not None:
            raise InputError(
                f"{path}: the subfolders of a folder are its labels; pass the names of the classes "
                "as a .txt file with --labels, or a table of files and labels as .csv"
            )
        return _read_folder(path, inputs, table, names, preparation, is_sequence)
    if table is not None:
        raise InputError(f"{table}: a table of files and labels goes with a folder as --data")
    if preparation != AS_IT_IS:
        raise InputError(
            f"{path}: --mean, --std, --resize and --pad prepare pictures and sounds in a folder; "
            "the arrays of an archive are taken as they are"
        )
    arrays = read_archive(path)
    wanted = {tensor.name for tensor in inputs}
    if LABELS in arrays and LABELS not in wanted:
        inside = arrays.pop(LABELS)
        answers = inside if answers is None else answers
    if len(inputs) == 1 and DATA in arrays and DATA not in wanted:
        arrays[inputs[0].name] = arrays.pop(DATA)
    if answers is None:
        raise InputError(
            f"{path}: has no labels; add them as '{LABELS}', or name --labels FILE.npy"
        )
    lengths = None
    if is_sequence:
        arrays, lengths = _flatten(path, arrays)
    stacked = stack_inputs(path, inputs, _quantize(path, arrays, inputs), "input")
    each = lengths[0] if lengths else 1
    counts = {name: len(batch) // each for name, batch in stacked.items()}
    for name, count in counts.items():
        if count != len(answers.reshape(-1)):
            raise InputError(
                f"{path}: input '{name}' has {counted(count, 'sample')}, but there are "
                f"{counted(answers.size, 'label')}"
            )
    return Labelled(stacked, _as_labels(path, answers), names, lengths)


def _flatten(path: Path, arrays: Mapping[str, Array]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return the steps of all sequences (samples, steps, …) in order, and their lengths."""
    sizes = {array.shape[:2] for array in arrays.values()}
    if len(sizes) != 1 or any(array.ndim < 3 or not array.size for array in arrays.values()):
        shapes = ", ".join(f"'{name}' is {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"{path}: with sequences, each array must have the shape (samples, steps, an input's "
            f"shape), but {shapes}"
        )
    ((count, length),) = sizes
    flat = {name: array.reshape(-1, *array.shape[2:]) for name, array in arrays.items()}
    return flat, (length,) * count


def _quantize(
    path: Path, arrays: Mapping[str, Array], inputs: Sequence[Tensor]
) -> dict[str, Array]:
    """Return the arrays in their inputs' types; one without an input stays, to be refused."""
    tensors = {tensor.name: tensor for tensor in inputs}
    try:
        return {
            name: quantized(array, tensors[name]) if name in tensors else array
            for name, array in arrays.items()
        }
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _as_labels(path: Path, values: Array) -> Array:
    labels = values.reshape(-1)
    if labels.dtype.kind not in "iub" or not labels.size or int(labels.min()) < 0:
        raise InputError(
            f"{path}: labels must be integers from 0, one for each sample, but are {values.dtype} "
            f"{list(values.shape)}"
        )
    return labels.astype(np.int64)


def _read_names(path: Path) -> tuple[str, ...]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: not a readable text file with a class in each line") from None
    names = tuple(line.strip() for line in lines if line.strip())
    if not names or len(set(names)) < len(names):
        raise InputError(f"{path}: must name each class once, one in each line")
    return names


def _read_folder(
    path: Path,
    inputs: Sequence[Tensor],
    table: Path | None,
    names: tuple[str, ...],
    preparation: Preparation,
    is_sequence: bool,
) -> Labelled:
    if len(inputs) != 1:
        raise InputError(f"{path}: a folder has data for one input, but there are {len(inputs)}")
    labelled = read_folder(path, inputs[0], table, names, preparation, is_sequence)
    lengths = labelled.lengths if is_sequence else None
    steps = {inputs[0].name: labelled.steps}
    return Labelled(steps, labelled.labels, labelled.names, lengths, labelled.note)
