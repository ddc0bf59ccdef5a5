"""Runs the command line for the measurements."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ETHOSGEN = Path(sys.executable).parent / "ethosgen"
TIMEOUT_S = 1800

Figures = dict[str, Any]


class BenchError(RuntimeError):
    """A command that gave no answer, and its error output (`words`); it gets no figure."""

    def __init__(self, message: str, words: str) -> None:
        super().__init__(f"{message}\n{words}")
        self.words = words


def ethosgen(*arguments: object) -> str:
    """Run the command line and return its stdout; BenchError if it fails, except with FAIL."""
    command = [str(ETHOSGEN), *(str(a) for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    # Status 1 with a report means that the network runs and differs: a figure, although a bad one.
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise BenchError(f"status {done.returncode}: {' '.join(command[1:])}", done.stderr)
    return done.stdout


def report(*arguments: object) -> Figures:
    """Run a command with --json and return its object."""
    answer: Figures = json.loads(ethosgen(*arguments, "--json"))
    return answer
