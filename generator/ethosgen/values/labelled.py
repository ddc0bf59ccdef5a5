"""A network's result on an NPU for labelled data: a row of a study's results."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ethosgen.values.accuracy import AccuracyReport


@dataclass(frozen=True)
class LabelledResult:
    """The accuracy of a network on labelled data, or the reason why there is none.

    Memory modes, strategies and limits of the SRAM change no output, so the figures are those of
    all points of the network on the NPU. `npu` is None if only oracles ran, `board` unless a
    firmware ran. With `may_pass`, the same sweep may find the figures if it runs again.
    """

    data: str
    network: str
    board: str | None
    npu: str | None
    on: tuple[str, ...]
    report: AccuracyReport | None = None
    refusal: str = ""
    may_pass: bool = False

    @property
    def differs(self) -> bool:
        """Whether two targets differ in a sample."""
        return self.report is not None and not self.report.passed

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types, with all figures."""
        figures = self.report.as_json() if self.report else {}
        for name in ("network", "npu", "work"):
            figures.pop(name, None)
        return {**self._where(), "refusal": self.refusal or None, **figures}

    def as_row(self) -> dict[str, Any]:
        """Return a flat object of strings, numbers and None, a row of a table."""
        report = self.report
        figures = report.classification if report else None
        tops = figures.as_json()["top"] if figures else {}
        most = max(figures.right) if figures and len(figures.right) > 1 else None
        best = tops.get(str(most), {})
        detection = report.detection if report else None
        agreements = report.agreements if report else ()
        return {
            **self._where(),
            "refusal": self.refusal or None,
            "samples": report.samples if report else None,
            "silent": report.silent if report else None,
            "right": tops["1"]["right"] if figures else None,
            "accuracy": tops["1"]["accuracy"] if figures else None,
            "top": most,
            "top_right": best.get("right"),
            "top_accuracy": best.get("accuracy"),
            "auc": detection.auc if detection else None,
            "mean_score_of_positives": detection.mean_positive if detection else None,
            "mean_score_of_negatives": detection.mean_negative if detection else None,
            "compared_with": ",".join(agreement.other for agreement in agreements) or None,
            "differing": sum(agreement.differing for agreement in agreements)
            if agreements
            else None,
            "taken_as": (report.taken if report else "") or None,
        }

    def sample_rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat object for each sample: its label, and the answer or the score."""
        if self.report is None:
            return
        classification = self.report.classification
        names = [figures.name for figures in classification.classes] if classification else []
        for verdict in self.report.verdicts:
            has_answer = verdict.answer is not None
            yield {
                **self._where(),
                "sample": verdict.sample,
                "label": verdict.label,
                "class": names[verdict.label] if names else None,
                "answer": verdict.answer,
                "answered_class": names[verdict.answer] if verdict.answer is not None else None,
                "right": verdict.label == verdict.answer if has_answer else None,
                "score": verdict.score,
            }

    def _where(self) -> dict[str, Any]:
        return {
            "data": self.data,
            "network": self.network,
            "board": self.board,
            "npu": self.npu,
            "on": self.on[0],
        }
