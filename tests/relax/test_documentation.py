"""The page's example is complete, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ethosgen
import ethosgen.relax
from tests import ROOT
from tests.support.needs import needs_gcc

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "relax.md"
SAID = re.compile(r"^    # (\w+\.\w+ .*|0\.0)$", re.MULTILINE)


@needs_gcc
def test_the_example_runs_as_described(tmp_path: Path) -> None:
    page = PAGE.read_text()
    code = [line[4:] for line in page.splitlines() if line.startswith("    ") or not line]
    script = tmp_path / "example.py"
    script.write_text("\n".join(code))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert float(lines.pop(3)) <= 1.01, "steps between a float module and integers"
    assert lines == SAID.findall(page) and len(lines) == 7


def test_the_functions_for_users_of_microtvm_exist() -> None:
    page = (ROOT / "docs" / "from_microtvm.md").read_text()
    calls = re.findall(r"`(?:\w+ = )?ethosgen\.(relax\.)?(\w+)\(", page)
    assert len(calls) > 6
    for part, name in calls:
        assert hasattr(ethosgen.relax if part else ethosgen, name), name
