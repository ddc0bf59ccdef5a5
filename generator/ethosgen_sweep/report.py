"""A sweep's results, and the part that the store already had."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ethosgen.values.configurations import ComparisonReport, Result
from ethosgen.values.labelled import LabelledResult

if TYPE_CHECKING:
    from ethosgen.api.pictures import ComparedConfigurations
    from ethosgen.plots.canvas import Picture


@dataclass(frozen=True)
class Tally:
    """The workers' values: those that the store had, those computed now, and those that failed."""

    total: int = 0
    kept: int = 0
    computed: int = 0
    failed: int = 0

    @property
    def missing(self) -> int:
        """The number of values that are not computed yet."""
        return self.total - self.kept - self.computed

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "total": self.total,
            "kept": self.kept,
            "computed": self.computed,
            "failed": self.failed,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class SweepCounts(Tally):
    """The points of a sweep, and the shards of its labelled data.

    With `front` in the study, a point gives several results.
    """

    shards: Tally = Tally()

    @property
    def points(self) -> int:
        """The number of points."""
        return self.total

    @property
    def all_missing(self) -> int:
        """The points and shards that are not computed yet."""
        return self.missing + self.shards.missing

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        points = super().as_json()
        return {"points": points.pop("total"), **points, "shards": self.shards.as_json()}


@dataclass(frozen=True)
class SweepReport:
    """All results in the order of the study's lists, including earlier ones.

    `accuracy` has those on labelled data.
    """

    comparison: ComparisonReport
    counts: SweepCounts
    accuracy: tuple[LabelledResult, ...] = ()

    @property
    def results(self) -> Sequence[Result]:
        """The results, in order."""
        return self.comparison.results

    @property
    def passed(self) -> bool:
        """Whether everything has a result, something was measured, and no output differs."""
        is_judged = not self.accuracy or any(labelled.report for labelled in self.accuracy)
        differs = any(labelled.differs for labelled in self.accuracy)
        failed = self.counts.failed or self.counts.shards.failed
        return self.comparison.passed and is_judged and not differs and not failed

    def to_dataframe(self) -> Any:
        """Return the results as a pandas DataFrame, a row each; ToolError without pandas."""
        return self.comparison.to_dataframe()

    def plot(self) -> "Picture":
        """Plot SRAM against time, a panel for each network and board; needs Matplotlib."""
        return self._pictured().plot()

    def _repr_html_(self) -> str:
        """Return the plot for a notebook; nothing without Matplotlib, or without a figure."""
        return self._pictured()._repr_html_()

    def _pictured(self) -> "ComparedConfigurations":
        from ethosgen.api.pictures import ComparedConfigurations, plotted

        return plotted(ComparedConfigurations, self.comparison)

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "passed": self.passed,
            **self.counts.as_json(),
            "refused": sum(bool(result.refusal) for result in self.results),
            "seconds": round(self.comparison.seconds, 3),
            "versions": dict(self.comparison.versions),
            "results": [result.as_json() for result in self.results],
            "accuracy": [labelled.as_json() for labelled in self.accuracy],
        }
