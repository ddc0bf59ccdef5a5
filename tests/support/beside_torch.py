"""Runs Python with PyTorch and, as in a user's one environment, ethosgen."""

import os
import subprocess
import sys
from pathlib import Path

from ethosgen.host.environments import ENVIRONMENTS
from tests import ROOT


def run_beside_torch(
    *arguments: str | Path, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the Python of the environment `torch` with the packages of this one."""
    here = [path for path in sys.path if path]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "generator"), *here])}
    command = [str(ENVIRONMENTS["torch"].find()), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=variables, cwd=folder
    )
