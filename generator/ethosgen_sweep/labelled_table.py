"""Shows a sweep's accuracy as tables: one for each set of labelled data."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.grammar import counted
from ethosgen.values.labelled import LabelledResult

NONE = "-"
"""A figure that nobody knows."""


def labelled_lines(results: Sequence[LabelledResult]) -> Iterator[str]:
    """Yield the accuracy for people, and the reasons for missing figures."""
    for data, some in groupby(results, lambda result: result.data):
        rows = list(some)
        yield f"accuracy on {data}"
        yield from _table([dict(_cells(row, row.report)) for row in rows if row.report])
        for row in rows:
            if row.refusal:
                yield f"  {'failed' if row.may_pass else 'refused'}: {_where(row)}: {row.refusal}"
        taken = sorted({row.report.taken for row in rows if row.report} - {""})
        yield from (f"  taken as {how}" for how in taken)
        yield ""
    if results:
        yield "Modes, strategies and limits change no output: an accuracy is that of all rows"
        yield "of its network and NPU."
    lacking = next(
        (result for result in results if result.report and result.report.check_with), None
    )
    if lacking is not None and lacking.report is not None:
        names = ", ".join(f'"{name}"' for name in (*lacking.on, lacking.report.check_with))
        yield f"Unchecked: on = [{names}] in the study compares each sample with the oracle's."


def _cells(result: LabelledResult, report: AccuracyReport) -> Iterator[tuple[str, str]]:
    """Yield the cells of a row with their titles."""
    yield "network", result.network
    if result.board is not None:
        yield "board", result.board
    if result.npu is not None:
        yield "NPU", result.npu
    yield "samples", f"{report.samples:,}"
    if report.silent:
        yield "waiting", f"{report.silent:,}"
    if report.classification is not None:
        for top, right in report.classification.top():
            yield "accuracy" if top == 1 else f"top {top}", f"{right / report.samples:.2%}"
            yield "right" if top == 1 else f"in top {top}", f"{right:,}"
    if report.detection is not None:
        area = report.detection.auc
        yield "AUC", NONE if area is None else f"{area:.4f}"
    for agreement in report.agreements:
        differ = f"{agreement.differing:,} of {counted(agreement.samples, 'sample')} differ"
        equal = f"{agreement.samples:,} equal"
        yield f"{agreement.target} and {agreement.other}", differ if agreement.differing else equal


def _where(result: LabelledResult) -> str:
    return ", ".join(filter(None, (result.network, result.board, result.npu)))


def _table(rows: Sequence[dict[str, str]]) -> Iterator[str]:
    """Yield rows in columns, names to the left and figures to the right."""
    titles = list(dict.fromkeys(title for row in rows for title in row))
    cells = [titles, *([row.get(title, NONE) for title in titles] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(titles))]
    for line in cells if rows else ():
        padded = (
            cell.ljust(width) if title in ("network", "board", "NPU") else cell.rjust(width)
            for title, cell, width in zip(titles, line, widths, strict=True)
        )
        yield "  " + "  ".join(padded).rstrip()
