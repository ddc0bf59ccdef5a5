"""Calls functions in forked processes, since ethosgen.host.child takes 60 to 300 ms to start one.

A small process imports Vela and both interpreters once, and a quantizer before its first call. For
each call it forks a child, which can die or hang: that raises the same ChildError as in
ethosgen.host.child.
"""

import contextlib
import gc
import importlib.util
import os
import pickle
import runpy
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import ethosgen.quantization.scripts
from ethosgen.host.child import ChildAnswer, ChildError, _limit_resources, cause_of_death, described
from tests.support.forks import run_fork

_SIZE = struct.Struct("<Q")
QUANTIZING = Path(ethosgen.quantization.scripts.__file__)


class Asker:
    """The caller's side of the small process, which the first call starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def call(
        self, script: Path, function: str, *arguments: Any, limit_s: float = 120.0
    ) -> ChildAnswer:
        """Run a function of a file and return its answer, as ethosgen.host.child.call does."""
        with self._lock:  # both oracles are asked at once, from two threads
            process = self._process = self._process or _start()
            assert process.stdin is not None and process.stdout is not None
            _write(process.stdin, (str(script), function, arguments, limit_s, str(Path.cwd())))
            how, value, log = _read(process.stdout)
        if how != "returned":
            raise ChildError(how, value, log)
        return ChildAnswer(value, log)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


_shared: dict[int, Asker] = {}
"""By process, since a fork must not share a pipe."""


def shared_asker() -> Asker:
    """Return this process's Asker."""
    return _shared.setdefault(os.getpid(), Asker())


def use_asker(asker: Asker) -> None:
    """Call Vela, the oracles and the quantizers through an Asker in this process."""
    from ethosgen.backend.ethosu.offload import vela
    from ethosgen.oracle import interpreters
    from ethosgen.quantization import scripts

    scripts.call = asker.call  # type: ignore[attr-defined]
    vela.call = asker.call  # type: ignore[attr-defined]
    interpreters.call = asker.call  # type: ignore[attr-defined]


def _start() -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-P", __file__], env=environment, **pipes)  # type: ignore[call-overload,no-any-return]


def _write(pipe: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    pipe.write(_SIZE.pack(len(data)) + data)
    pipe.flush()


def _read(pipe: IO[bytes]) -> Any:
    head = pipe.read(_SIZE.size)
    if len(head) < _SIZE.size:
        raise EOFError
    return pickle.loads(pipe.read(_SIZE.unpack(head)[0]))


# ---- the other end -------------------------------------------------------------------------------


def _serve() -> None:
    _limit_resources()
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _preload()
    gc.freeze()  # else a fork's collector copies all pages
    loaded: set[str] = set()
    while True:
        try:
            script, function, arguments, limit_s, place = _read(questions)
        except EOFError:
            return
        if Path(script) == QUANTIZING and str(arguments[0]) not in loaded:
            _load(str(arguments[0]))
            loaded.add(str(arguments[0]))
        _write(answers, _answer(script, function, arguments, limit_s, place))


def _preload() -> None:
    """Import what takes long to import."""
    import ai_edge_litert.interpreter  # noqa: F401
    from ethosu import regor  # noqa: F401
    from tflite_micro.python.tflite_micro import runtime  # noqa: F401

    from ethosgen import oracle  # noqa: F401


def _load(script: str) -> None:
    """Import a quantizer's packages; if that fails, so does the call, which says why."""
    with contextlib.suppress(Exception):
        runpy.run_path(script)
    gc.freeze()


def _answer(
    script: str, function: str, arguments: Any, limit_s: float, place: str
) -> tuple[str, Any, str]:
    ended = run_fork(lambda: _run(script, function, arguments, place), limit_s)
    log = ended.prints.decode("utf-8", "replace")
    if ended.status is None:
        return "late", f"it did not finish in {limit_s:g} s", log
    if ended.status != 0:
        return "died", cause_of_death(ended.status), log
    returned, value = pickle.loads(ended.returned)
    return ("returned" if returned else "raised"), value, log


def _run(script: str, function: str, arguments: Any, place: str) -> bytes:
    """Call a function of a file; return whether it returned, and its answer or why not."""
    try:
        os.chdir(place)
        spec = importlib.util.spec_from_file_location("child_script", script)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["child_script"] = module
        spec.loader.exec_module(module)
        outcome = (True, getattr(module, function)(*arguments))
    except Exception as error:
        outcome = (False, described(error))
    return pickle.dumps(outcome)


if __name__ == "__main__":
    _serve()
