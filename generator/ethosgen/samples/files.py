"""Inputs and outputs as .npz files: one array per tensor, samples along the first axis."""

import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.network import Tensor
from ethosgen.values.outcome import Arrays

_DAMAGE = (zipfile.BadZipFile, zlib.error)


def load_samples(path: Path, inputs: Sequence[Tensor]) -> list[Arrays]:
    """Read samples from `path`: one array for each input, by name, of that input's dtype.

    An array has the input's shape (one sample), or one more axis in front, N, for N samples. For an
    input whose first dimension is 1, (N, rest of the shape) is also accepted. InputError names the
    wrong array and the fault.
    """
    arrays = _read_npz(path)
    names = [tensor.name for tensor in inputs]
    wrong = sorted(set(arrays) - set(names))
    if wrong:
        raise InputError(f"{path}: no input is called '{wrong[0]}'; the inputs are: {_list(names)}")
    batches = {}
    for tensor in inputs:
        if tensor.name not in arrays:
            raise InputError(
                f"{path}: input '{tensor.name}' is missing; it must hold {_list(names)}"
            )
        batches[tensor.name] = _as_batch(path, tensor, arrays[tensor.name])
    counts = {name: len(batch) for name, batch in batches.items()}
    if len(set(counts.values())) > 1:
        raise InputError(f"{path}: the inputs hold different numbers of samples: {counts}")
    count = next(iter(counts.values()), 0)
    if count == 0:
        raise InputError(f"{path}: has no samples")
    return [{name: batch[i] for name, batch in batches.items()} for i in range(count)]


def save_samples(path: Path, samples: Sequence[Arrays]) -> None:
    """Write samples to `path` as one array per tensor, of shape (N, *shape).

    A sample without outputs, because the network waits for more inputs, is 0.
    """
    if path.suffix != ".npz":
        raise InputError(f"{path}: an output file must end in .npz")
    like = next(filter(None, samples), {})
    stacked: dict[str, Any] = {
        name: np.stack([s.get(name, np.zeros_like(array)) for s in samples])
        for name, array in like.items()
    }
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


def _read_npz(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, TypeError, KeyError, RuntimeError, *_DAMAGE):
        raise InputError(
            f"{path}: not an .npz file of plain arrays; write it with numpy.savez(path, name=array)"
        ) from None


def _as_batch(path: Path, tensor: Tensor, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype != np.dtype(tensor.dtype):
        raise InputError(
            f"{path}: input '{tensor.name}' is {array.dtype}, but must be {tensor.dtype}"
        )
    shape = tensor.shape
    if array.shape == shape:
        return array[np.newaxis]
    if array.shape[1:] == shape:
        return array
    if shape[:1] == (1,) and array.ndim == len(shape) and array.shape[1:] == shape[1:]:
        return array.reshape(len(array), *shape)
    raise InputError(
        f"{path}: input '{tensor.name}' has shape {array.shape}, but must have {shape}, "
        f"or (N, {', '.join(map(str, shape))}) for N samples"
    )
