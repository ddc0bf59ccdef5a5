"""Installs extras, programs, and Python environments in folders that are ethosgen's own."""

import importlib
import importlib.metadata
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.host.environments import STAMP, Environment, python_of
from ethosgen.host.extras import Extra
from ethosgen.host.termination import hold_signals
from ethosgen.host.tool_sets import ToolSet
from ethosgen.host.tools import end_program
from ethosgen.values.errors import InputError, ToolError, cannot_write
from ethosgen.values.watch import Watch

_LIMIT_S = 3600.0  # two gigabytes over a slow line
_LOOK_S = 0.5
_PIP_WITH_PYTHON = 23
"""The first pip whose option --python names another interpreter was 22.3."""
_STEPS = ("Collecting", "Downloading", "Processing", "Installing", "Building", "Preparing")


def install(environment: Environment, watch: Watch) -> Path:
    """Create an environment in its folder, unless it is complete, and return its Python.

    Raises InputError if the folder is not ethosgen's or cannot be written, ToolError if pip fails.
    """
    python = python_of(environment.folder)
    if environment.is_current and python.is_file() and not environment.fault(python):
        return python
    with watch.phase("install", f"making '{environment.folder}'"):
        _claim(environment)
        pip, venv = _tools(python)
        task = _ProgramTask(
            f"making '{environment.folder}'",
            f"cannot make the Python environment '{environment.name}' in '{environment.folder}'",
            f"name a Python that has the packages in {environment.variable}",
        )
        _run([*venv, str(environment.folder)], task, watch)
        options = ["--no-input", "--progress-bar", "off"]
        _run([*pip, "install", *options, *environment.requirements], task, watch)
    with watch.phase("import", f"importing {', '.join(environment.modules)}"):
        fault = environment.fault(python)
    if fault:
        raise ToolError(
            f"the Python environment '{environment.name}' in '{environment.folder}' is installed "
            f"but does not work: {fault}"
        )
    stamp = json.dumps(list(environment.requirements), indent=2)
    (environment.folder / STAMP).write_text(f"{stamp}\n")
    return python


def install_extra(extra: Extra, watch: Watch) -> None:
    """Install the missing packages of an extra next to ethosgen.

    Raises ToolError if the command fails, or if its packages are not found afterwards.
    """
    if not extra.missing:
        return
    _install(extra, f"the extra '{extra.name}'", watch)


def install_tools(tools: ToolSet, watch: Watch) -> None:
    """Install missing programs with the system's package manager.

    Raises ToolError if there is none, if it fails, or if they are not found afterwards.
    """
    if not tools.missing:
        return
    _install(tools, f"'{tools.name}'", watch)


def _install(wanted: Extra | ToolSet, named: str, watch: Watch) -> None:
    task = _ProgramTask(
        f"installing {named}",
        f"cannot install {named}",
        f"run it yourself: {wanted.install_command}",
    )
    with watch.phase("install", task.title):
        _run(wanted.command, task, watch)
    importlib.invalidate_caches()
    if missing := wanted.missing:
        raise ToolError(
            f"'{wanted.install_command}' succeeded, but {' and '.join(missing)} cannot be found"
        )


def _tools(python: Path) -> tuple[list[str], list[str]]:
    """Return the commands of pip for `python`, and of venv.

    This interpreter's own pip does, if it has one that is new enough: another copy takes venv
    several seconds.
    """
    venv = [sys.executable, "-m", "venv"]
    try:
        version = importlib.metadata.version("pip").split(".")
    except importlib.metadata.PackageNotFoundError:
        version = ["0"]
    if int(version[0]) < _PIP_WITH_PYTHON:
        return [str(python), "-m", "pip"], venv
    return [sys.executable, "-m", "pip", "--python", str(python)], [*venv, "--without-pip"]


def _claim(environment: Environment) -> None:
    """Create an empty folder that is marked as ours; InputError if another exists there."""
    folder = environment.folder
    try:
        if folder.exists() or folder.is_symlink():
            if not (folder / STAMP).exists() or folder.is_symlink():
                raise InputError(
                    f"'{folder}' was not made by ethosgen, so it stays as it is; move it away, or "
                    f"name its Python in {environment.variable}"
                )
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        (folder / STAMP).touch()
    except OSError as error:
        raise cannot_write(folder, error) from None


@dataclass(frozen=True)
class _ProgramTask:
    """A program's task, the beginning of its error's sentence, and the user's alternative."""

    title: str
    failure: str
    otherwise: str


def _run(command: Sequence[str], task: _ProgramTask, watch: Watch) -> None:
    """Run a program and announce its steps; ToolError quotes the last error that it printed."""
    started = None
    deadline = time.monotonic() + _LIMIT_S
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as place:
        log = Path(place) / "log"
        try:
            with hold_signals(), log.open("wb") as prints:
                started = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=prints,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            while not _has_ended(started) and time.monotonic() < deadline:
                _announce(log, task, watch)
            _announce(log, task, watch)
        except FileNotFoundError:
            raise ToolError(_failure(task, [f"there is no program '{command[0]}'"])) from None
        finally:
            if started is not None and started.returncode is None:
                end_program(started)
        if started.returncode != 0:
            raise ToolError(_failure(task, _lines(log)))


def _has_ended(started: subprocess.Popen[bytes]) -> bool:
    try:
        started.wait(_LOOK_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _announce(log: Path, task: _ProgramTask, watch: Watch) -> None:
    steps = [line for line in map(str.strip, _lines(log)) if line.startswith(_STEPS)]
    if steps:
        step = " ".join(steps[-1].split()[:2]).lower().rstrip(",:")
        watch.say(f"{task.title}: {step}")


def _lines(log: Path) -> list[str]:
    return log.read_text(errors="replace").splitlines()


def _failure(task: _ProgramTask, lines: Sequence[str]) -> str:
    spoken = [line for line in lines if line.strip()]
    errors = [line for line in spoken if line.startswith(("ERROR", "Error"))]
    last = next(iter((errors or spoken)[-1:]), "it ended without a message")
    words = last.removeprefix("ERROR: ").strip()
    return f"{task.failure}: {words}; correct that and repeat, or {task.otherwise}"
