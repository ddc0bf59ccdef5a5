"""Figures over many runs: accuracy on labelled data, and configurations side by side."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict, Unpack

import numpy as np

from ethosgen.api.firmware import require_known
from ethosgen.api.networks import Array, NetworkLike, choice, files_of
from ethosgen.api.pictures import ComparedConfigurations, plotted
from ethosgen.api.progress import watch_of
from ethosgen.samples.labelled import DATA, LABELS
from ethosgen.samples.pictures import Preparation
from ethosgen.studies import comparison
from ethosgen.studies.accuracy import SIMULATE, AccuracyRequest, measure_accuracy
from ethosgen.studies.comparison import ALL, DEFAULT_BOARD, ComparisonRequest
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.schedule import Strategy
from ethosgen.values.watch import Announce

_DATA, _LABELS = "data.npz", "labels.npy"
"""The files in which arrays go to the pipeline."""


class ComparisonOptions(TypedDict, total=False):
    """The command's options for the configurations, all with their defaults."""

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
    """The division of the networks between NPU and CPU."""
    board: str
    """One board, in place of `boards`."""
    npu: str
    """One NPU, in place of `npus`."""
    memory_mode: str
    """One memory mode, in place of `memory_modes`."""
    strategy: str
    """One order, in place of `strategies`."""


class AccuracyOptions(TypedDict, total=False):
    """The command's options for the run and its judgement, all with their defaults."""

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
    """The division of the network between NPU and CPU."""


def compare(
    *networks: NetworkLike,
    boards: Sequence[str] = (),
    npus: Sequence[str] = (),
    memory_modes: Sequence[str] = (),
    strategies: Sequence[str] = (),
    arena_limits: Sequence[int] = (),
    announce: Announce | None = None,
    **options: Unpack[ComparisonOptions],
) -> ComparedConfigurations:
    """Compare networks on boards, NPUs and memory modes: `ethosgen compare`.

    The report's `results` has an entry for each combination, in order; a refused combination is a
    result with its reason. `to_dataframe()` is the table, and `plot()` draws it. With several
    `processes` a script must guard its entry with `if __name__ == "__main__":`.

    Args:
        *networks: paths, or what `read` returned.
        boards: the boards' names or files, by default the Corstone-300; `board` for one.
        npus: NPUs such as "ethos-u55-128", "none" for the CPU alone, or "all", which is the
            default; `npu` for one.
        memory_modes: the memory modes, or "all"; by default the board's; `memory_mode` for one.
        strategies: orders of Vela's, "performance" (the default) or "size"; `strategy` for one.
        arena_limits: limits of the arena in bytes.
        announce: receives a line for each phase, such as `print`.
        **options: the options of ComparisonOptions.
    """
    require_known(options, ComparisonOptions)
    rest: dict[str, Any] = {"processes": 1, **options}
    with files_of(networks) as (paths, reading):
        asked = ComparisonRequest(
            networks=paths,
            boards=_several("board", boards, rest) or (DEFAULT_BOARD,),
            npus=_several("npu", npus, rest) or (ALL,),
            memory_modes=_several("memory_mode", memory_modes, rest),
            strategies=tuple(
                choice(Strategy, strategy, "strategies")
                for strategy in _several("strategy", strategies, rest)
                or (Strategy.PERFORMANCE.value,)
            ),
            arena_limits=tuple(arena_limits),
            reading=reading,
            **rest,
        )
        return plotted(ComparedConfigurations, comparison.compare(asked, watch_of(announce)))


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

    Floats are quantized as in TFLite. With several `processes` a script must guard its entry with
    `if __name__ == "__main__":`.

    Args:
        network: the path of a file, or what `read` returned.
        data: a file or folder as for the command, or an array for each input.
        labels: the labels, for data that have none: a file, or an array of integers.
        on: what runs the network, such as "simulate", "tflm" or "qemu". The figures come from the
            first, and the others must agree with it in each sample.
        mean: the mean of each channel, which is subtracted from pictures.
        std: the deviation of each channel, by which pictures are divided.
        resize: how pictures get the input's size.
        pad: add silence to sounds that are shorter than the input, and cut off the end of longer
            ones.
        tops: values of k for the accuracy within the best k.
        results: the file for the result of each sample.
        announce: receives a line for each phase, such as `print`.
        **options: the options of AccuracyOptions.
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


def _several(singular: str, values: Sequence[str], options: dict[str, Any]) -> tuple[str, ...]:
    """Return the values of an option, which is plural here; `singular` takes a single value."""
    if singular not in options:
        return _listed(values)
    single = options.pop(singular)
    if values:
        raise InputError(f"pass `{singular}` for one value or the plural for several, not both")
    return () if single is None else _listed(single)


def _listed(values: Sequence[str]) -> tuple[str, ...]:
    """Return values as a sequence, even a single one."""
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
