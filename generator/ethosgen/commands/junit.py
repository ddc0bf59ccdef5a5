"""JUnit XML of a run, for the test reports of continuous integration; it fails closed."""

import xml.etree.ElementTree as ET
from pathlib import Path
from types import TracebackType
from typing import Self

from ethosgen.host.storage import explain_storage
from ethosgen.stages.report import PipelineReport
from ethosgen.values.application import ApplicationReport
from ethosgen.values.errors import EthosgenError, cannot_write
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.report import FirmwareReport, Report

Recorded = Report | FirmwareReport | PipelineReport | ApplicationReport

_ORACLE = "TensorFlow Lite Micro"
_MARKER = "the firmware's end marker was seen"


class JUnitFile:
    """One file for one run, written however the run ends; without a path it does nothing.

    It first removes an older file of that name, so that a killed run leaves none. A run without a
    report, or with an exception, becomes an error.
    """

    def __init__(self, path: Path | None, name: str) -> None:
        self._path = path
        self._name = name
        self._report: Recorded | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(self._path, error) from None
        return self

    def record(self, report: Recorded) -> None:
        """Store the report that the file will contain."""
        self._report = report

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is None:
            return
        suite = make_suite(self._name, self._report, error)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            ET.ElementTree(suite).write(self._path, encoding="utf-8", xml_declaration=True)
        except OSError as problem:
            raise cannot_write(self._path, problem) from None


def make_suite(name: str, report: Recorded | None, error: BaseException | None) -> ET.Element:
    """Return a <testsuites> with one suite; an error or a missing report becomes an <error> in it.

    With several networks, the cases of each are in a class of its own.
    """
    cases = []
    if error is not None or report is None:
        case = ET.Element("testcase", classname=f"ethosgen.{name}", name="run")
        kind = type(error).__name__ if error is not None else "NoReport"
        words = str(error) if error is not None else "the run left no report"
        words = explain_storage(error) or words
        is_bug = isinstance(error, Exception) and not isinstance(error, EthosgenError)
        expected = not is_bug or explain_storage(error) is not None
        ET.SubElement(case, "error", type=kind, message=words if expected else f"bug: {words}")
        cases.append(case)
    elif isinstance(report, ApplicationReport):
        cases = [_application_case(name, report)]
    elif isinstance(report, FirmwareReport):
        cases = [case for one in report.reports for case in _cases(f"{name}.{one.network}", one)]
    else:
        cases = _cases(name, report)
    application = getattr(report, "application", None)
    if application is not None:
        cases.append(_application_case(name, application))
    counts = {
        kind: str(sum(1 for case in cases if case.find(tag) is not None))
        for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    }
    suites = ET.Element("testsuites")
    seconds = sum(report.wall_s.values()) if report is not None else 0.0
    suite = ET.SubElement(
        suites,
        "testsuite",
        name=f"ethosgen.{name}",
        tests=str(len(cases)),
        time=f"{seconds:.3f}",
    )
    suite.attrib.update(counts)
    suite.extend(cases)
    return suites


def _application_case(name: str, application: ApplicationReport) -> ET.Element:
    """Return the case of an application's run."""
    group = f"ethosgen.{name}"
    case = ET.Element("testcase", classname=group, name=f"the application '{application.app}'")
    if application.expected is None:
        ET.SubElement(case, "skipped", message=application.text())
    elif not application.passed:
        ET.SubElement(case, "failure", type="Application", message=application.text())
    ET.SubElement(case, "system-out").text = "\n".join(application.lines)
    return case


def _fidelity(group: str, fidelity: Fidelity) -> ET.Element:
    """Return the case of the network's own runtime; without a limit it cannot fail."""
    case = ET.Element("testcase", classname=group, name=f"outputs near {fidelity.title}'s")
    if fidelity.skipped:
        ET.SubElement(case, "skipped", message=fidelity.skipped)
    elif not fidelity.passed:
        ET.SubElement(case, "failure", type="Fidelity", message=fidelity.text())
    ET.SubElement(case, "system-out").text = fidelity.text()
    return case


def _cases(name: str, report: Report | PipelineReport) -> list[ET.Element]:
    group = f"ethosgen.{name}"
    golden = report.golden
    oracle = (golden.title if golden else "") or _ORACLE
    near = f"within {steps_text(golden.steps)} of" if golden and golden.steps else "equal"
    outputs = ET.Element("testcase", classname=group, name=f"outputs {near} {oracle}'s")
    if golden is None:
        ET.SubElement(outputs, "skipped", message="no golden output; pass --golden")
    elif golden.mismatches or not golden.elements:
        words = (
            f"{golden.mismatches} of {counted(golden.elements, 'output')} differ, by "
            f"at most {golden.max_abs_diff:g}"
        )
        found = [f"{title}: {text}" for title, text in report.findings.items()]
        failure = ET.SubElement(
            outputs, "failure", type="Mismatch", message="; ".join((words, *found))
        )
        failure.text = "\n".join((words, *found))
    if golden is not None:
        decided = ET.SubElement(outputs, "system-out")
        omitted = report.findings.get("left out", "")
        parts = (oracle, golden.version, golden.note, omitted and f"left out {omitted}")
        decided.text = " ".join(filter(None, parts))
    marker = ET.Element("testcase", classname=group, name=_MARKER)
    if not report.ended:
        ET.SubElement(marker, "failure", type="NoEndMarker", message="it was never seen")
    cases = [outputs, marker]
    if report.fidelity:
        cases.append(_fidelity(group, report.fidelity))
    if (
        report.golden is not None
        and not report.passed
        and not any(c.findall("failure") for c in cases)
    ):
        verdict = ET.Element("testcase", classname=group, name="verdict")
        ET.SubElement(verdict, "failure", type="Verdict", message=report.verdict)
        cases.append(verdict)
    return cases
