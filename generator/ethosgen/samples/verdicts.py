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
    place = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise InputError(f"cannot write into '{place}'; choose a folder that you may write")
    found = next((n for n in (CLASSES, CONFUSION, SAMPLES) if (folder / n).exists()), None)
    if found is not None:
        raise InputError(f"'{folder / found}' exists; name another folder, or delete it")


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
    found = report.classification
    if found is None:
        yield "sample", "label", "score"
        for one in report.verdicts:
            yield one.sample, one.label, one.score
        return
    yield "sample", "label", "class", "answer", "answered class", "right", "score"
    names = [one.name for one in found.classes]
    for one in report.verdicts:
        assert one.answer is not None
        is_right = int(one.label == one.answer)
        yield (
            *(one.sample, one.label, names[one.label]),
            *(one.answer, names[one.answer], is_right, one.score),
        )


def _classes(found: Classification) -> Iterator[Row]:
    yield "label", "class", "samples", "answers", "right", "precision", "recall"
    for label, one in enumerate(found.classes):
        yield label, one.name, one.count, one.answered, one.right, one.precision, one.recall


def _confusion(found: Classification) -> Iterator[Row]:
    """Yield a row for each label, with the number of each answer."""
    yield "class", *(one.name for one in found.classes)
    for one, row in zip(found.classes, found.confusion, strict=True):
        yield one.name, *row
