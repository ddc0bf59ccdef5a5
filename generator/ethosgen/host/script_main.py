"""The child's side of worker.py, run as a file by another Python.

Arguments: the script, its function, and the folder with request and files. The script may import
the modules of ethosgen that need only the standard library, numpy and the environment's packages.
"""

import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Mapping
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
    """Write arrays of numpy's own types; names may be any text, so they form an array, too."""
    numbered: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays.values())}
    np.savez(file, names=np.array(json.dumps(list(arrays))), **numbered)


def load(file: Path) -> dict[str, Any]:
    """Read what `store` wrote; ValueError, KeyError or OSError for anything else."""
    with np.load(file, allow_pickle=False) as stored:
        names = json.loads(str(stored["names"]))
        return {name: stored[f"a{i}"] for i, name in enumerate(names)}


def _lend_ethosgen() -> None:
    """Make ethosgen importable, but not the packages that are installed with it."""
    package = Path(__file__).parents[1]
    spec = importlib.util.spec_from_file_location(
        "ethosgen", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {package}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["ethosgen"] = module
    spec.loader.exec_module(module)


def _serve() -> None:
    script, function, place = sys.argv[1:4]
    folder = Path(place)
    _lend_ethosgen()
    from ethosgen.host.child import described, limit_resources, module_of
    from ethosgen.values.errors import EthosgenError

    limit_resources(MEMORY_BYTES)
    arrays: dict[str, Any] = {}
    answer: dict[str, Any]
    try:
        inputs = load(folder / INPUTS)
        request = json.loads((folder / REQUEST).read_text())
        values, arrays = getattr(module_of(script), function)(request, inputs, folder / FILES)
        answer = {"how": RETURNED, "values": values}
    except Exception as error:
        is_refusal = isinstance(error, EthosgenError)
        message = str(error) if is_refusal else described(error)
        how = "refused" if is_refusal else "raised"
        answer = {"how": how, "message": message, "log": traceback.format_exc()}
    store(folder / OUTPUTS, arrays)
    (folder / ANSWER).write_text(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # do not run destructors of damaged C++ objects


if __name__ == "__main__":
    _serve()
