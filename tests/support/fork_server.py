"""Runs a quantizer's script in forks of one process, which has imported the quantizer once.

ethosgen starts a child for each call, which imports ONNX Runtime or torch again: with hundreds of
damaged files that takes most of an hour. A fork can crash as a child can.
"""

import contextlib
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

MEMORY_BYTES = 32 << 30
MOST_S = 240
"""A damaged network that takes longer hangs; the machine may be busy with other tests."""


class ForkServer:
    """A process of `python` that has imported the file `script`."""

    def __init__(self, python: Path, script: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [str(python), "-P", __file__, str(script)]
        self._process: Any = subprocess.Popen(command, **pipes)  # type: ignore[call-overload]

    def ask(self, steps: Sequence[Any], folder: Path) -> tuple[str, Any]:
        """Call the script's functions in a fork: "returned" and the answers, or how it failed."""
        pickle.dump((list(steps), folder), self._process.stdin)
        self._process.stdin.flush()
        status, said = pickle.load(self._process.stdout)
        if status != 0:
            return "died", status
        how, value = pickle.loads(said)
        return str(how), value

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def _main() -> None:
    import importlib.util

    answers = os.fdopen(os.dup(1), "wb")
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    spec = importlib.util.spec_from_file_location("quantizing_script", sys.argv[1])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gc.freeze()  # else a fork's collector copies all pages
    for steps, folder in _questions():
        pickle.dump(_forked(module, steps, folder), answers)
        answers.flush()


def _questions() -> Iterator[tuple[Any, Path]]:
    with contextlib.suppress(EOFError):
        while True:
            yield pickle.load(sys.stdin.buffer)


def _forked(module: Any, steps: Any, folder: Path) -> tuple[int, bytes]:
    """Return the status of a fork, and what it wrote."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        signal.alarm(MOST_S)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(_outcome(module, steps, folder), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def _outcome(module: Any, steps: Any, folder: Path) -> tuple[str, Any]:
    try:
        calls = [getattr(module, name)(asked, arrays, folder) for name, asked, arrays in steps]
    except Exception as error:
        sentence = getattr(error, "sentence", None)
        return ("refused", sentence) if sentence else ("raised", f"{type(error).__name__}: {error}")
    return "returned", calls


if __name__ == "__main__":
    _main()
