"""Shows a report of accuracy: figures, classes, confusion matrix, agreement of targets."""

from collections.abc import Iterator, Sequence
from heapq import nlargest

from ethosgen.values.accuracy import (
    AccuracyReport,
    Agreement,
    ClassFigures,
    Classification,
    Detection,
    ScoringWork,
)
from ethosgen.values.grammar import counted

MOST_CLASSES = 20
"""With more classes, only the worst and the most frequent confusions are shown."""
SHOWN = 10
"""How many of these."""
WIDTH = 100
"""Columns of a matrix whose columns have the classes' names; a wider one has their numbers."""
_LONGEST = 16
"""Characters of a name beside its number; the table of classes has all of them."""
Row = tuple[str, ...]
_HEAD: Row = ("class", "samples", "answers", "right", "precision", "recall")


def report_lines(report: AccuracyReport) -> Iterator[str]:
    """Yield the report for people."""
    of = f", output '{report.output}'" if report.output is not None else ""
    yield f"{report.network}, {report.npu}{of}: {counted(report.samples, 'sample')}"
    if report.taken:
        yield f"  taken as  {report.taken}"
    if report.silent:
        yield f"  waiting   {counted(report.silent, 'sample')} without an output, not judged"
    if report.classification is not None:
        yield from _classification(report.classification)
    if report.detection is not None:
        yield from _detection(report.detection)
    yield from map(_agreement, report.agreements)
    if report.check_with is not None:
        targets = ",".join((*(work.on for work in report.work), report.check_with))
        yield f"  unchecked compare each sample with the oracle's by --on {targets}"
    yield from map(_work, report.work)


def _classification(classification: Classification) -> Iterator[str]:
    for top, right in classification.top():
        what = "accuracy" if top == 1 else f"top {top}"
        samples = classification.samples
        yield f"  {what:<9} {right / samples:.2%} ({right:,} of {samples:,})"
    if len(classification.classes) > MOST_CLASSES:
        yield from _worst(classification)
        return
    yield from _table("classes", [_HEAD, *map(_class_row, classification.classes)])
    yield from _table("answers", _matrix(classification))


def _class_row(figures: ClassFigures) -> Row:
    counts = (f"{figures.count:,}", f"{figures.answered:,}", f"{figures.right:,}")
    return figures.name, *counts, _share(figures.precision), _share(figures.recall)


def _matrix(classification: Classification) -> list[Row]:
    """Return the confusion matrix, with dots for zeros; correct answers are in brackets."""
    names = [figures.name for figures in classification.classes]
    cells = [
        [f"[{n}]" if i == j else str(n) if n else "." for j, n in enumerate(row)]
        for i, row in enumerate(classification.confusion)
    ]
    rows = [("label", *names), *((name, *row) for name, row in zip(names, cells, strict=True))]
    if sum(_widths(rows)) + 2 * len(names) <= WIDTH:
        return rows
    last = len(str(len(names) - 1))
    numbered = [f"{i:>{last}} {_short(name)}" for i, name in enumerate(names)]
    head = ("label", *map(str, range(len(names))))
    return [head, *((name, *row) for name, row in zip(numbered, cells, strict=True))]


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _worst(classification: Classification) -> Iterator[str]:
    """Yield the classes with the lowest recall, and the most frequent confusions."""
    known = [figures for figures in classification.classes if figures.count]
    worst = sorted(known, key=lambda figures: figures.recall or 0.0)[:SHOWN]
    yield from _table("worst", [_HEAD, *map(_class_row, worst)])
    wrong = [
        (count, label, answer)
        for label, row in enumerate(classification.confusion)
        for answer, count in enumerate(row)
        if count and label != answer
    ]
    names = [figures.name for figures in classification.classes]
    most = nlargest(SHOWN, wrong, key=lambda confusion: confusion[0])
    rows = [(names[label], names[answer], f"{count:,}") for count, label, answer in most]
    if rows:
        yield from _table("confused", [("label", "answer", "samples"), *rows])
    yield (
        f"            {counted(len(names), 'class', 'classes')} in all; --tables FOLDER and --json "
        "give all of them, and the confusion matrix"
    )


def _detection(detection: Detection) -> Iterator[str]:
    area = (
        "unknown: it needs samples of both kinds"
        if detection.auc is None
        else f"{detection.auc:.4f}"
    )
    yield f"  AUC       {area}"
    for what, count, mean in (
        ("positives", detection.positives, detection.mean_positive),
        ("negatives", detection.samples - detection.positives, detection.mean_negative),
    ):
        tail = "" if mean is None else f", mean score {mean:.6g}"
        yield f"  {what} {counted(count, 'sample')}{tail}"


def _agreement(agreement: Agreement) -> str:
    samples = counted(agreement.samples, "sample")
    if not agreement.differing:
        return f"  equal     {agreement.target} and {agreement.other} in {samples}"
    first = f"; {agreement.first.text()}" if agreement.first else ""
    return (
        f"  DIFFERENT {agreement.target} and {agreement.other} in {agreement.differing:,} of "
        f"{samples}{first}"
    )


def _work(work: ScoringWork) -> str:
    kept = f", {counted(work.kept, 'sample')} from the results file" if work.kept else ""
    if not work.ran:
        return f"  {work.on:<9} ran none{kept}"
    speed = work.ran / work.seconds if work.seconds else 0.0
    return (
        f"  {work.on:<9} {counted(work.ran, 'sample')} in {work.seconds:.1f} s ({speed:,.0f} a "
        f"second){kept}"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]


def _table(title: str, rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows in columns, the first aligned left and the others right."""
    widths = _widths(rows)
    for number, row in enumerate(rows):
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"  {title if not number else '':<9} {'  '.join(cells)}"
