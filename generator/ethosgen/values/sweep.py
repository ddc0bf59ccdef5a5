"""What a sweep measured, and what of it was there before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.values.comparison import ComparisonReport, Result


@dataclass(frozen=True)
class SweepCounts:
    """The points of a sweep: those that the store had, those computed now, and without a result.

    Points are what workers compute: with `front` in the study, each gives several results.
    """

    points: int
    kept: int = 0
    computed: int = 0
    failed: int = 0

    @property
    def missing(self) -> int:
        """The points that nobody has computed yet."""
        return self.points - self.kept - self.computed

    def as_json(self) -> dict[str, int]:
        """Return an object of JSON types."""
        return {
            "points": self.points,
            "kept": self.kept,
            "computed": self.computed,
            "failed": self.failed,
            "missing": self.missing,
        }


@dataclass(frozen=True)
class SweepReport:
    """All results in the order of the study's lists, whoever computed them when."""

    comparison: ComparisonReport
    counts: SweepCounts

    @property
    def results(self) -> Sequence[Result]:
        """The results, in order."""
        return self.comparison.results

    @property
    def passed(self) -> bool:
        """Whether every point has a result, something was measured, and no output differs."""
        return self.comparison.passed and not self.counts.failed

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "passed": self.passed,
            **self.counts.as_json(),
            "refused": sum(bool(one.refusal) for one in self.results),
            "seconds": round(self.comparison.seconds, 3),
            "versions": dict(self.comparison.versions),
            "results": [one.as_json() for one in self.results],
        }
