"""The accuracy of a network on labelled data, and the agreement of its targets."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ethosgen.values.outcome import Difference

RESET, SEQUENCE, STREAM = "reset", "sequence", "stream"
STATES = (RESET, SEQUENCE, STREAM)
"""When a network's state is initial: before each sample; before each sample, which is a sequence of
inputs whose last outputs count; or only before the first sample."""


@dataclass(frozen=True)
class ClassFigures:
    """Samples of one class: by label, by answer, and by both."""

    name: str
    count: int
    answered: int
    right: int

    @property
    def precision(self) -> float | None:
        """The share of right answers among those for the class; None if there are none."""
        return self.right / self.answered if self.answered else None

    @property
    def recall(self) -> float | None:
        """The share of the class's samples that are answered right; None if it has none."""
        return self.right / self.count if self.count else None

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "name": self.name,
            "samples": self.count,
            "answered": self.answered,
            "right": self.right,
            "precision": self.precision,
            "recall": self.recall,
        }


@dataclass(frozen=True)
class Classification:
    """A classifier's figures: `right` counts samples whose class is among the best k, by k.

    The rows of `confusion` are the labels, its columns the answers.
    """

    samples: int
    right: Mapping[int, int]
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...]

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "top": {str(k): {"right": n, "accuracy": n / self.samples} for k, n in self.top()},
            "classes": [figures.as_json() for figures in self.classes],
            "confusion": [list(row) for row in self.confusion],
        }

    def top(self) -> list[tuple[int, int]]:
        """Return each k with the samples that are right, in order."""
        return sorted(self.right.items())


@dataclass(frozen=True)
class Detection:
    """A detector's figures; `auc` is the area under the ROC curve, None without both kinds."""

    samples: int
    positives: int
    auc: float | None
    mean_positive: float | None
    mean_negative: float | None

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "positives": self.positives,
            "negatives": self.samples - self.positives,
            "auc": _finite(self.auc),
            "mean_score_of_positives": _finite(self.mean_positive),
            "mean_score_of_negatives": _finite(self.mean_negative),
        }


def _finite(value: float | None) -> float | str | None:
    """Return a number as JSON can represent it; infinities and NaN as strings."""
    return str(value) if value is not None and not math.isfinite(value) else value


@dataclass(frozen=True)
class Agreement:
    """The comparison of two targets: samples with an output that differs, and the first of them."""

    target: str
    other: str
    samples: int
    differing: int
    first: Difference | None = None

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "targets": [self.target, self.other],
            "samples": self.samples,
            "differing": self.differing,
            "first": self.first.as_json() if self.first else None,
        }


@dataclass(frozen=True)
class ScoringWork:
    """The samples that a target ran now, and took from a results file, with the time of the former.

    `processes` is the number of worker processes.
    """

    on: str
    ran: int
    kept: int
    seconds: float
    processes: int

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "on": self.on,
            "ran": self.ran,
            "kept": self.kept,
            "seconds": self.seconds,
            "processes": self.processes,
        }


@dataclass(frozen=True)
class SampleVerdict:
    """The result for one sample: a classifier's answer with its score, or the score alone.

    A score is a real value. `answer` is None for a detector.
    """

    sample: int
    label: int
    answer: int | None
    score: float


@dataclass(frozen=True)
class AccuracyReport:
    """A network's accuracy on labelled data; the first of the targets gives it.

    It has passed if the targets agree in every sample. One of `classification` and `detection` is
    None. They are for `output`, None for the only one, in `samples`; `silent` samples had none,
    because the network waited for more inputs. `taken` describes the conversion of a pixel p or a
    sound's value v, "" without pictures and sounds.
    """

    network: str
    npu: str
    samples: int
    taken: str
    silent: int
    output: str | None
    classification: Classification | None
    detection: Detection | None
    agreements: tuple[Agreement, ...]
    work: tuple[ScoringWork, ...]
    check_with: str | None = None
    """The oracle to compare with, None if one took part."""
    verdicts: tuple[SampleVerdict, ...] = field(default=(), repr=False)
    """Of each sample, for files; --json leaves them out."""

    @property
    def passed(self) -> bool:
        """Whether no sample differs between targets."""
        return not any(agreement.differing for agreement in self.agreements)

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "network": self.network,
            "npu": self.npu,
            "samples": self.samples,
            "taken_as": self.taken or None,
            "silent": self.silent,
            "output": self.output,
            "classification": self.classification.as_json() if self.classification else None,
            "detection": self.detection.as_json() if self.detection else None,
            "agreements": [agreement.as_json() for agreement in self.agreements],
            "work": [work.as_json() for work in self.work],
            "passed": self.passed,
        }
