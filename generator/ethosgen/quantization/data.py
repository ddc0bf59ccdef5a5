"""Samples for calibration and tests, in each form of labelled data that `accuracy` takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.samples.files import OPEN, load_array, load_samples, read_archive, samples_of
from ethosgen.samples.labelled import DATA, LABELS, load_labelled
from ethosgen.samples.pictures import AS_IT_IS, Preparation
from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

Array = np.ndarray[Any, Any]
Samples = Sequence[Mapping[str, Array]]


@dataclass(frozen=True)
class CalibrationData:
    """Samples with known sizes, and the class of each if the data have it."""

    samples: Samples
    labels: Array | None = None


def read_data(
    path: Path,
    inputs: Sequence[Tensor],
    labels: Path | None,
    preparation: Preparation = AS_IT_IS,
) -> CalibrationData:
    """Read samples, and their labels from a separate file or from the same data.

    InputError names the file and the fault.
    """
    if path.is_dir() and _is_labelled(path, labels):
        data = _read_labelled(path, inputs, labels, preparation)
    else:
        if preparation != AS_IT_IS:
            raise InputError(
                f"{path}: --mean, --std, --resize and --pad prepare pictures and sounds in a "
                "folder; arrays are taken as they are"
            )
        data = _read_arrays(path, inputs)
    if labels is not None and labels.suffix.lower() not in (".csv", ".txt"):
        data = replace(data, labels=_labels(labels, len(data.samples)))
    elif labels is not None and data.labels is None:
        raise InputError(
            f"{labels}: the classes' names or a table of files go with a folder of labelled files; "
            f"for {path} pass the labels as FILE.npy"
        )
    _require_finite(path, data.samples)
    return data


def _is_labelled(path: Path, labels: Path | None) -> bool:
    """Return whether a folder has a folder for each class, or a table of its files."""
    if labels is not None and labels.suffix.lower() == ".csv":
        return True
    return not any(path.glob("*.npy")) and any(entry.is_dir() for entry in path.iterdir())


def _read_labelled(
    path: Path, inputs: Sequence[Tensor], labels: Path | None, preparation: Preparation
) -> CalibrationData:
    closed = [
        replace(tensor, shape=(1, *tensor.shape[1:])) if tensor.shape[:1] == (OPEN,) else tensor
        for tensor in inputs
    ]
    vague = next((tensor.name for tensor in closed if OPEN in tensor.shape), None)
    if vague is not None:
        raise InputError(
            f"{path}: input '{vague}' leaves sizes open, which a folder of files cannot settle; "
            "pass the samples as an .npz file"
        )
    labelled = load_labelled(path, closed, labels, preparation=preparation)
    return CalibrationData(
        [labelled.steps(index)[0] for index in range(len(labelled))], labelled.labels
    )


def _read_arrays(path: Path, inputs: Sequence[Tensor]) -> CalibrationData:
    """Read a folder of .npy files, or an archive, which may also hold labels."""
    if path.is_dir():
        return CalibrationData(load_samples(path, inputs))
    arrays, wanted = read_archive(path), {tensor.name for tensor in inputs}
    labels = arrays.pop(LABELS) if LABELS in arrays and LABELS not in wanted else None
    if len(inputs) == 1 and DATA in arrays and DATA not in wanted:
        arrays[inputs[0].name] = arrays.pop(DATA)
    samples = samples_of(arrays, inputs, path)
    if labels is None:
        return CalibrationData(samples)
    return CalibrationData(samples, _as_classes(path, labels, len(samples)))


def _labels(path: Path, count: int) -> Array:
    return _as_classes(path, load_array(path), count)


def _as_classes(path: Path, labels: Array, count: int) -> Array:
    """Return the classes of `count` samples; InputError if the file does not hold them."""
    if labels.dtype.kind not in "iu":
        raise InputError(f"{path}: labels are the numbers of classes, but it holds {labels.dtype}")
    if labels.shape not in ((count,), (count, 1)):
        raise InputError(
            f"{path}: has shape {labels.shape}, but must have ({count},), a label for each sample"
        )
    return labels.reshape(-1)


def _require_finite(path: Path, samples: Samples) -> None:
    for number, sample in enumerate(samples):
        for name, array in sample.items():
            if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
                raise InputError(
                    f"{path}: sample {number} of input '{name}' holds values that are not finite "
                    "(NaN or infinite)"
                )
