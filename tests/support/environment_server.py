"""Runs scripts of an environment in forks of one process, which has imported its packages.

ethosgen starts a Python for each script, and importing PyTorch and ExecuTorch takes it ten seconds
of processor time, numpy and TOSA's reference model 0.2 s. A fork can crash, hang and print as a
child can. All workers of a test run share the process of an environment: it listens at a socket,
and ends after its last caller.
"""

import contextlib
import fcntl
import gc
import hashlib
import importlib
import os
import pickle
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.support.forks import run_fork

PACKAGES = {
    "torch": (
        "executorch.backends.arm.quantizer",
        "executorch.backends.arm.tosa.partitioner",
        "executorch.backends.xnnpack.quantizer.xnnpack_quantizer",
        "executorch.exir",
        "torch.ao.quantization.fx._decomposed",
        "torchao.quantization.pt2e.quantize_pt2e",
        "tvm.relax.frontend.torch.exported_program_translator",
    ),
    "tosa": ("numpy", "tosa_reference_model"),
}
"""What the scripts of an environment import."""

Wait = Callable[[list[str], Path, float], str]
LOOK_S = 1.0
PATIENCE_S = 300.0
"""How long the process waits for its first caller."""


@dataclass
class Line:
    """A connection to the process."""

    connection: socket.socket
    stream: Any


class EnvironmentServer:
    """The caller's side of the processes; the first call of a test run starts each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Path, Line] = {}

    def wait(self, name: str, command: list[str], python: Path, limit_s: float) -> str:
        """Do what a Python's command for a file says, and return what it prints.

        Raises ChildError as ethosgen.host.worker does.
        """
        from ethosgen.host.child import ChildError, cause_of_death

        assert command[:2] == [str(python), "-P"]
        with self._lock:
            line = self._lines[python] = self._lines.get(python) or _connect(name, python)
            pickle.dump((command[2:], limit_s), line.stream)
            line.stream.flush()
            status, said = pickle.load(line.stream)
        log: str = said.decode("utf-8", "replace")[-4000:]
        if status is None:
            raise ChildError("late", f"it did not finish in {limit_s:g} s")
        if status != 0:
            raise ChildError("died", cause_of_death(status), log)
        return log

    def close(self) -> None:
        """Leave the processes, which end after their last caller."""
        for line in self._lines.values():
            line.stream.close()
            line.connection.close()
        self._lines.clear()


def use_environment_server(server: EnvironmentServer) -> None:
    """Run the scripts of environments by a server in this process."""
    from ethosgen.host import worker
    from ethosgen.host.environments import ENVIRONMENTS
    from ethosgen.values.errors import ToolError

    in_child = worker._wait

    def is_of(name: str, python: Path) -> bool:
        try:
            return python == ENVIRONMENTS[name].find()
        except ToolError:
            return False

    def wait(command: list[str], python: Path, limit_s: float) -> str:
        for name in PACKAGES:
            if is_of(name, python):
                return server.wait(name, command, python, limit_s)
        return in_child(command, python, limit_s)

    worker._wait = wait


def _connect(name: str, python: Path) -> Line:
    """Connect to the process of this test run; start it if there is none."""
    run = f"{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())} {python}"
    digest = hashlib.sha256(run.encode()).hexdigest()[:16]
    place = Path(tempfile.gettempdir()) / f"ethosgen-{name}-{digest}"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(place))
        except OSError:
            place.unlink(missing_ok=True)
            _start(name, python, place)
            connection.connect(str(place))
    return Line(connection, connection.makefile("rwb"))


def _start(name: str, python: Path, place: Path) -> None:
    """Start the process, which gets a socket that already listens: callers need not wait."""
    from ethosgen.host.environments import child_variables

    variables = child_variables(python)
    paths = (str(ROOT), variables.get("PYTHONPATH", ""))
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        subprocess.Popen(
            [str(python), "-P", __file__, name, str(place)],
            env=variables,
            stdin=listener.fileno(),
            stdout=subprocess.DEVNULL,
        )


# ---- the other end -------------------------------------------------------------------------------


def _serve(name: str, place: Path) -> None:
    """Answer each caller in a fork, until the last has left."""
    listener = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _import_packages(name)
    gc.freeze()  # else a fork's collector copies all pages
    callers: set[int] = set()
    end = time.monotonic() + PATIENCE_S
    while callers or time.monotonic() < end:
        ready, _, _ = select.select([listener], [], [], LOOK_S)
        if ready:
            callers.add(_answer_all(listener))
            end = 0.0
        callers = {caller for caller in callers if os.waitpid(caller, os.WNOHANG) == (0, 0)}
    place.unlink(missing_ok=True)
    place.with_suffix(".lock").unlink(missing_ok=True)


def _answer_all(listener: socket.socket) -> int:
    """Accept a caller and answer its questions in a fork; return the fork's process."""
    connection, _ = listener.accept()
    child = os.fork()
    if child:
        connection.close()
        return child
    listener.close()
    stream = connection.makefile("rwb")
    with contextlib.suppress(EOFError, OSError):
        while True:
            arguments, limit_s = pickle.load(stream)
            pickle.dump(_answer(arguments, limit_s), stream)
            stream.flush()
    os._exit(0)


class _Vela:
    """The module that a script provides as `ethosu.vela.vela`; ExecuTorch imports it early."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["ethosu.vela"].vela, name)


def _import_packages(environment: str) -> None:
    package = types.ModuleType("ethosu.vela")
    package.__dict__["vela"] = _Vela()
    stand_ins = {"ethosu": types.ModuleType("ethosu"), "ethosu.vela": package}
    sys.modules.update(stand_ins)
    for name in PACKAGES[environment]:
        importlib.import_module(name)
    for name in stand_ins:
        del sys.modules[name]


def _answer(arguments: list[str], limit_s: float) -> tuple[int | None, bytes]:
    """Run a file in a fork; return its status, None if it is late, and what it printed."""
    ended = run_fork(lambda: _run(arguments), limit_s)
    return ended.status, ended.prints


def _run(arguments: list[str]) -> bytes:
    sys.argv = arguments
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise
    except BaseException:
        traceback.print_exc()
        raise
    return b""


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
