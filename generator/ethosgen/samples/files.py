"""Inputs and outputs as .npz files: one array per tensor, samples along the first axis.

Inputs may also be a folder of .npy files: one for each input, named after it, or any number of them
for a network with one input.
"""

import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]

OPEN = -1
"""The size of a dimension that the network leaves open."""

_DAMAGE = (
    *(
        OSError,
        ValueError,
        EOFError,
        TypeError,
        KeyError,
        RuntimeError,
        MemoryError,
        ArithmeticError,
    ),
    *(SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""What numpy raises for damaged files; it reads headers as Python, after old Python's rules too."""


def load_samples(path: Path, inputs: Sequence[Tensor], what: str = "input") -> list[Arrays]:
    """Read samples from `path`: one array for each input, by name, of that input's dtype.

    Messages call the tensors `what`; they may also be a network's outputs.

    An array has the input's shape (one sample), or one more axis in front, N, for N samples. For an
    input whose first dimension is 1, (N, rest of the shape) is also accepted. An open dimension of
    an input, -1, has the array's size; if it is the first, it is 1. InputError names the wrong
    array and the fault.
    """
    if path.is_dir():
        batches = _read_folder(path, inputs, what)
    else:
        batches = stack_inputs(path, inputs, read_archive(path), what)
    return _split(path, batches, what)


def samples_of(
    arrays: Mapping[str, Array], inputs: Sequence[Tensor], origin: Path | str = "inputs"
) -> list[Arrays]:
    """Return samples from arrays in memory, one for each input, as `load_samples` from a file.

    Messages call their source `origin`.
    """
    return _split(origin, stack_inputs(origin, inputs, arrays, "input"), "input")


def stack_samples(samples: Sequence[Arrays]) -> dict[str, Array]:
    """Return an array of shape (N, *shape) for each tensor of N samples.

    A sample without outputs, because the network waits for more inputs, is 0.
    """
    like = next(filter(None, samples), {})
    return {
        name: np.stack([sample.get(name, np.zeros_like(array)) for sample in samples])
        for name, array in like.items()
    }


def _split(path: Path | str, batches: Mapping[str, Array], what: str) -> list[Arrays]:
    """Return the samples of stacked arrays; InputError if these disagree in their number."""
    counts = {name: len(batch) for name, batch in batches.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"{path}: the {what}s hold different numbers of samples: {counts}")
    count = next(iter(counts.values()), 0)
    if count == 0:
        raise InputError(f"{path}: has no samples")
    return [{name: batch[i] for name, batch in batches.items()} for i in range(count)]


def load_array(path: Path) -> Array:
    """Read the array of an .npy file; InputError for other files."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return _read_npy(path)


def save_samples(path: Path, samples: Sequence[Arrays]) -> None:
    """Write samples to `path` as one array per tensor, as `stack_samples` makes them."""
    if path.suffix != ".npz":
        raise InputError(f"{path}: an output file must end in .npz")
    stacked: dict[str, Any] = stack_samples(samples)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            np.savez(file, **stacked)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):  # removing the file may fail too
            partial.unlink(missing_ok=True)
        raise cannot_write(path, error) from None


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def stack_inputs(
    path: Path | str, inputs: Sequence[Tensor], arrays: Mapping[str, Array], what: str
) -> dict[str, Array]:
    """Return each input's samples, stacked; InputError for a wrong name, type or shape.

    Messages call the arrays' origin `path`.
    """
    names = [tensor.name for tensor in inputs]
    wrong = sorted(set(arrays) - set(names))
    if wrong:
        raise InputError(
            f"{path}: no {what} is called '{wrong[0]}'; the {what}s are: {_list(names)}"
        )
    missing = next((name for name in names if name not in arrays), None)
    if missing is not None:
        raise InputError(f"{path}: {what} '{missing}' is missing; it must hold {_list(names)}")
    return {tensor.name: _as_batch(path, tensor, arrays[tensor.name], what) for tensor in inputs}


def _read_folder(path: Path, inputs: Sequence[Tensor], what: str) -> dict[str, Array]:
    """Return the samples in a folder's .npy files, stacked, by input."""
    files = sorted(path.glob("*.npy"))
    if not files:
        raise InputError(f"{path}: has no .npy files")
    stems = {file.stem for file in files}
    if len(inputs) != 1 or inputs[0].name in stems:
        return stack_inputs(path, inputs, {file.stem: _read_npy(file) for file in files}, what)
    only = inputs[0]
    parts = [_as_batch(file, only, _read_npy(file), what) for file in files]
    if len({part.shape[1:] for part in parts}) > 1:
        raise InputError(f"{path}: its files hold samples of different shapes")
    return {only.name: np.concatenate(parts)}


def _read_npy(path: Path) -> Array:
    try:
        with path.open("rb") as file, warnings.catch_warnings(action="ignore"):
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except _DAMAGE:
        raise InputError(
            f"{path}: not an .npy file of a plain array; write it with numpy.save(path, array)"
        ) from None


def read_archive(path: Path) -> dict[str, Array]:
    """Read the arrays of an .npz file by name; InputError for other files."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            np.load(path, allow_pickle=False) as archive,
        ):
            return {name: _plain(archive[name]) for name in archive.files}
    except _DAMAGE:
        raise InputError(
            f"{path}: not an .npz file of plain arrays; write it with numpy.savez(path, name=array)"
        ) from None


def _plain(member: Any) -> Array:
    """Return an archive's member; ValueError for bytes, which numpy gives if it is not an array."""
    if not isinstance(member, np.ndarray):
        raise ValueError("not an array")
    return member


def _as_batch(path: Path | str, tensor: Tensor, array: Array, what: str) -> Array:
    if array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"{path}: {what} '{tensor.name}' is {array.dtype}, but must be {tensor.dtype}"
        )
    shape = _settled(tensor.shape, array.shape)
    if array.shape == shape:
        return array[np.newaxis]
    if array.shape[1:] == shape:
        return array
    if shape[:1] == (1,) and array.ndim == len(shape) and array.shape[1:] == shape[1:]:
        return array.reshape(len(array), *shape)
    sizes = ["any" if size == OPEN else str(size) for size in shape]
    rest = "".join(f", {size}" for size in sizes)
    only = "," if len(sizes) == 1 else ""
    raise InputError(
        f"{path}: {what} '{tensor.name}' has shape {array.shape}, but must have "
        f"({', '.join(sizes)}{only}), or (N{rest}) for N samples"
    )


def _settled(shape: tuple[int, ...], stored: tuple[int, ...]) -> tuple[int, ...]:
    """Return an input's shape with the sizes that an array gives to its open dimensions."""
    if len(stored) not in (len(shape), len(shape) + 1):
        return shape
    own = stored[len(stored) - len(shape) :]
    is_batch = len(stored) == len(shape)
    sizes = (
        wanted if wanted != OPEN else 1 if axis == 0 and is_batch else size
        for axis, (wanted, size) in enumerate(zip(shape, own, strict=True))
    )
    return tuple(sizes)
