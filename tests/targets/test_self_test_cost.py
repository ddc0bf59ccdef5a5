"""The table of the self-test's costs in its page: measured anew, on QEMU."""

import re
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

WORDS = ROOT / "demo" / "kws_int8.tflite"
PAGE = ROOT / "docs" / "self_test.md"
ROWS = (
    "bytes that it reads",
    "flash, in bytes: code and constants",
    "RAM, in bytes",
    "instructions of the processor, with the inference, in thousands",
)


def in_page(row: str) -> list[int]:
    """Return a row's figures: with the NPU, and on the CPU alone."""
    (cells,) = re.findall(
        rf"^\| {re.escape(row)} \| ([\d,]+) \| ([\d,]+) \|$", PAGE.read_text(), re.M
    )
    return [int(cell.replace(",", "")) for cell in cells]


def started(project: Path, *, self_test: bool) -> Report:
    flow.build_project(project, self_test=self_test, watch=Watch())
    options = flow.RunOptions(Inputs(None, 1, 0), self_test=self_test)
    report = flow.run_project(project, options, watch=Watch())
    assert isinstance(report, Report) and report.passed
    return report


@pytest.mark.parametrize(("column", "npu"), [(0, "ethos-u55-128"), (1, "none")])
def test_the_page_has_the_costs(column: int, npu: str, tmp_path: Path) -> None:
    project = tmp_path / "p"
    flow.create_project(recipe(WORDS, npu=npu, names=("kws",)), directory=project, watch=Watch())
    header = (project / "model" / "kws_self_test.h").read_text()
    (size,) = re.findall(r"SELF_TEST_BYTES (\d+)u", header)
    with_it, without = (started(project, self_test=each) for each in (True, False))
    assert with_it.flash_bytes is not None and without.flash_bytes is not None
    assert with_it.ram_bytes is not None and without.ram_bytes is not None
    assert with_it.init_instructions is not None and without.init_instructions is not None
    measured = [
        int(size),
        with_it.flash_bytes["total"] - without.flash_bytes["total"],
        with_it.ram_bytes["total"] - without.ram_bytes["total"],
        round((with_it.init_instructions - without.init_instructions) / 1000),
    ]
    assert measured == [in_page(row)[column] for row in ROWS]
