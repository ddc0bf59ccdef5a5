"""Calls TOSA's reference model; runs in its own environment and imports nothing of ethosgen."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
Answer = tuple[dict[str, Any], dict[str, Array]]


def run_model(request: Mapping[str, Any], arrays: Mapping[str, Array], folder: Path) -> Answer:
    """Return the outputs of each sample, and whether they are unpredictable."""
    import tosa_reference_model as model

    data = (folder / "network.tosa").read_bytes()
    outputs: dict[str, Array] = {}
    unpredictable = []
    for i in range(request["samples"]):
        inputs = [arrays[f"{i}.{j}"] for j in range(request["inputs"])]
        with tempfile.TemporaryFile() as prints:
            try:
                with _printing_to(prints):
                    results, status = model.run(data, inputs)
            except ValueError as error:
                raise ValueError(_reason(prints) or str(error)) from None
            if status == model.GraphStatus.TOSA_ERROR:
                raise ValueError(_reason(prints) or "it reports an error in the graph")
        unpredictable.append(status == model.GraphStatus.TOSA_UNPREDICTABLE)
        outputs |= {f"{i}.{j}": array for j, array in enumerate(results)}
    return {"unpredictable": unpredictable}, outputs


def find_version(request: Mapping[str, Any], _arrays: Mapping[str, Array], _folder: Path) -> Answer:
    """Return the installed version of a package."""
    return {"version": version(request["package"])}, {}


@contextlib.contextmanager
def _printing_to(prints: IO[bytes]) -> Iterator[None]:
    """Redirect what the model's C++ prints, a page of warnings for each error."""
    kept = os.dup(1), os.dup(2)
    os.dup2(prints.fileno(), 1)
    os.dup2(prints.fileno(), 2)
    try:
        yield
    finally:
        for number, copy in enumerate(kept, 1):
            os.dup2(copy, number)
            os.close(copy)


def _reason(prints: IO[bytes]) -> str:
    """Return the line after the first failed check, "" if there is none."""
    prints.seek(0)
    lines = prints.read().decode("utf-8", "replace").splitlines()
    checks = [after for line, after in pairwise(lines) if line.startswith("ERROR_IF")]
    return " ".join(checks[0].split()) if checks else ""
