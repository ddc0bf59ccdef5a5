"""Runs and projects through the package, beside what the commands print."""

import json
from pathlib import Path

import numpy as np
import pytest

import ethosgen
from ethosgen.cli import cli
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.small_models import image_net

DIGITS = ROOT / "demo" / "digits_int8.tflite"
NPU = "ethos-u55-128"


def test_simulate_gives_the_commands_report_and_the_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = ethosgen.read(DIGITS)
    stages: list[str] = []
    run = ethosgen.simulate(network, npu=NPU, samples=3, seed=5, announce=stages.append)
    file = tmp_path / "outputs.npz"
    line = ["simulate", str(DIGITS), "--npu", NPU, "--samples", "3", "--seed", "5", "--json"]
    cli.main([*line, "--output", str(file)], standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    told = json.loads(json.dumps(run.report.as_json()))
    for report in (printed, told):
        assert report.pop("wall_s")
    assert told == printed
    assert run.passed
    assert stages
    with np.load(file) as archive:
        assert set(archive.files) == set(run.outputs)
        for name in archive.files:
            np.testing.assert_array_equal(archive[name], run.outputs[name])
    again = ethosgen.simulate(network, npu=NPU, inputs=ethosgen.draw_samples(network, 3, seed=5))
    for name, array in run.outputs.items():
        np.testing.assert_array_equal(array, again.outputs[name])


def test_report_gives_what_the_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, trace = tmp_path / "r.html", tmp_path / "t.json"
    network = ethosgen.read(DIGITS)
    report = ethosgen.create_report(network, npu=NPU, samples=2, output=page, perfetto=trace)
    line = ["report", str(DIGITS), "--npu", NPU, "--samples", "2", "--json"]
    cli.main(line, standalone_mode=False)
    printed = json.loads(capsys.readouterr().out)
    told = json.loads(json.dumps(report.as_json()))
    assert printed.pop("command").startswith("ethosgen report ")
    assert told.pop("command") == (f"ethosgen.create_report('digits_int8', npu='{NPU}', samples=2)")
    assert told == printed
    assert report.verdict.verdict == "PASS" and report.costs.npu_cycles
    assert "</html>" in page.read_text("utf-8") and json.loads(trace.read_text())["traceEvents"]
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(ethosgen.EthosgenError, match="ethosgen report did not write it"):
        ethosgen.create_report(network, npu=NPU, output=tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_text() == "mine"


@needs_qemu
def test_a_project_is_created_built_and_run(tmp_path: Path) -> None:
    network = ethosgen.read(DIGITS, name="numbers")
    written = ethosgen.create_project(network, directory=tmp_path / "p", board="corstone300")
    assert (tmp_path / "p" / "model" / "numbers.h").is_file()
    assert written.directory == tmp_path / "p"
    built = ethosgen.build_project(written.directory)
    assert built.elf.is_file()
    samples = next(iter(ethosgen.draw_samples(network, 2).values()))
    run = ethosgen.run_project(written.directory, inputs=samples)
    assert run.passed
    assert run.report.ended
    wanted = ethosgen.simulate(network, npu="none", inputs=samples)
    for name, array in wanted.outputs.items():
        np.testing.assert_array_equal(array, run.outputs[name])


@needs_qemu
def test_verify_runs_one_network_or_several(tmp_path: Path) -> None:
    network = ethosgen.read(DIGITS)
    run = ethosgen.verify(network, DIGITS, board="corstone300", samples=1, names=("a", "b"))
    assert run.passed
    assert [report.network for report in run.report.reports] == ["a", "b"]
    assert run.outputs == {}
    with pytest.raises(ethosgen.EthosgenError, match="is for one network, but there are 2"):
        ethosgen.verify(network, DIGITS, board="corstone300", inputs=ethosgen.draw_samples(DIGITS))


def test_wrong_arguments_are_one_sentence(tmp_path: Path) -> None:
    for wrong in ({"npu": "ethos-u99"}, {"io": "stack"}, {"platform": "windows"}):
        with pytest.raises(ethosgen.EthosgenError, match=next(iter(wrong.values()))):
            ethosgen.verify(DIGITS, board="corstone300", **wrong)
    with pytest.raises(ethosgen.EthosgenError, match=r"cannot read .*none\.tflite"):
        ethosgen.simulate(tmp_path / "none.tflite")


def test_values_are_short_in_a_shell_and_tables_in_a_notebook(tmp_path: Path) -> None:
    path = image_net(tmp_path / "net.tflite")
    network = ethosgen.read(path)
    assert repr(network).startswith("<Network 'net': 6 operators, ") and len(repr(network)) < 200
    run = ethosgen.simulate(network, samples=1)
    assert repr(run) == "<Run PASS: net on the NPU model (ethos-u55-128, simulate)>"
    assert "PASS" in run._repr_html_() and "<table>" in run._repr_html_()
    page = ethosgen.create_report(network, npu="none", samples=1)
    assert repr(page).startswith("<NetworkReport PASS: net") and "CONV_2D" in page._repr_html_()
    report = ethosgen.compare(network, npus=["none"], samples=0)
    assert repr(report) == "<ComparisonReport: 1 result>"
