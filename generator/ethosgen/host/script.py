"""Runs a script of ethosgen in a Python environment: its packages never enter this process.

A script is a file that imports only the standard library, numpy, the environment's packages, and
the modules of ethosgen that need no more than these. Its function takes the request (JSON's types),
the arrays by name, and a folder with the files; it returns a pair like the first two. To refuse its
input, it raises an EthosgenError. Data pass as JSON and .npz in a temporary folder, so this process
unpickles nothing, whatever the child has read.
"""

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ethosgen.host import script_main
from ethosgen.host.child import ChildError, cause_of_death, registered
from ethosgen.host.environments import Environment, child_variables

Arrays = Mapping[str, NDArray[Any]]

_TAIL = 4000


@dataclass(frozen=True)
class ScriptReply:
    """A script's results, and its output."""

    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    log: str = ""


def run_script(
    environment: Environment,
    script: Path,
    function: str,
    request: Mapping[str, Any],
    arrays: Arrays | None = None,
    files: Mapping[str, bytes] | None = None,
    limit_s: float = 600.0,
) -> ScriptReply:
    """Call `function` of the file `script` in the environment's Python and return its answer.

    Raises ToolError if the environment is missing, and ChildError, whose `how` is "refused" if the
    script raised an EthosgenError, else "raised", "died" or "late".
    """
    python = environment.find()
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as place:
        folder = Path(place)
        (folder / script_main.REQUEST).write_text(json.dumps(dict(request)))
        script_main.store(folder / script_main.INPUTS, dict(arrays or {}))
        (folder / script_main.FILES).mkdir()
        for name, data in (files or {}).items():
            (folder / script_main.FILES / name).write_bytes(data)
        command = [str(python), "-P", script_main.__file__, str(script), function, place]
        log = _wait(command, python, limit_s)
        return _reply(folder, log)


def _wait(command: list[str], python: Path, limit_s: float) -> str:
    with (
        subprocess.Popen(
            command,
            env=child_variables(python),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as started,
        registered(started),
    ):
        try:
            output, _ = started.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise ChildError("late", f"it did not finish in {limit_s:g} s") from None
    log = output.decode("utf-8", "replace")[-_TAIL:]
    if started.returncode != 0:
        raise ChildError("died", cause_of_death(started.returncode), log)
    return log


def _reply(folder: Path, log: str) -> ScriptReply:
    try:
        answer = json.loads((folder / script_main.ANSWER).read_text())
        arrays = script_main.load(folder / script_main.OUTPUTS)
    except (OSError, ValueError, KeyError) as error:
        raise ChildError("died", f"it left no answer: {error}", log) from None
    if answer["how"] != script_main.RETURNED:
        raise ChildError(answer["how"], answer["message"], log + answer["log"])
    return ScriptReply(answer["values"], arrays, log)
