"""Writes an accuracy report as .csv files: classes, confusion matrix, and each sample's verdict."""

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ethosgen.values.accuracy import AccuracyReport, Classification
from ethosgen.values.errors import InputError, cannot_write

CLASSES, CONFUSION, SAMPLES = "classes.csv", "confusion.csv", "samples.csv"

Row = Sequence[Any]


def require_new(folder: Path) -> None:
    """Raise InputError if a folder cannot take the files, or has one of them."""
    place = next(ancestor for ancestor in (folder, *folder.absolute().parents) if ancestor.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InputError(f"cannot write into '{place}'; choose a folder that you may write")
    existing = next((n for n in (CLASSES, CONFUSION, SAMPLES) if (folder / n).exists()), None)
    if existing is not None:
        raise InputError(f"'{folder / existing}' exists; name another folder, or delete it")


def write_csv(folder: Path, report: AccuracyReport) -> list[Path]:
    """Write the files that a report has, and return their paths."""
    tables = {SAMPLES: _samples(report)}
    if report.classification is not None:
        tables[CLASSES] = _classes(report.classification)
        tables[CONFUSION] = _confusion(report.classification)
    for name, rows in tables.items():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
        except OSError as error:
            raise cannot_write(folder / name, error) from None
    return [folder / name for name in tables]


def _samples(report: AccuracyReport) -> Iterator[Row]:
    """Yield each sample's label and answer with its score, or a detector's score."""
    classification = report.classification
    if classification is None:
        yield "sample", "label", "score"
        for verdict in report.verdicts:
            yield verdict.sample, verdict.label, verdict.score
        return
    yield "sample", "label", "class", "answer", "answered class", "right", "score"
    names = [figures.name for figures in classification.classes]
    for verdict in report.verdicts:
        assert verdict.answer is not None
        is_right = int(verdict.label == verdict.answer)
        yield (
            *(verdict.sample, verdict.label, names[verdict.label]),
            *(verdict.answer, names[verdict.answer], is_right, verdict.score),
        )


def _classes(classification: Classification) -> Iterator[Row]:
    yield "label", "class", "samples", "answers", "right", "precision", "recall"
    for label, figures in enumerate(classification.classes):
        yield (
            label,
            figures.name,
            figures.count,
            figures.answered,
            figures.right,
            figures.precision,
            figures.recall,
        )


def _confusion(classification: Classification) -> Iterator[Row]:
    """Yield a row for each label, with the number of each answer."""
    yield "class", *(figures.name for figures in classification.classes)
    for figures, row in zip(classification.classes, classification.confusion, strict=True):
        yield figures.name, *row
