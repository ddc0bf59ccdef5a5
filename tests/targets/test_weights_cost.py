"""What a run's comparison of its header of weights costs: the project's own build, on QEMU."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe

pytestmark = needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
PAGES = ("self_test.md", "weights.md", "over_the_air.md")
COMPARISON = "if (ethosgen_weights_changed(&digits_weights_file))"


def instructions(project: Path) -> float:
    flow.build_project(project, watch=Watch())
    report = flow.run_project(project, flow.RunOptions(Inputs(None, 2, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.cpu_instructions is not None
    return report.cpu_instructions


@pytest.mark.parametrize(
    ("board", "npu"), [("corstone300", "ethos-u55-128"), ("mps2-an386", "none")]
)
def test_the_comparison_costs_what_the_pages_say(board: str, npu: str, tmp_path: Path) -> None:
    wanted = recipe(DIGITS, board=board, npu=npu, apart=True, names=("digits",), check=False)
    flow.create_project(wanted, directory=tmp_path / "p", watch=Watch())
    before = instructions(tmp_path / "p")
    source = tmp_path / "p" / "model" / "digits.c"
    text = source.read_text()
    assert text.count(COMPARISON) == 1
    source.write_text(text.replace(COMPARISON, "if (false)"))
    cost = before - instructions(tmp_path / "p")
    assert cost == 21
    for page in PAGES:
        assert f"{cost:.0f} instructions" in (ROOT / "docs" / page).read_text(), page
