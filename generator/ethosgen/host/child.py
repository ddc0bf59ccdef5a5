"""Call a function in a separate Python process.

NPU compilers and both reference interpreters are C++ that trusts its input: a damaged network can
crash the process, exhaust its memory or hang it. In a child process that is an ordinary error. A
child that imports only the compiler costs 15 ms, and its output stays off our stdout.
"""

import contextlib
import importlib.util
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import IO, Any

MEMORY_BYTES = 16 << 30
"""Address space limit of a child, which only a faulty one exceeds."""


@dataclass(frozen=True)
class ChildAnswer:
    """The function's return value, and its output."""

    value: Any
    log: str


class ChildError(Exception):
    """The child did not return: `how` is "raised", "died" or "late"; `log` is its output."""

    def __init__(self, how: str, message: str, log: str = "") -> None:
        super().__init__(message)
        self.how = how
        self.log = log


def call(script: Path, function: str, *arguments: Any, limit_s: float = 120.0) -> ChildAnswer:
    """Run `function(*arguments)` of the file `script` in a child and return its answer.

    The script runs on its own, not as part of its package, so that the child imports only what
    the script imports. Arguments and the return value are pickled. Raises ChildError.
    """
    command = [sys.executable, "-P", __file__, str(script), function]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        subprocess.Popen(command, env=environment, **pipes) as started,  # type: ignore[call-overload]
        registered(started),
    ):
        try:
            output, standard_error = started.communicate(pickle.dumps(arguments), timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise ChildError("late", f"it did not finish in {limit_s:g} s") from None
    errors = standard_error.decode("utf-8", "replace")
    if started.returncode != 0:
        raise ChildError("died", cause_of_death(started.returncode), errors)
    returned, value, log = pickle.loads(output)
    if not returned:
        raise ChildError("raised", value, log + errors)
    return ChildAnswer(value, log + errors)


_RUNNING: set[subprocess.Popen[bytes]] = set()


def end_children() -> None:
    """End all calls that other threads wait for, because this process is about to end."""
    for started in list(_RUNNING):
        started.kill()


@contextlib.contextmanager
def registered(started: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let `end_children` end a process during the block, and end it if the block leaves it."""
    _RUNNING.add(started)
    try:
        yield
    finally:
        if started.poll() is None:
            started.kill()
        _RUNNING.discard(started)


def die_with_us() -> list[str]:
    """Return the beginning of a command that ends with this process, even if it is killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def cause_of_death(status: int) -> str:
    """Describe in a few words how a process ended, from its exit status."""
    if status < 0:
        try:
            return f"it was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"it was ended by signal {-status}"
    return f"it exited with status {status}"


def described(error: Exception) -> str:
    """Return an exception's type and text; without text, the line of the source that raised it."""
    if str(error).strip():
        return f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return type(error).__name__
    last = frames[-1]
    where = f"{last.name} of {Path(last.filename).name}, line {last.lineno}"
    return f"{type(error).__name__} in {where}: {last.line}".rstrip(": ")


def limit_resources(memory_bytes: int) -> None:
    """Limit this process's address space, and let it leave no core dump."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))


def module_of(script: str | Path, name: str = "child_script") -> ModuleType:
    """Run a file as a module of that name, and return it."""
    spec = importlib.util.spec_from_file_location(name, script)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {script}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _memory_file() -> IO[bytes]:
    """Return an anonymous file in memory, or a temporary file if the system has none."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("prints"), "w+b")
    return tempfile.TemporaryFile()


def _serve() -> None:
    """Answer one call: arguments arrive on stdin, the answer goes to the original stdout."""
    limit_resources(MEMORY_BYTES)
    script, function = sys.argv[1:3]
    arguments = pickle.load(sys.stdin.buffer)
    answers = os.fdopen(os.dup(1), "wb")
    with _memory_file() as prints:
        os.dup2(prints.fileno(), 1)  # C++ writes to the descriptor, not to sys.stdout
        try:
            outcome: tuple[bool, Any] = (True, getattr(module_of(script), function)(*arguments))
        except Exception as error:
            outcome = (False, described(error))
        sys.stdout.flush()
        prints.seek(0)
        pickle.dump((*outcome, prints.read().decode("utf-8", "replace")), answers)
        answers.flush()
    os._exit(0)  # do not run destructors of damaged C++ objects


if __name__ == "__main__":
    _serve()
