"""Figures over many runs: accuracy on labelled data, and configurations side by side."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, Unpack

import numpy as np

from ethosgen.api.firmware import require_known
from ethosgen.api.networks import Array, NetworkLike, choice, files_of, watch_of
from ethosgen.samples.labelled import DATA, LABELS
from ethosgen.samples.pictures import Preparation
from ethosgen.studies import comparison
from ethosgen.studies.accuracy import SIMULATE, AccuracyRequest, measure_accuracy
from ethosgen.studies.comparison import ALL, DEFAULT_BOARD, ComparisonRequest
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.configurations import ComparisonReport
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.schedule import Strategy
from ethosgen.values.watch import Announce

_DATA, _LABELS = "data.npz", "labels.npy"
"""The files in which arrays go to the pipeline."""


class ComparisonOptions(TypedDict, total=False):
    """The command's options of what is compared, all with their defaults."""

    front: bool
    """Search for the Pareto front of each NPU and memory mode instead of trying each schedule."""
    build: bool
    """Also compile the firmware, for its sizes."""
    samples: int | None
    """The number of random samples; by default the network's size decides."""
    seed: int
    """The seed of the samples, by default 0."""
    processes: int
    """The number of processes that work at the same time, by default 1."""
    options: OffloadOptions


class AccuracyOptions(TypedDict, total=False):
    """The command's options of what runs and how it is judged, all with their defaults."""

    board: str | None
    """The board that a firmware is for."""
    npu: str | None
    """An NPU such as "ethos-u55-128", or "none" for the CPU alone; by default the board's."""
    output: str | None
    """The name or the index of the output to judge; a network with one needs none."""
    score: str | None
    """What makes a score of the outputs: "reconstruction", or the index of an element."""
    state: str
    """When a network's state is initial again: "reset", "sequence" or "stream"."""
    processes: int
    """The number of processes that work at the same time, by default 1."""
    options: OffloadOptions


def compare(
    *networks: NetworkLike,
    boards: Sequence[str] = (DEFAULT_BOARD,),
    npus: Sequence[str] = (ALL,),
    memory_modes: Sequence[str] = (),
    strategies: Sequence[str] = (Strategy.PERFORMANCE.value,),
    arena_limits: Sequence[int] = (),
    announce: Announce | None = None,
    **options: Unpack[ComparisonOptions],
) -> ComparisonReport:
    """Compare networks on boards, NPUs and memory modes: `ethosgen compare`.

    The report's `results` has an entry for each combination, in order; its `as_json()` is a flat
    object, so `pandas.DataFrame(row.as_json() for row in report.results)` is the table. A refused
    combination is a result with its reason. `arena_limits` are in bytes. The other options are
    those of ComparisonOptions; with several `processes` a script must guard its entry with
    `if __name__ == "__main__":`.
    """
    require_known(options, ComparisonOptions)
    options.setdefault("processes", 1)
    with files_of(networks) as (paths, reading):
        asked = ComparisonRequest(
            networks=paths,
            boards=_listed(boards),
            npus=_listed(npus),
            memory_modes=_listed(memory_modes),
            strategies=tuple(
                choice(Strategy, strategy, "strategies") for strategy in _listed(strategies)
            ),
            arena_limits=tuple(arena_limits),
            reading=reading,
            **options,
        )
        return comparison.compare(asked, watch_of(announce))


def accuracy(
    network: NetworkLike,
    data: str | os.PathLike[str] | Array | Mapping[str, Array],
    labels: str | os.PathLike[str] | Array | Sequence[int] | None = None,
    *,
    on: Sequence[str] = (SIMULATE,),
    mean: Sequence[float] = (),
    std: Sequence[float] = (),
    resize: str | None = None,
    pad: bool = False,
    tops: Sequence[int] = (),
    results: str | os.PathLike[str] | None = None,
    announce: Announce | None = None,
    **options: Unpack[AccuracyOptions],
) -> AccuracyReport:
    """Measure a network's accuracy on labelled data: `ethosgen accuracy`.

    `data` is a file or folder as for the command, or an array for each input, with the labels in
    `labels`. Floats are quantized as in TFLite; `mean`, `std` and `resize` are for pictures. The
    figures come from the first target of `on`, and the others must agree with it in each sample.
    The other options are those of AccuracyOptions; with several `processes` a script must guard its
    entry with `if __name__ == "__main__":`.
    """
    require_known(options, AccuracyOptions)
    options.setdefault("processes", 1)
    with (
        files_of([network]) as ((path,), reading),
        TemporaryDirectory(prefix="ethosgen-") as folder,
        _speaking_of_arrays(Path(folder)),
    ):
        sources = _data_files(data, labels, Path(folder))
        asked = AccuracyRequest(
            path,
            *sources,
            Preparation(tuple(mean), tuple(std), resize, pad),
            _listed(on),
            reading=reading,
            tops=tuple(dict.fromkeys((1, *tops))),
            results=None if results is None else Path(results),
            **options,
        )
        return measure_accuracy(asked, watch_of(announce))


def _listed(values: Sequence[str]) -> tuple[str, ...]:
    """Return values as a sequence, also a single one."""
    return (values,) if isinstance(values, str) else tuple(values)


@contextmanager
def _speaking_of_arrays(folder: Path) -> Iterator[None]:
    """Keep temporary files out of messages about arrays in memory."""
    try:
        yield
    except InputError as error:
        text = str(error).replace(str(folder / _DATA), "the arrays")
        raise InputError(text.replace(str(folder / _LABELS), "the labels")) from None


def _numbers(what: str, value: object) -> Array:
    """Return a value as an array of numbers; InputError names it."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"{what}: the rows have different lengths; pass one array") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{what}: must be numbers, but the array is of {array.dtype}")
    return array


def _data_files(
    data: str | os.PathLike[str] | Array | Mapping[str, Array],
    labels: str | os.PathLike[str] | Array | Sequence[int] | None,
    folder: Path,
) -> tuple[Path, Path | None]:
    """Return the files of labelled data; arrays in memory get theirs in a folder."""
    if isinstance(data, (str, os.PathLike)):
        if labels is None or isinstance(labels, (str, os.PathLike)):
            return Path(data), None if labels is None else Path(labels)
        np.save(folder / _LABELS, _numbers("labels", labels))
        return Path(data), folder / _LABELS
    if labels is None or isinstance(labels, (str, os.PathLike)):
        raise InputError("data in memory need their labels in memory: pass an array of integers")
    by_input = data if isinstance(data, Mapping) else {DATA: data}
    arrays: dict[str, Any] = {
        str(name): _numbers(f"input '{name}'", array) for name, array in by_input.items()
    }
    arrays[LABELS] = _numbers("labels", labels)
    np.savez(folder / _DATA, **arrays)
    return folder / _DATA, None
