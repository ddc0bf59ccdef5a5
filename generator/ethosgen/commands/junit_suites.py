"""The test suites of a run in JUnit's terms: its cases, and their verdicts."""

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from ethosgen.host.file_errors import explain_storage
from ethosgen.stages.report import PipelineReport
from ethosgen.values.application import ApplicationReport
from ethosgen.values.errors import EthosgenError
from ethosgen.values.fidelity import Fidelity
from ethosgen.values.grammar import counted, steps_text
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.workspace.budgets import Checked, Limited

Recorded = Report | FirmwareReport | PipelineReport | ApplicationReport | Checked

_ORACLE = "TensorFlow Lite Micro"
_MARKER = "the firmware's end marker was seen"


def make_suites(name: str, report: Recorded | None, error: BaseException | None) -> JUnitXml:
    """Return one suite; an error or a missing report becomes an <error> in it.

    With several networks, each network's cases are in a separate class.
    """
    budgets: tuple[Limited, ...] = ()
    if isinstance(report, Checked):
        budgets, report = report.budgets, report.report
    if error is not None or report is None:
        cases = [_unfinished_case(name, error)]
    elif isinstance(report, ApplicationReport):
        cases = [_application_case(name, report)]
    elif isinstance(report, FirmwareReport):
        cases = [
            case
            for network in report.reports
            for case in _cases(f"{name}.{network.network}", network)
        ]
    else:
        cases = _cases(name, report)
    if isinstance(report, (Report, FirmwareReport)) and report.application is not None:
        cases.append(_application_case(name, report.application))
    cases += [_budget_case(name, budget) for budget in budgets]
    suite = TestSuite(f"ethosgen.{name}")
    suite.add_testcases(cases)
    suite.time = round(sum(report.wall_s.values()), 3) if report is not None else 0.0
    suites = JUnitXml()
    suites.append(suite)
    return suites


def _case(
    group: str, name: str, output: str | None = None, result: FinalResult | None = None
) -> TestCase:
    case = TestCase(name, f"ethosgen.{group}")
    if result is not None:
        case.result = result
    if output is not None:
        case.system_out = output
    return case


def _unfinished_case(name: str, error: BaseException | None) -> TestCase:
    kind = type(error).__name__ if error is not None else "NoReport"
    storage = explain_storage(error)
    sentence = storage or (str(error) if error is not None else "the run left no report")
    is_bug = isinstance(error, Exception) and not isinstance(error, EthosgenError) and not storage
    return _case(name, "run", result=Error(f"bug: {sentence}" if is_bug else sentence, kind))


def _application_case(name: str, application: ApplicationReport) -> TestCase:
    """Return the case of an application's run."""
    result: FinalResult | None = None
    if application.expected is None:
        result = Skipped(application.text())
    elif not application.passed:
        result = Failure(application.text(), "Application")
    title = f"the application '{application.app}'"
    return _case(name, title, "\n".join(application.lines), result)


def _budget_case(group: str, budget: Limited) -> TestCase:
    failure = None if budget.passed else Failure(budget.text(), "Budget")
    return _case(group, f"budget of {budget.name}", budget.text(), failure)


def _fidelity_case(group: str, fidelity: Fidelity) -> TestCase:
    """Return the case of the network's own runtime; without a limit it cannot fail."""
    result: FinalResult | None = None
    if fidelity.skipped:
        result = Skipped(fidelity.skipped)
    elif not fidelity.passed:
        result = Failure(fidelity.text(), "Fidelity")
    return _case(group, f"outputs near {fidelity.title}'s", fidelity.text(), result)


def _outputs_case(group: str, report: Report | PipelineReport) -> TestCase:
    golden = report.golden
    oracle = (golden.title if golden else "") or _ORACLE
    near = f"within {steps_text(golden.steps)} of" if golden and golden.steps else "equal"
    name = f"outputs {near} {oracle}'s"
    if golden is None:
        return _case(group, name, result=Skipped("no golden output; pass --golden"))
    failure = None
    if golden.mismatches or not golden.elements:
        words = (
            f"{golden.mismatches} of {counted(golden.elements, 'output')} differ, by "
            f"at most {golden.max_abs_diff:g}"
        )
        lines = (words, *(f"{title}: {text}" for title, text in report.findings.items()))
        failure = Failure("; ".join(lines), "Mismatch")
        failure.text = "\n".join(lines)
    omitted = report.findings.get("left out", "")
    decided = (oracle, golden.version, golden.note, omitted and f"left out {omitted}")
    return _case(group, name, " ".join(filter(None, decided)), failure)


def _cases(group: str, report: Report | PipelineReport) -> list[TestCase]:
    unseen = None if report.ended else Failure("it was never seen", "NoEndMarker")
    cases = [_outputs_case(group, report), _case(group, _MARKER, result=unseen)]
    if report.fidelity:
        cases.append(_fidelity_case(group, report.fidelity))
    is_explained = any(case.is_failure for case in cases)
    if report.golden is not None and not report.passed and not is_explained:
        cases.append(_case(group, "verdict", result=Failure(report.verdict, "Verdict")))
    return cases
