"""`ethosgen accuracy`: how often is a network right on labelled data?"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ethosgen.commands import completion
from ethosgen.commands.options import JSON, with_offloading, with_reading
from ethosgen.commands.progress import Progress
from ethosgen.values.accuracy import AccuracyReport, Agreement, Classification, Detection, Work
from ethosgen.values.grammar import counted
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import ReadOptions

MOST_CLASSES = 24
"""The classes that a table shows; --json has all."""


@click.command()
@click.argument("network", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--data",
    required=True,
    metavar="DATA",
    type=click.Path(path_type=Path),
    help="Samples as .npz: an array for each input, by name, or x, and the labels as y; or a "
    "folder with a subfolder of .npy files for each class.",
)
@click.option(
    "--labels",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Labels of the samples (.npy), or the classes' names, one in each line (.txt).",
)
@click.option(
    "--on",
    metavar="TARGET[,TARGET…]",
    default="simulate",
    show_default=True,
    help="Targets to run on: simulate, qemu, tflm, litert. The first gives the figures, and the "
    "others must agree with it in each sample.",
)
@click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="Board name, e.g. corstone300; needed for --on qemu.",
)
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u65-256, or none to run all on the CPU [default: what MODEL was compiled "
    "for, or the board's, or ethos-u55-128].",
)
@with_offloading
@with_reading
@click.option(
    "--score",
    metavar="reconstruction|INDEX",
    help="For a detector: its score is the mean squared error of the output from the input, or "
    "an element of the output. Labels other than 0 are positive.",
)
@click.option(
    "--top",
    "tops",
    type=click.IntRange(1),
    multiple=True,
    metavar="K",
    help="Also count samples whose class is among the best K. Repeatable.",
)
@click.option(
    "--results",
    metavar="FILE.jsonl",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep each sample's outputs in this file; a run that was stopped goes on from it.",
)
@click.option(
    "--processes",
    type=click.IntRange(1),
    help="Worker processes of a target [default: one for each processor, two for QEMU, if that "
    "is worth it].",
)
@JSON
def accuracy(
    network: Path,
    data: Path,
    labels: Path | None,
    on: str,
    board: str | None,
    npu: str | None,
    options: OffloadOptions,
    reading: ReadOptions,
    score: str | None,
    tops: tuple[int, ...],
    results: Path | None,
    processes: int | None,
    as_json: bool,
) -> None:
    """Measure a network's accuracy on labelled data.

    Floats are quantized as TFLite does; integers of an input's own type are taken as they are. Exit
    status 1 means that targets differ in a sample.
    """
    from ethosgen.pipeline.accuracy import AccuracyRequest, measure_accuracy

    targets = tuple(name.strip() for name in on.split(","))
    asked = AccuracyRequest(
        network,
        data,
        labels,
        targets,
        board,
        npu,
        options=options,
        reading=reading,
        score=score,
        tops=tuple(dict.fromkeys((1, *tops))),
        results=results,
        processes=processes,
    )
    with Progress() as progress:
        report = measure_accuracy(asked, progress.watch())
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        for line in report_lines(report):
            click.echo(line)
    if not report.passed:
        sys.exit(1)


def report_lines(report: AccuracyReport) -> Iterator[str]:
    """Yield the report for people."""
    yield f"{report.network}, {report.npu}: {counted(report.samples, 'sample')}"
    if report.classification is not None:
        yield from _classification(report.classification)
    if report.detection is not None:
        yield from _detection(report.detection)
    yield from map(_agreement, report.agreements)
    yield from map(_work, report.work)


def _classification(found: Classification) -> Iterator[str]:
    for top, right in found.top():
        what = "accuracy" if top == 1 else f"top {top}"
        yield f"  {what:<9} {right / found.samples:.2%} ({right:,} of {found.samples:,})"
    shown = found.classes[:MOST_CLASSES]
    rows = [("class", "samples", "answers", "right", "precision", "recall")]
    rows += [
        (
            one.name,
            f"{one.count:,}",
            f"{one.answered:,}",
            f"{one.right:,}",
            _share(one.precision),
            _share(one.recall),
        )
        for one in shown
    ]
    yield from _table("classes", rows)
    if len(shown) < len(found.classes):
        yield f"            and {len(found.classes) - len(shown)} more, listed by --json"
        return
    head = ("label", *(one.name for one in shown))
    counts = [(one.name, *map(str, row)) for one, row in zip(shown, found.confusion, strict=True)]
    yield from _table("answers", [head, *counts])


def _detection(found: Detection) -> Iterator[str]:
    area = "unknown: it needs samples of both kinds" if found.auc is None else f"{found.auc:.4f}"
    yield f"  AUC       {area}"
    for what, count, mean in (
        ("positives", found.positives, found.mean_positive),
        ("negatives", found.samples - found.positives, found.mean_negative),
    ):
        tail = "" if mean is None else f", mean score {mean:.6g}"
        yield f"  {what} {counted(count, 'sample')}{tail}"


def _agreement(one: Agreement) -> str:
    if not one.differing:
        return f"  equal     {one.one} and {one.other} in {counted(one.samples, 'sample')}"
    first = f"; {one.first.text()}" if one.first else ""
    return (
        f"  DIFFERENT {one.one} and {one.other} in {one.differing:,} of "
        f"{counted(one.samples, 'sample')}{first}"
    )


def _work(one: Work) -> str:
    kept = f", {counted(one.kept, 'sample')} from the results file" if one.kept else ""
    if not one.ran:
        return f"  {one.on:<9} ran none{kept}"
    speed = one.ran / one.seconds if one.seconds else 0.0
    return (
        f"  {one.on:<9} {counted(one.ran, 'sample')} in {one.seconds:.1f} s ({speed:,.0f} a "
        f"second){kept}"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _table(title: str, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows in columns, the first to the left and the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield f"  {title if not number else '':<9} {'  '.join(cells)}"
