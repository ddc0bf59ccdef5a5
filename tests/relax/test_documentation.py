"""The page's example is complete, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "relax.md"
SAID = re.compile(r"^    # (ethosu\..*)$", re.MULTILINE)


def test_the_example_runs_as_described(tmp_path: Path) -> None:
    page = PAGE.read_text()
    lines = [line[4:] for line in page.splitlines() if line.startswith("    ") or not line]
    script = tmp_path / "example.py"
    script.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    *supports, steps = done.stdout.splitlines()
    assert supports == SAID.findall(page) and len(supports) == 3
    assert float(steps) <= 1.01
