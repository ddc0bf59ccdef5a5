"""Runs files of Python in forks of processes that have imported what takes long to import.

ethosgen starts a Python for each call of Vela, of an oracle, of a quantizer and of a script of an
environment. To start one takes 60 to 300 ms, and importing PyTorch and ExecuTorch ten seconds of
processor time. A fork can crash, hang and print as a child can. All workers of a test run share one
process for each Python: it listens at a socket, and ends after its last caller.
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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import ROOT
from tests.support.forks import Ended, run_fork

if TYPE_CHECKING:
    from ethosgen.host.child import ChildAnswer

HERE = "tests"
PACKAGES = {
    HERE: (
        "ai_edge_litert.interpreter",
        "ethosgen.oracle",
        "ethosu.regor",
        "tflite_micro.python.tflite_micro.runtime",
    ),
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
"""What the files import, in the Python of the tests and in those of environments."""

LOOK_S = 1.0
PATIENCE_S = 300.0
"""How long a process waits for its first caller."""


@dataclass
class Line:
    """A connection to a process."""

    connection: socket.socket
    stream: Any


@dataclass(frozen=True)
class Question:
    """A file with its arguments and its input, run in a folder; `first` is loaded before any fork.

    `first` is a quantizer's script, whose packages take long to import; "" for none.
    """

    arguments: Sequence[str]
    source: bytes
    place: str
    limit_s: float
    first: str = ""


class ForkServer:
    """The caller's side of the processes; the first call of a test run starts each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[Path, Line] = {}

    def _ask(self, name: str, python: Path, question: Question) -> Ended:
        with self._lock:  # both oracles are asked at once, from two threads
            line = self._lines[python] = self._lines.get(python) or _connect(name, python)
            pickle.dump(tuple(vars(question).values()), line.stream)
            line.stream.flush()
            return Ended(*pickle.load(line.stream))

    def call(
        self, script: Path, function: str, *arguments: Any, limit_s: float = 120.0
    ) -> "ChildAnswer":
        """Run a function of a file and return its answer, as ethosgen.host.child.call does."""
        from ethosgen.host import child
        from ethosgen.quantization import scripts

        first = str(arguments[0]) if str(script) == scripts.__file__ else ""
        command = [child.__file__, str(script), function]
        question = Question(command, pickle.dumps(arguments), str(Path.cwd()), limit_s, first)
        ended = self._ask(HERE, Path(sys.executable), question)
        errors = _log(ended, ended.errors, limit_s)
        returned, value, log = pickle.loads(ended.output)
        if not returned:
            raise child.ChildError("raised", value, log + errors)
        return child.ChildAnswer(value, log + errors)

    def wait(self, name: str, command: list[str], python: Path, limit_s: float) -> str:
        """Do what a Python's command for a file says, as ethosgen.host.script does."""
        assert command[:2] == [str(python), "-P"]
        ended = self._ask(name, python, Question(command[2:], b"", str(Path.cwd()), limit_s))
        return _log(ended, ended.output + ended.errors, limit_s)[-4000:]

    def close(self) -> None:
        """Leave the processes, which end after their last caller."""
        for line in self._lines.values():
            line.stream.close()
            line.connection.close()
        self._lines.clear()


def _log(ended: Ended, printed: bytes, limit_s: float) -> str:
    """Return the output of a fork; ChildError if it failed."""
    from ethosgen.host.child import ChildError, cause_of_death

    log = printed.decode("utf-8", "replace")
    if ended.status is None:
        raise ChildError("late", f"it did not finish in {limit_s:g} s")
    if ended.status != 0:
        raise ChildError("died", cause_of_death(ended.status), log)
    return log


_shared: dict[int, ForkServer] = {}
"""By process, since a fork must not share a connection."""


def shared_server() -> ForkServer:
    """Return this process's connections."""
    return _shared.setdefault(os.getpid(), ForkServer())


def use_fork_server(server: ForkServer) -> None:
    """Call Vela, the oracles, the quantizers and environments by a server in this process."""
    from ethosgen.backend.ethosu.offload import vela
    from ethosgen.host import script
    from ethosgen.host.environments import ENVIRONMENTS
    from ethosgen.oracle import interpreters
    from ethosgen.quantization import scripts
    from ethosgen.values.errors import ToolError

    for module in (scripts, vela, interpreters):
        module.call = server.call  # type: ignore[attr-defined]
    in_child = script._wait

    def is_of(name: str, python: Path) -> bool:
        try:
            return python == ENVIRONMENTS[name].find()
        except ToolError:
            return False

    def wait(command: list[str], python: Path, limit_s: float) -> str:
        for name in PACKAGES.keys() - {HERE}:
            if is_of(name, python):
                return server.wait(name, command, python, limit_s)
        return in_child(command, python, limit_s)

    script._wait = wait


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

    variables, paths = {**os.environ}, [str(ROOT), *sys.path]
    if name != HERE:
        variables = {**child_variables(python)}
        paths = [str(ROOT), variables.get("PYTHONPATH", "")]
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
    stream, loaded = connection.makefile("rwb"), {""}
    with contextlib.suppress(EOFError, OSError):
        while True:
            question = Question(*pickle.load(stream))
            if question.first not in loaded:
                _load(question.first)
                loaded.add(question.first)
            ended = run_fork(partial(_run, question), question.limit_s, question.source)
            pickle.dump(tuple(vars(ended).values()), stream)
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
    stand_ins = stand_ins if environment == "torch" else {}
    sys.modules.update(stand_ins)
    for name in PACKAGES[environment]:
        importlib.import_module(name)
    for name in stand_ins:
        del sys.modules[name]


def _load(script: str) -> None:
    """Import a quantizer's packages; if that fails, so does the call, which says why."""
    with contextlib.suppress(Exception):
        runpy.run_path(script)
    gc.freeze()


def _run(question: Question) -> bytes:
    sys.argv = [*question.arguments]
    try:
        os.chdir(question.place)
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as error:
        if error.code:
            raise
    except BaseException:
        traceback.print_exc()
        raise
    return b""


if __name__ == "__main__":
    _serve(sys.argv[1], Path(sys.argv[2]))
