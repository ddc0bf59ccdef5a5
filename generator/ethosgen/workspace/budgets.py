"""Compares a firmware's figures with its budgets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.report import FirmwareReport, Report
from ethosgen.values.time import percent
from ethosgen.workspace.file import Budget


@dataclass(frozen=True)
class Limited:
    """A figure and its limit; `value` is None if unknown, and then it fails.

    `is_least` limits from below. `unit` is "ms", "B", or "" for a fraction.
    """

    name: str
    value: float | None
    limit: float
    unit: str
    is_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the figure is known and within its limit."""
        if self.value is None:
            return False
        return self.value >= self.limit if self.is_least else self.value <= self.limit

    def text(self) -> str:
        """Return "2.7 ms of at most 5 ms"."""
        bound = "at least" if self.is_least else "at most"
        value = "unknown" if self.value is None else self._shown(self.value)
        return f"{value} of {bound} {self._shown(self.limit)}"

    def _shown(self, value: float) -> str:
        if not self.unit:
            return percent(value)
        return f"{value:,.0f} B" if self.unit == "B" else f"{value:,.3g} {self.unit}"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "name": self.name,
            "value": self.value,
            "limit": self.limit,
            "unit": self.unit or None,
            "at_least": self.is_least,
            "passed": self.passed,
        }


@dataclass(frozen=True)
class Checked:
    """The answer of `ethosgen check`: the run, the accuracy if it was requested, the budgets."""

    report: Report | FirmwareReport
    accuracy: AccuracyReport | None
    budgets: tuple[Limited, ...]

    @property
    def passed(self) -> bool:
        """Whether every output is equal, targets agree, and no budget is exceeded."""
        agrees = self.accuracy is None or self.accuracy.passed
        return self.report.passed and agrees and all(budget.passed for budget in self.budgets)

    @property
    def verdict(self) -> str:
        """The report's verdict, but FAIL if a budget is exceeded, or targets disagree."""
        is_worse = self.report.passed and not self.passed
        return "FAIL" if is_worse else self.report.verdict

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "passed": self.passed,
            "verdict": self.verdict,
            "budgets": [budget.as_json() for budget in self.budgets],
            "accuracy": self.accuracy.as_json() if self.accuracy else None,
            "report": self.report.as_json(),
        }


def limits(
    budget: Budget, report: Report | FirmwareReport, accuracy: AccuracyReport | None
) -> Iterator[Limited]:
    """Yield each budget with its figure: the sum of the networks' times, the firmware's bytes."""
    if budget.ms is not None:
        times = [network.headline.latency for network in report.networks]
        known = [time.seconds for time in times if time is not None and not time.unknown]
        total = 1e3 * sum(known) if len(known) == len(times) else None
        yield Limited("time", total, budget.ms, "ms")
    for name, used, limit in (
        ("RAM", report.ram_bytes, budget.ram),
        ("flash", report.flash_bytes, budget.flash),
    ):
        if limit is not None:
            yield Limited(name, used["total"] if used else None, limit, "B")
    if budget.stack is not None:
        stacks = [
            network.stack_bytes for network in report.networks if network.stack_bytes is not None
        ]
        yield Limited("stack", max(stacks, default=None), budget.stack, "B")
    if budget.accuracy is not None:
        yield Limited("accuracy", score_of(accuracy), budget.accuracy, "", is_least=True)


def score_of(report: AccuracyReport | None) -> float | None:
    """Return the share of right answers, or the AUC of a detector."""
    if report is None:
        return None
    if report.classification is not None:
        return report.classification.top()[0][1] / report.classification.samples
    return report.detection.auc if report.detection else None
