"""Calls TOSA's reference model; runs in its own environment and imports nothing from ethosgen."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np

Array = np.ndarray[Any, Any]
Answer = tuple[dict[str, Any], dict[str, Array]]

FILE = "network.tosa"


def run_model(request: Mapping[str, Any], arrays: Mapping[str, Array], folder: Path) -> Answer:
    """Return the outputs of each sample, and whether they are unpredictable."""
    outputs: dict[str, Array] = {}
    unpredictable = []
    run = _by_program if request["by_program"] else _in_process
    for i in range(request["samples"]):
        inputs = [arrays[f"{i}.{j}"] for j in range(len(request["inputs"]))]
        results, is_open = run(request, inputs, folder)
        unpredictable.append(is_open)
        outputs |= {f"{i}.{j}": array for j, array in enumerate(results)}
    return {"unpredictable": unpredictable}, outputs


def _in_process(
    _request: Mapping[str, Any], inputs: Sequence[Array], folder: Path
) -> tuple[Sequence[Array], bool]:
    import tosa_reference_model as model

    with tempfile.TemporaryFile() as prints:
        try:
            with _printing_to(prints):
                results, status = model.run((folder / FILE).read_bytes(), inputs)
        except ValueError as error:
            raise ValueError(_reason(_text(prints)) or str(error)) from None
        if status == model.GraphStatus.TOSA_ERROR:
            raise ValueError(_reason(_text(prints)) or "it reports an error in the graph")
    return results, status == model.GraphStatus.TOSA_UNPREDICTABLE


def _by_program(
    request: Mapping[str, Any], inputs: Sequence[Array], folder: Path
) -> tuple[Sequence[Array], bool]:
    """Run the model's program, which has inputs and outputs of int48 and int4, unlike its module.

    Its status is 0, or 1 for an unpredictable result.
    """
    import tosa_reference_model as model

    programs = Path(model.__file__).parents[1] / "bin"
    files = {
        f"{port}m_file": [f"{port}.{i}.npy" for i in range(len(request[side]))]
        for port, side in (("if", "inputs"), ("of", "outputs"))
    }
    for name, array in zip(files["ifm_file"], inputs, strict=True):
        np.save(folder / name, array)
    names = {"ifm_name": request["inputs"], "ofm_name": request["outputs"]}
    (folder / "desc.json").write_text(
        json.dumps({"tosa_file": FILE, **names, **files, "expected_failure": False})
    )
    command = [str(programs / "tosa_reference_model"), "--test_desc", str(folder / "desc.json")]
    ended = subprocess.run(
        [*command, "--operator_fbs", str(programs / "tosa.fbs")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if ended.returncode not in (0, 1):
        said = ended.stdout.decode("utf-8", "replace")
        raise ValueError(_reason(said) or f"its program ends with status {ended.returncode}")
    return [np.load(folder / name) for name in files["ofm_file"]], ended.returncode == 1


def find_version(request: Mapping[str, Any], _arrays: Mapping[str, Array], _folder: Path) -> Answer:
    """Return the installed version of a package."""
    from importlib.metadata import version  # it imports email's packages

    return {"version": version(request["package"])}, {}


@contextlib.contextmanager
def _printing_to(prints: IO[bytes]) -> Iterator[None]:
    """Redirect the output of the model's C++, a page of warnings for each error."""
    kept = os.dup(1), os.dup(2)
    os.dup2(prints.fileno(), 1)
    os.dup2(prints.fileno(), 2)
    try:
        yield
    finally:
        for number, copy in enumerate(kept, 1):
            os.dup2(copy, number)
            os.close(copy)


def _text(prints: IO[bytes]) -> str:
    prints.seek(0)
    return prints.read().decode("utf-8", "replace")


def _reason(said: str) -> str:
    """Return the line after the first failed check, "" if there is none."""
    checks = [after for line, after in pairwise(said.splitlines()) if line.startswith("ERROR_IF")]
    return " ".join(checks[0].split()) if checks else ""
