"""The child's side of worker.py, run as a file: it imports nothing of ethosgen.

Arguments: the script, its function, and the folder with request and files.
"""

import contextlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

REQUEST = "request.json"
INPUTS = "inputs.npz"
FILES = "files"
ANSWER = "answer.json"
OUTPUTS = "outputs.npz"
RETURNED = "returned"

MEMORY_BYTES = 32 << 30
"""Address space of a child; torch maps several times what it uses."""


def store(file: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays of numpy's own types; their names may be any text, so they are an array too."""
    numbered: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays.values())}
    np.savez(file, names=np.array(json.dumps(list(arrays))), **numbered)


def load(file: Path) -> dict[str, Any]:
    """Read what `store` wrote; ValueError, KeyError or OSError for anything else."""
    with np.load(file, allow_pickle=False) as stored:
        names = json.loads(str(stored["names"]))
        return {name: stored[f"a{i}"] for i, name in enumerate(names)}


def _limit_resources() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _function(script: str, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("worker_script", script)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {script}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["worker_script"] = module
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


def _serve() -> None:
    script, function, place = sys.argv[1:4]
    folder = Path(place)
    _limit_resources()
    arrays: dict[str, Any] = {}
    answer: dict[str, Any]
    try:
        given = load(folder / INPUTS)
        request = json.loads((folder / REQUEST).read_text())
        values, arrays = _function(script, function)(request, given, folder / FILES)
        answer = {"how": RETURNED, "values": values}
    except Exception as error:
        sentence = getattr(error, "sentence", None)
        said = sentence or f"{type(error).__name__}: {error}"
        how = "refused" if sentence else "raised"
        answer = {"how": how, "message": said, "log": traceback.format_exc()}
    store(folder / OUTPUTS, arrays)
    (folder / ANSWER).write_text(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # do not run destructors of damaged C++ objects


if __name__ == "__main__":
    _serve()
