"""JUnit files: what a continuous integration reads, however the run ended."""

import dataclasses
import errno
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ethosgen.commands.junit import JUnitFile
from ethosgen.host.termination import Terminated
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.outcome import OutputComparison
from ethosgen.values.plan import PlanSummary
from ethosgen.values.report import Report

PASSED = Report(
    network="net",
    board="corstone300",
    on="qemu",
    plan=PlanSummary("ethos-u55-128", 1, 1, (), 100, 10),
    samples=1,
    golden=OutputComparison("tflm", 0, 10, 0.0),
    second=None,
    ended=True,
    wall_s={"run": 0.5},
)


def suite_of(path: Path) -> ET.Element:
    suite = ET.parse(path).getroot().find("testsuite")
    assert suite is not None
    return suite


@pytest.mark.parametrize(
    ("changes", "failures", "skipped"),
    [
        ({}, 0, 0),
        ({"golden": OutputComparison("tflm", 3, 10, 2.0)}, 1, 0),
        ({"golden": OutputComparison("tflm", 0, 0, 0.0)}, 1, 0),
        ({"ended": False}, 1, 0),
        ({"golden": None}, 0, 1),
    ],
)
def test_a_report_becomes_cases(
    tmp_path: Path, changes: dict[str, object], failures: int, skipped: int
) -> None:
    path = tmp_path / "deep" / "junit.xml"
    with JUnitFile(path, "net") as junit:
        junit.record(dataclasses.replace(PASSED, **changes))  # type: ignore[arg-type]
    suite = suite_of(path)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == failures
    assert int(suite.attrib["skipped"]) == skipped
    assert (suite.attrib["errors"], suite.attrib["tests"]) == ("0", "2")
    assert suite.attrib["time"] == "0.5"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TargetError("QEMU ended <early> & badly"), "QEMU ended <early>"),
        (KeyError("x"), "bug: 'x'"),
        (OSError(errno.EROFS, "Read-only file system", "y.npz"), "cannot use 'y.npz': Read-only"),
        (Terminated(15), "SIGTERM"),
    ],
)
def test_a_run_that_fails_is_an_error(tmp_path: Path, error: BaseException, said: str) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("of an earlier run")
    with pytest.raises(type(error)), JUnitFile(path, "net"):
        assert not path.exists(), "what a killed run would leave must not be an old verdict"
        raise error
    suite = suite_of(path)
    problem = suite.find("testcase/error")
    assert suite.attrib["errors"] == "1" and problem is not None
    assert problem.attrib["message"].startswith(said)


def test_a_run_without_report_is_an_error(tmp_path: Path) -> None:
    with JUnitFile(tmp_path / "junit.xml", "net"):
        pass
    assert suite_of(tmp_path / "junit.xml").attrib["errors"] == "1"


def test_without_a_path_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with JUnitFile(None, "net") as junit:
        junit.record(PASSED)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot"), JUnitFile(tmp_path / "file" / "x.xml", "net"):
        pass
