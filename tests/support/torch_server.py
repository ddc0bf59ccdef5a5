"""Runs scripts of the environment "torch" in forks of one process, which has imported PyTorch.

ethosgen starts a Python for each script, and importing PyTorch and ExecuTorch takes it ten seconds
of processor time. A fork can crash, hang and print as a child can.
"""

import gc
import importlib
import os
import pickle
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

PACKAGES = (
    "executorch.backends.arm.quantizer",
    "executorch.backends.arm.tosa.partitioner",
    "executorch.backends.xnnpack.quantizer.xnnpack_quantizer",
    "executorch.exir",
    "torch.ao.quantization.fx._decomposed",
    "torchao.quantization.pt2e.quantize_pt2e",
    "tvm.relax.frontend.torch.exported_program_translator",
)
"""What the scripts import."""

Wait = Callable[[list[str], Path, float], str]


class TorchServer:
    """The caller's side of the process, which the first call of a Python starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: dict[Path, Any] = {}

    def wait(self, command: list[str], python: Path, limit_s: float) -> str:
        """Do what a Python's command for a file says, and return what it prints.

        Raises ChildError as ethosgen.host.worker does.
        """
        from ethosgen.host.child import ChildError, cause_of_death

        assert command[:2] == [str(python), "-P"]
        with self._lock:
            process = self._processes[python] = self._processes.get(python) or _start(python)
            pickle.dump((command[2:], limit_s), process.stdin)
            process.stdin.flush()
            status, said = pickle.load(process.stdout)
        log: str = said.decode("utf-8", "replace")[-4000:]
        if status is None:
            raise ChildError("late", f"it did not finish in {limit_s:g} s")
        if status != 0:
            raise ChildError("died", cause_of_death(status), log)
        return log

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.kill()
            process.communicate()
        self._processes.clear()


def use_torch_server(server: TorchServer) -> None:
    """Run the scripts of the environment "torch" by a server in this process."""
    from ethosgen.host import worker
    from ethosgen.host.environments import ENVIRONMENTS
    from ethosgen.values.errors import ToolError

    in_child = worker._wait

    def wait(command: list[str], python: Path, limit_s: float) -> str:
        try:
            is_torch = python == ENVIRONMENTS["torch"].find()
        except ToolError:
            is_torch = False
        return (server.wait if is_torch else in_child)(command, python, limit_s)

    worker._wait = wait


def _start(python: Path) -> Any:
    from ethosgen.host.environments import child_variables

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [str(python), "-P", __file__]
    return subprocess.Popen(command, env=child_variables(python), **pipes)  # type: ignore[call-overload]


# ---- the other end -------------------------------------------------------------------------------


def _serve() -> None:
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _import_packages()
    gc.freeze()  # else a fork's collector copies all pages
    while True:
        try:
            arguments, limit_s = pickle.load(questions)
        except EOFError:
            return
        pickle.dump(_answer(arguments, limit_s), answers)
        answers.flush()


class _Vela:
    """The module that a script provides as `ethosu.vela.vela`; ExecuTorch imports it early."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.modules["ethosu.vela"].vela, name)


def _import_packages() -> None:
    package = types.ModuleType("ethosu.vela")
    package.__dict__["vela"] = _Vela()
    stand_ins = {"ethosu": types.ModuleType("ethosu"), "ethosu.vela": package}
    sys.modules.update(stand_ins)
    for name in PACKAGES:
        importlib.import_module(name)
    for name in stand_ins:
        del sys.modules[name]


def _answer(arguments: list[str], limit_s: float) -> tuple[int | None, bytes]:
    """Run a file in a fork; return its status, None if it is late, and what it printed."""
    alive, held = os.pipe()  # the fork holds one end for as long as it lives
    with tempfile.TemporaryFile() as prints:
        child = os.fork()
        if child == 0:
            _run(arguments, prints.fileno())
        os.close(held)
        ended, _, _ = select.select([alive], [], [], limit_s)
        os.close(alive)
        late = not ended
        if late:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        prints.seek(0)
        return None if late else os.waitstatus_to_exitcode(status), prints.read()


def _run(arguments: list[str], prints: int) -> None:
    status = 1
    try:
        os.dup2(prints, 1)
        os.dup2(prints, 2)
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = int(bool(ended.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    _serve()
