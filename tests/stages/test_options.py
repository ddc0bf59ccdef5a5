"""Options of pipelines: accelerators, the schema of system files, JUnit."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.board import load_board
from ethosgen.board.system import load_system, system_schema, uniform_system
from ethosgen.cli import cli
from ethosgen.commands.junit import JUnitFile
from ethosgen.frontend import read
from ethosgen.stages.report import ElementFigures, PipelineReport, Suspect
from ethosgen.stages.timing import PipelineTiming
from ethosgen.systems.estimates import Estimates
from ethosgen.values.errors import InputError
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.outcome import Difference, OutputComparison
from ethosgen.values.plan import EXACT, PlanSummary
from tests import ROOT
from tests.support.needs import needs_build, needs_qemu

DIGITS = ROOT / "demo" / "digits_int8.tflite"
REPORT = PipelineReport(
    network="net",
    link="serial",
    samples=1,
    elements=(ElementFigures("front", "corstone300", 1, 1, 1, 0, 1, 1, 1, 1, 1),),
    schedule=PipelineTiming(1.0, 1.0, 1.0),
    golden=OutputComparison("tflm", 0, 10, 0.0),
    second=None,
    plans=(PlanSummary("none", 0, 0, (), 0, 0),),
    alone=None,
    why_not_alone="it is too large",
)


def test_the_schema_for_editors_is_current() -> None:
    said = CliRunner().invoke(cli, ["pipeline", "--schema"])
    assert said.output == system_schema()
    committed = (ROOT / "docs" / "pipeline.schema.json").read_text()
    assert committed == said.output, "run: ethosgen pipeline --schema > docs/pipeline.schema.json"


def test_every_field_of_a_system_file_is_documented() -> None:
    schema = json.loads(system_schema())
    for title, table in {"system": schema, **schema["$defs"]}.items():
        assert table["additionalProperties"] is False
        for name, field in table["properties"].items():
            assert field.get("description"), f"{title}.{name}"


def test_accelerators_of_elements_are_names_or_folders_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "system.toml"
    head = '[[elements]]\nname = "front"\nboard = "corstone300"\n'
    file.write_text(head + 'accelerators = ["matrix-engine", "./mine"]\n')
    (element,) = load_system(file).elements
    assert element.accelerators == ("matrix-engine", str(tmp_path / "mine"))
    said = CliRunner().invoke(
        cli, ["pipeline", str(DIGITS), "--system", str(file), "--accelerator", "matrix-engine"]
    )
    assert isinstance(said.exception, InputError)
    assert "omit --accelerator" in str(said.exception)


def test_an_accelerator_makes_its_elements_faster_by_estimate() -> None:
    board = load_board("corstone300")
    plain = uniform_system(board, "none", None, 2, "shared")
    helped = uniform_system(board, "none", None, 2, "shared", ["matrix-engine"])
    network = read(DIGITS)
    slow, fast = (Estimates(network, system, EXACT) for system in (plain, helped))
    assert fast.cycles(0, 0, slow.count) < 0.5 * slow.cycles(0, 0, slow.count)


@pytest.mark.slow
@needs_build
@needs_qemu
def test_elements_with_devices_of_the_users_equal_the_oracle(tmp_path: Path) -> None:
    place, junit = str(tmp_path / "p"), tmp_path / "junit.xml"
    command = ["pipeline", str(DIGITS), "--stages", "2", "--board", "corstone300", "--npu", "none"]
    command += ["--link", "shared", "--accelerator", "matrix-engine", "--json", "-o", place]
    for words in (command, ["build", place], ["run", place, "--junit", str(junit), "--json"]):
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == 0, done.output
        if words is command:
            elements = json.loads(done.stdout)["elements"]
            shares = [element["plan"]["accelerators"][0]["operators"] for element in elements]
            assert sum(shares) > 2
    report = json.loads(done.stdout)
    assert (report["verdict"], report["mismatches"]) == ("PASS", 0)
    assert "matrix-engine" in {op["on"] for op in report["elements"][0]["plan"]["operators"]}
    suite = ET.parse(junit).getroot().find("testsuite")
    assert suite is not None
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        *("2", "0", "0"),
    )


WRONG = OutputComparison("tflm", 3, 10, 2.0)
NEAR = Fidelity("ONNX Runtime", elements=9, most_steps=1.0, limit=1.0)
SUSPECT = Suspect("front", Difference(0, "y", (1,), 4, 5))


@pytest.mark.parametrize(
    ("changes", "verdict", "failures", "says"),
    [
        ({}, "PASS", 0, ""),
        ({"golden": WRONG, "suspect": SUSPECT}, "FAIL", 1, "element 'front' is the first that is"),
        ({"fidelity": NEAR}, "PASS", 0, ""),
        ({"fidelity": replace(NEAR, most_steps=2.0)}, "FAIL", 1, "limit"),
        ({"is_alone_equal": False}, "FAIL", 1, "FAIL"),
        ({"golden": None}, "NOT COMPARED", 0, ""),
    ],
)
def test_a_pipeline_has_a_junit_file(
    tmp_path: Path, changes: Mapping[str, object], verdict: str, failures: int, says: str
) -> None:
    report = replace(REPORT, **changes)  # type: ignore[arg-type]
    assert report.verdict == verdict
    with JUnitFile(tmp_path / "junit.xml", "p") as junit:
        junit.record(report)
    text = (tmp_path / "junit.xml").read_text()
    assert text.count("<failure") == failures
    assert says in text
