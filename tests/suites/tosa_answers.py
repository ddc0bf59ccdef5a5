"""Answers TOSA's conformance suite: runs the network of a test, on the CPU's code or with an NPU.

`python -m tests.suites.tosa_answers ON [LIMIT_S]` reads the path of a test's description from each
line of its input, writes the outputs where the description says, and prints a line of JSON for
each: "result" is valid, error (the network is refused), or other. ON is cpu, the name of an NPU, or
qemu, where the firmware for corstone300 runs with an Ethos-U55.
Each test runs in a fork, so that one that dies or hangs says so and the next one runs.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen import frontend
from ethosgen.values.errors import EthosgenError, InternalError
from ethosgen.values.network import Network
from tests.suites.golden_tests import LIMIT_S, run_samples
from tests.support.forks import run_fork

Array = np.ndarray[Any, Any]


def answer(description: Path, on: str) -> dict[str, Any]:
    """Run one test; return the result, a message, and the number of operators on the NPU."""
    test = json.loads(description.read_text())
    try:
        network = frontend.read(description.with_name(test["tosa_file"]))
        sample = _sample(network, test, description.parent)
        (outputs,), on_npu = run_samples(network, [sample], on)
    except InternalError as error:
        return {"result": "other", "message": str(error)}
    except EthosgenError as error:
        return {"result": "error", "message": f"refused: {error}"}
    arrays = [outputs[tensor.name] for tensor in network.outputs]
    for file, array, tensor in zip(test["ofm_file"], arrays, network.outputs, strict=True):
        kind = "float16" if tensor.is_half else array.dtype
        np.save(description.with_name(file), array.astype(kind))
    return {"result": "valid", "on_npu": on_npu}


def _sample(network: Network, test: dict[str, Any], folder: Path) -> dict[str, Array]:
    files = dict(zip(test["ifm_name"], test["ifm_file"], strict=True))
    return {
        tensor.name: np.load(folder / files[tensor.name]).astype(tensor.dtype)
        for tensor in network.inputs
    }


def answer_apart(description: Path, on: str, limit_s: float) -> dict[str, Any]:
    """Run one test in a fork; a death or a late end is the result "other"."""
    ended = run_fork(lambda: json.dumps(answer(description, on)).encode(), limit_s)
    if ended.status == 0:
        reply: dict[str, Any] = json.loads(ended.returned)
        return reply
    how = "late" if ended.status is None else f"status {ended.status}"
    last = ended.errors.decode(errors="replace").strip().splitlines()[-1:]
    return {"result": "other", "message": ": ".join([how, *last])}


def main(on: str, limit_s: float = LIMIT_S) -> None:
    """Answer each line of the input."""
    from ethosgen import aot

    aot.load()  # once, for all forks
    for line in sys.stdin:
        print(json.dumps(answer_apart(Path(line.strip()), on, limit_s)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:3]))
