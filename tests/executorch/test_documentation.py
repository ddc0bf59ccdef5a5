"""The page's example is complete, prints what the page says, and its files are exact."""

import re
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.beside_torch import run_beside_torch
from tests.support.needs import needs_torch

pytestmark = [pytest.mark.slow, needs_torch]

PAGE = ROOT / "docs" / "executorch.md"
SAID = re.compile(r"^    # (aten\..*)$", re.MULTILINE)


def test_the_example_runs_as_described(tmp_path: Path) -> None:
    page = PAGE.read_text()
    code = [line[4:] for line in page.splitlines() if line.startswith("    ") or not line]
    script = tmp_path / "example.py"
    script.write_text("\n".join(code))
    done = run_beside_torch(script, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("aten.")]
    assert lines == SAID.findall(page) and len(lines) == 10
    assert (tmp_path / "firmware" / "model" / "network.h").is_file()
    report = flow.simulate(
        tmp_path / "shared.pte", npu=None, inputs=Inputs(None, None, 0), watch=Watch()
    )
    assert report.passed and report.golden is not None and report.golden.mismatches == 0
