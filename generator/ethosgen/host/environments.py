"""Python environments besides ethosgen's own, for packages that are too large or conflict with it.

An environment is an interpreter that has the packages of one of ethosgen's extras. The search
covers the variable that names one, the interpreter that runs ethosgen, and the folder of `install`.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from ethosgen.host import extras
from ethosgen.host.folders import data_folder
from ethosgen.host.tools import CommandError, named_program, run_command
from ethosgen.values.errors import ToolError

STAMP = ".ethosgen-environment"
"""The file in each environment that ethosgen makes; when it is complete, it lists what is there."""

_PROBE = "import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
_PROBE_S = 60.0
_IMPORT_S = 300.0  # torch's first import, from a cold disk


@dataclass(frozen=True)
class Environment:
    """Packages that ethosgen uses in a separate process.

    `name` is that of ethosgen's extra. A Python that has `modules` is such an environment; `shared`
    are packages that ethosgen itself requires, too. `within` names another environment that
    contains all of this one.
    """

    name: str
    purpose: str
    modules: tuple[str, ...]
    shared: tuple[str, ...] = ()
    within: str = ""

    @property
    def variable(self) -> str:
        """The variable that names a Python which has the packages."""
        return f"ETHOSGEN_{self.name.upper()}_PYTHON"

    @property
    def install_command(self) -> str:
        """The command that creates the environment."""
        return f"{_ethosgen()} doctor --install {self.name}"

    @cached_property
    def requirements(self) -> tuple[str, ...]:
        """What pip installs into it: the extra's requirements, with ethosgen's versions."""
        base = {extras.name_of(line): line for line in extras.declared("")}
        return (*extras.declared(self.name), *(base.get(name, name) for name in self.shared))

    @property
    def folder(self) -> Path:
        """The folder in which `ethosgen doctor --install` creates the environment."""
        if extras.is_checkout():
            return extras.folder_beside(f".venv-{self.name}")
        return data_folder() / "environments" / self.name

    def find(self) -> Path:
        """Return a Python that has the packages; ToolError names missing ones, and the remedy."""
        named = os.environ.get(self.variable)
        if named:
            return self._named(named)
        if all(map(extras.is_here, self.modules)):
            return Path(sys.executable)
        own = python_of(self.folder)
        if own.is_file():
            if self.is_current and _has(own, self.modules, own.stat().st_mtime_ns):
                return own
            raise ToolError(
                f"the Python environment '{self.name}' in '{self.folder}' is incomplete or made "
                f"for other versions; make it again with: {self.install_command}"
            )
        if self.within:
            try:
                return ENVIRONMENTS[self.within].find()
            except ToolError:
                pass  # this one is missing
        raise ToolError(
            f"the Python environment '{self.name}', which {self.purpose}, is missing; "
            f"make it with: {self.install_command}; or name a Python that has "
            f"{shlex.join(self.requirements)} in {self.variable}"
        )

    @property
    def identity(self) -> str:
        """An identifier of the packages, even if some are missing; it starts no process."""
        named = os.environ.get(self.variable)
        is_here = all(map(extras.is_here, self.modules))
        own = Path(sys.executable) if is_here else python_of(self.folder)
        python = Path(named) if named else own
        folders = sorted(python.parent.parent.glob("lib/python*/site-packages"))
        changed = [folder.stat().st_mtime_ns for folder in folders]
        return json.dumps([str(python), self.requirements, changed])

    @property
    def is_current(self) -> bool:
        """Whether the environment in `folder` is complete and meets today's requirements."""
        try:
            installed = json.loads((self.folder / STAMP).read_text())
        except (OSError, ValueError):
            return False
        return bool(installed == list(self.requirements))

    def fault(self, python: Path) -> str:
        """Import the packages; return why that fails in a few words, "" if it works."""
        command = [str(python), "-P", "-c", f"import {', '.join(self.modules)}"]
        try:
            run_command(command, _IMPORT_S, child_variables(python))
        except CommandError as error:
            printed = error.words.strip().splitlines()
            return f"{error}" + f": {printed[-1]}" * bool(printed)
        return ""

    def _named(self, named: str) -> Path:
        program = named_program(self.variable, named)
        if not _has(program, self.modules, 0):
            raise ToolError(
                f"{self.variable} names '{named}', which is not a Python with the packages "
                f"{', '.join(self.modules)}; install {shlex.join(self.requirements)} there, or "
                "unset the variable"
            )
        return program


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            "torch",
            "reads, runs and quantizes .pt2 files",
            ("torch", "torchao", "executorch", "tvm"),
            shared=("apache-tvm",),
        ),
        Environment(
            "tosa",
            "runs .tosa files on TOSA's reference model",
            ("tosa_reference_model",),
            within="torch",
        ),
        Environment("keras", "converts Keras models and SavedModels", ("tensorflow",)),
    )
}
"""All of them, by name."""


def python_of(folder: Path) -> Path:
    """Return the path of a virtual environment's Python."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def child_variables(python: Path) -> dict[str, str]:
    """Return the variables for a child of `python`: none that lead it to another's packages."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"  # a named Python is the user's
    if python == Path(sys.executable):
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return variables


@lru_cache(maxsize=16)
def _has(python: Path, modules: tuple[str, ...], _changed: int) -> bool:
    command = [str(python), "-P", "-c", _PROBE, *modules]
    try:
        ended = subprocess.run(
            command,
            env=child_variables(python),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0


def _ethosgen() -> str:
    """Return the running ethosgen's command for a shell: it is often not on PATH."""
    program = shutil.which("ethosgen")
    if program and Path(program).resolve().parent == Path(sys.executable).parent:
        return "ethosgen"
    return f"{shlex.quote(sys.executable)} -m ethosgen"
