"""Coverage of a firmware on QEMU, by lines of C whose coverage is known, and what cannot count."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen import flow
from ethosgen.cli import cli
from ethosgen.flow.coverage import measure_coverage
from ethosgen.flow.firmware_run import run_and_judge
from ethosgen.flow.planning import read_stored
from ethosgen.project import open_project
from ethosgen.targets import run
from ethosgen.toolchain.coverage import build_covered, read_coverage
from ethosgen.values.coverage import CodeCoverage
from ethosgen.values.errors import InputError, TargetError, ToolError
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.aot_harness import samples_and_golden
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe
from tests.support.small_models import image_net, two_inputs

WAITS = 4
"""Statements of the driver that only run while it waits for the NPU."""
PROBE = """
int probe_turns;

static int probe(int turns)
{
    int sum = 0;

    while (turns > 0) {
        sum += turns--;
    }
    if (sum < 0) {
        sum = -1;
        probe_turns = 2;
    }
    return sum;
}

int lonely(int value);
int lonely(int value)
{
    return value + 1;
}

__attribute__((constructor)) static void start(void)
{
    probe_turns = probe(3);
}
"""
"""C whose coverage follows from reading it; the startup code calls constructors."""


def line_of(text: str, words: str) -> int:
    (line,) = (n for n, each in enumerate(text.splitlines(), 1) if words in each)
    return line


@needs_qemu
def test_lines_of_known_coverage(tmp_path: Path) -> None:
    net = NetworkBuilder("n", seed=2)
    path = tmp_path / "n.tflite"
    path.write_bytes(net.build(net.conv2d(net.input((1, 4, 4, 3)), 5)))
    asked = recipe(path, npu="none")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    probed = tmp_path / "p" / "model" / "n.c"
    text = probed.read_text() + PROBE
    probed.write_text(text)
    built = flow.build_project(tmp_path / "p", watch=Watch())
    info = open_project(tmp_path / "p")
    options = flow.RunOptions(Inputs(None, 2, 5), coverage=True)
    report = run_and_judge(
        {0: read_stored(info.networks[0], Watch())}, info, built, options, Watch()
    )
    assert isinstance(report, Report) and report.passed and report.coverage is not None
    coverage = report.coverage
    assert [gap.lines for gap in coverage.unreached if gap.function == "probe"] == [
        (line_of(text, "sum = -1"), line_of(text, "probe_turns = 2"))
    ]
    assert [gap.lines for gap in coverage.untaken if gap.function == "probe"] == [
        (line_of(text, "if (sum < 0)"),)
    ]
    counts = {each.line: each for each in coverage.statements if each.function == "probe"}
    assert counts[line_of(text, "sum += turns--")].count == 3
    assert sorted(counts[line_of(text, "while (turns > 0)")].branches) == [1, 3]
    assert "lonely" in coverage.unlinked["n.c"]
    runs = {each.count for each in coverage.statements if each.function == "n_run"}
    assert max(runs) == report.samples


@needs_qemu
def test_several_networks_have_one_coverage_and_json_lists_it(tmp_path: Path) -> None:
    paths = str(image_net(tmp_path / "a.tflite")), str(two_inputs(tmp_path / "b.tflite"))
    command = ["verify", *paths, "--board", "corstone300", "--samples", "1", "--coverage"]
    result = CliRunner().invoke(cli, [*command, "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [network["coverage"] for network in answer["networks"]] == [None, None]
    coverage = answer["coverage"]
    assert (
        0 < coverage["reached"] < coverage["statements"]
        and 0 < coverage["taken"] < coverage["branches"]
    )
    assert coverage["reached"] == sum(file["reached"] for file in coverage["files"].values())
    assert {"a/a.c", "b/b.c", "ethosgen_npu_run.h"} <= set(coverage["files"])
    missed = sum(len(gap["lines"]) for gap in coverage["unreached"])
    assert missed == coverage["statements"] - coverage["reached"]
    text = CliRunner().invoke(cli, command).stdout
    # Another run: whether it waits for the NPU depends on how fast QEMU and the NPU model are.
    again = re.search(r"coverage  (\d+) of (\d+) statements", text)
    assert again is not None and int(again[2]) == coverage["statements"]
    assert abs(int(again[1]) - coverage["reached"]) <= WAITS


@pytest.mark.parametrize(
    "more", [["--on", "fvp"], ["--platform", "zephyr"], ["--platform", "csolution"]]
)
def test_what_cannot_count_is_one_sentence(tmp_path: Path, more: list[str]) -> None:
    network = str(image_net(tmp_path / "n.tflite"))
    command = ["verify", network, "--board", "corstone300", "--coverage", *more]
    result = CliRunner().invoke(cli, command)
    assert isinstance(result.exception, InputError)
    assert "use it with --on qemu and --platform baremetal" in str(result.exception)


def test_a_missing_gcov_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETHOSGEN_GCC", "true")
    monkeypatch.setenv("ETHOSGEN_GCOV", "no-such-gcov")
    network = str(image_net(tmp_path / "n.tflite"))
    result = CliRunner().invoke(cli, ["verify", network, "--board", "corstone300", "--coverage"])
    assert isinstance(result.exception, ToolError)
    assert "ETHOSGEN_GCOV names 'no-such-gcov'" in str(result.exception)


@needs_build
def test_a_firmware_that_did_not_end_has_no_coverage(tmp_path: Path) -> None:
    asked = recipe(image_net(tmp_path / "n.tflite"), npu="none")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    info = open_project(tmp_path / "p")
    elf = build_covered(info, "qemu", tmp_path / "counts")
    with pytest.raises(TargetError, match="wrote no counts"):
        read_coverage(info, elf, tmp_path / "counts")


@needs_qemu
def test_other_outputs_are_refused(tmp_path: Path) -> None:
    asked = recipe(image_net(tmp_path / "n.tflite"), npu="none")
    flow.create_project(asked, directory=tmp_path / "p", watch=Watch())
    info = open_project(tmp_path / "p")

    network = read_stored(info.networks[0], Watch())
    samples, _ = samples_and_golden(network, 1)
    built = flow.build_project(tmp_path / "p", watch=Watch())
    outcome = run(built.elf, info, samples, attach=None)
    jobs = [(0, samples[0])]
    assert isinstance(measure_coverage(jobs, outcome, info, "qemu", Watch()), CodeCoverage)
    (sample,) = outcome.samples
    wrong = {name: array + 1 for name, array in sample.outputs.items()}
    outcome = replace(outcome, samples=[replace(sample, outputs=wrong)])
    with pytest.raises(TargetError, match="computes different outputs"):
        measure_coverage(jobs, outcome, info, "qemu", Watch())
