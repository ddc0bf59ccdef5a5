"""The .pt2 files that torch_programs.py makes, each once in a run of the tests."""

import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script

_SCRIPT = Path(__file__).with_name("torch_programs.py")


def pt2_files(factory: pytest.TempPathFactory, kind: str, *names: str) -> list[Path]:
    """Return the files of programs; torch makes those that no test has asked for before."""
    base = factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "pt2"
    place.mkdir(exist_ok=True)
    files = [place / kind / f"{name}.pt2" for name in names]
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [path for path in files if not path.exists()]
        if missing:
            wanted = [[path.stem, kind] for path in missing]
            reply = run_script(ENVIRONMENTS["torch"], _SCRIPT, "make", {"wanted": wanted})
            assert not reply.values["failed"], reply.values["failed"]
            for path in missing:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(reply.arrays[f"{path.stem} {kind}"].tobytes())
    return files


def pt2_outputs(path: Path, samples: np.ndarray) -> np.ndarray:
    """Return torch's outputs for samples of a program with one input and one output."""
    request = {"path": str(path)}
    reply = run_script(ENVIRONMENTS["torch"], _SCRIPT, "outputs", request, {"x": samples})
    return reply.arrays["outputs"]
