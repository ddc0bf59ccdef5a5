"""`ethosgen sweep`: all points of a study, on several processes or machines."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.compare import csv_text
from ethosgen.commands.comparison_table import report_lines
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import CACHE, JSON, schema_option
from ethosgen.commands.progress import Progress
from ethosgen.values.grammar import counted
from ethosgen_sweep.labelled_table import labelled_lines
from ethosgen_sweep.report import SweepCounts, SweepReport, Tally

_WIDTH_OF_FILES = 200
"""The width of a table that no terminal shows."""
_MOST_ROWS = 40
"""Results that a terminal shows whole; of more, it shows those on a front."""


def _schema() -> str:
    from ethosgen_sweep.study import study_schema

    return study_schema()


@click.command(
    cls=GroupedCommand, short_help="Measure every point of a study: networks, NPUs, modes"
)
@click.argument("study", metavar="STUDY.toml", type=click.Path(path_type=Path))
@path_option(
    "-o",
    "--output",
    "output_path",
    metavar="FOLDER",
    help="Folder for results.parquet, results.csv and report.html [default: STUDY_sweep].",
)
@path_option(
    "--store",
    metavar="FOLDER",
    help="Folder that stores the results of all sweeps, so that nothing is computed twice "
    "[default: ethosgen/sweeps in the user's cache].",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Use the workers of the dask scheduler at this address, e.g. tcp://HOST:8786 [default: "
    "workers on this machine].",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Worker processes on this machine [default: one for each processor].",
)
@click.option(
    "--retry-refused", is_flag=True, help="Also measure points again that were refused earlier."
)
@click.option(
    "--dry-run", is_flag=True, help="Only count points and shards, and those in the store."
)
@CACHE
@JSON
@schema_option("study files", _schema)
def sweep(
    study: Path,
    output_path: Path | None,
    dry_run: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure every point of a study: networks, boards, NPUs, memory modes, schedules.

    With labelled data in the study, also the accuracy of each network on each NPU.

    \b
        ethosgen sweep study.toml --dry-run
        ethosgen sweep study.toml
        ethosgen sweep study.toml --scheduler tcp://HOST:8786

    It stores each result at once, under a digest of everything that the result depends on. If
    a sweep ends early, the same command continues it.

    Exit status 0: every point and shard has a result, and no output differs; 1: an output
    differs, or some have none; 2: the study, a file that it names, or the scheduler's address
    is wrong; 3: no worker can compute; 5: the scheduler is lost.
    """
    from ethosgen_sweep.sweeping import SweepRequest, count_points
    from ethosgen_sweep.sweeping import sweep as run

    if asked["scheduler"] is not None and asked["workers"] is not None:
        raise click.UsageError("--workers are on this machine; a --scheduler has its own")
    request = SweepRequest(study, **asked)
    if dry_run:
        counts = count_points(request)
        click.echo(json.dumps(counts.as_json(), indent=2) if as_json else _counts_text(counts))
        suggest_next(shlex.join(["ethosgen", "sweep", str(study)]), quiet=as_json)
        return
    folder = output_path or Path(f"{study.stem}_sweep")
    write = _writer(folder)
    with Progress() as progress:
        report = run(request, progress.watch())
    names = write(report)
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        _show(report)
        click.echo(f"\nwritten to {folder}: {', '.join(names)}")
    if not report.passed:
        sys.exit(1)


def _show(report: SweepReport) -> None:
    """Print the table, or for a long one the fronts."""
    comparison, counts = report.comparison, report.counts
    shown, many = comparison, len(comparison.results)
    if many > _MOST_ROWS:
        best = tuple(result for result in comparison.results if result.on_front)
        shown = replace(comparison, results=best)
    width = shutil.get_terminal_size((_WIDTH_OF_FILES, 24)).columns
    if shown.results:
        for line in report_lines(shown, width):
            click.echo(line)
    for line in labelled_lines(report.accuracy):
        click.echo(line)
    click.echo("")
    if shown is not comparison:
        click.echo(f"shown is what is on a front; the files have all {counted(many, 'result')}")
    refused = sum(bool(result.refusal) for result in comparison.results) - counts.failed
    if refused:
        click.echo(f"{counted(refused, 'result is a refusal', 'results are refusals')}, with why")
    for failed, what, results in (
        (counts.failed, "point", comparison.results),
        (counts.shards.failed, "shard", report.accuracy),
    ):
        if failed:
            why = next((result.refusal for result in results if result.may_pass), "")
            click.echo(
                f"{counted(failed, what)} failed; the same command tries again. The first: {why}"
            )
    click.echo(_counts_text(counts) + f" in {comparison.seconds:.1f} s")


def _counts_text(counts: SweepCounts) -> str:
    """Return the counts as words, a line for points and one for shards."""
    kinds = ((counts, "point"), *([(counts.shards, "shard")] if counts.shards.total else []))
    return "\n".join(_tally_text(tally, what) for tally, what in kinds)


def _tally_text(tally: Tally, what: str) -> str:
    parts = [f"{tally.kept:,} were in the store"]
    if tally.computed:
        parts.append(f"{tally.computed:,} computed")
    if tally.missing:
        parts.append(f"{tally.missing:,} to compute")
    return f"{counted(tally.total, what)}: {', '.join(parts)}"


def _writer(folder: Path) -> Callable[[SweepReport], list[str]]:
    """Return a function that writes the files; InputError at once if that is impossible."""
    from ethosgen_sweep.result_folder import claim, write_files

    claim(folder)

    def write(report: SweepReport) -> list[str]:
        files = {"results.csv": csv_text(report.comparison).encode(), **_page(report)}
        return write_files(folder, report, files)

    return write


def _page(report: SweepReport) -> dict[str, bytes]:
    """Return the page with the plot; none without Matplotlib, or if there is nothing to draw."""
    from ethosgen.plots.costs import check_format, draw
    from ethosgen.values.errors import EthosgenError
    from ethosgen_sweep.result_folder import PAGE

    command = shlex.join(["ethosgen", *sys.argv[1:]])
    try:
        suffix = check_format(PAGE)
        return {PAGE: draw(report.comparison, suffix, command, report.accuracy)}
    except EthosgenError:
        return {}
