"""Runs .pt2 files with PyTorch, in the environment "torch"."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ethosgen.frontend.torch.archive import PROGRAM, checked
from ethosgen.host.child import ChildError
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.host.tools import run_command
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.outcome import Arrays
from ethosgen.values.source import Source

_SCRIPT = Path(__file__).with_name("torch_program.py")
_VERSION = "from importlib.metadata import version; print(version('torch'))"
_LIMIT_S = 60.0


def run(source: Source, samples: Sequence[Arrays]) -> list[Arrays]:
    """Return the outputs of each sample, by name, operator by operator, as in the program."""
    program = checked(source)
    arrays = {f"{i} {name}": a for i, sample in enumerate(samples) for name, a in sample.items()}
    request = {"samples": len(samples), "inputs": list(program.inputs)}
    files = {PROGRAM: program.archive()}
    try:
        reply = run_script(ENVIRONMENTS["torch"], _SCRIPT, "run", request, arrays, files)
    except ChildError as error:
        words = " ".join(str(error).split())[:200]
        raise UnsupportedError(f"PyTorch refuses '{source.name}': {words}") from None
    return [
        {name: reply.arrays[f"{i} {number}"] for number, name in enumerate(program.outputs)}
        for i in range(len(samples))
    ]


@cache
def version() -> str:
    """Return PyTorch's version."""
    return run_command([str(ENVIRONMENTS["torch"].find()), "-c", _VERSION], _LIMIT_S).strip()
