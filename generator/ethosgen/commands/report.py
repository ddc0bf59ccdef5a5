"""`ethosgen report`: one page about a network: what runs where, time, memory, exactness."""

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethosgen.commands import completion
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.firmware_options import COVERAGE
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import (
    BOARD_OR_NONE,
    JSON,
    PLATFORM,
    require_board,
    with_line,
    with_recipe,
    with_samples,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.retyping import retyped, retyped_headline, typed_command
from ethosgen.commands.verbosity import VERBOSE, is_verbose
from ethosgen.commands.wording import headline_lines
from ethosgen.report.content import CostSummary, NetworkReport
from ethosgen.values.arena import ArenaSize
from ethosgen.values.grammar import counted
from ethosgen.values.recipe import Recipe
from ethosgen.values.time import duration

if TYPE_CHECKING:
    from ethosgen.verdict.judgement import Criteria, Inputs

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=GroupedCommand, short_help="Write a page: what runs where and why, time, memory")
@with_recipe(BOARD_OR_NONE, PLATFORM)
@click.option(
    "--on",
    shell_complete=completion.targets,
    help="Target to run and measure on, or simulate for estimates only [default: qemu if it runs "
    "the board, otherwise simulate].",
)
@with_samples()
@click.option(
    "-o", "--output", type=_FILE, metavar="FILE.html", help="The page [default: NAME.html]."
)
@click.option(
    "--perfetto", type=_FILE, metavar="FILE.json", help="Also write the timeline for Perfetto."
)
@click.option(
    "--model-explorer",
    "explorer",
    type=_FILE,
    metavar="FILE.json",
    help="Also write each operator's share of the time as node data for Model Explorer.",
)
@click.option(
    "--quality",
    type=_FILE,
    multiple=True,
    metavar="FILE.json",
    help="Also show the accuracy or the quantization error in a file that 'ethosgen accuracy "
    "--json' or 'quantize --json' printed; repeatable.",
)
@COVERAGE
@click.option("--force", is_flag=True, help="Replace files that ethosgen report did not write.")
@VERBOSE
@JSON
@with_line
def report(
    recipe: Recipe,
    on: str | None,
    inputs: "Inputs",
    criteria: "Criteria",
    output: Path | None,
    perfetto: Path | None,
    explorer: Path | None,
    quality: tuple[Path, ...],
    coverage: bool,
    force: bool,
    as_json: bool,
    line: Any,
) -> None:
    """Write one page about a network: what runs where and why, time, memory, exactness, sizes.

    The page is one file that opens without a network connection. With --board, QEMU runs the
    firmware and measures its steps; otherwise the times are estimates. --json prints what the
    page shows, and writes the page only with -o.

    \b
        ethosgen report MODEL.tflite --board corstone300 -o report.html
        ethosgen report MODEL.tflite --npu ethos-u85-256 --perfetto trace.json

    Exit status 0 means that every output of every sample equals TensorFlow Lite Micro's; 1 that one
    differs (the page is still written).
    """
    from ethosgen.studies.reporting import Files, ReportRequest, make_report, write_report

    require_board(line)
    page = output or (None if as_json else Path(f"{recipe.networks[0].stem}.html"))
    files = Files(page, perfetto, explorer, force)
    files.require()
    asked = ReportRequest(
        recipe,
        on=on,
        inputs=inputs,
        criteria=criteria,
        line=line,
        command=typed_command(click.get_current_context()),
        quality=quality,
        coverage=coverage,
    )
    with Progress() as progress:
        content = make_report(asked, progress.watch())
        content = replace(
            content,
            advice=retyped(content.advice),
            headline=retyped_headline(content.headline),
        )
        written = write_report(content, files)
    if as_json:
        click.echo(json.dumps(content.as_json(), indent=2))
    else:
        click.echo("\n".join(_lines(content, written, is_verbose())))
    if page is not None:
        suggest_next(f"xdg-open {shlex.quote(str(page))}", quiet=as_json)
    if not content.verdict.verdict.startswith(("PASS", "NOT COMPARED")):
        sys.exit(1)


def _lines(content: NetworkReport, written: list[Path], verbose: bool) -> Iterator[str]:
    """Yield the headline, with `verbose` the figures at the top of the page, and the files."""
    yield from headline_lines(content.headline)
    if content.optimization and (verbose or content.optimization.is_news):
        yield f"  optimizer {content.optimization.text()}"
    costs = content.costs
    arena = ArenaSize(costs.arena_bytes, costs.arena_bound_bytes)
    if verbose:
        time = "" if costs.seconds is None else f", {duration(costs.seconds)}"
        unknown = f", {counted(costs.cpu_unknown, 'step')} unknown" if costs.cpu_unknown else ""
        cycles = costs.cycles if costs.inference_cycles is None else costs.inference_cycles
        yield f"  time      {cycles:,} {costs.time_unit}{time}{unknown}"
        if costs.npu_cycles is not None:
            yield f"  NPU       {counted(costs.npu_cycles, 'cycle')}, estimated"
        yield f"  CPU       {costs.cpu_time.text() if costs.cpu_time else _cpu(costs)}"
    yield f"  arena     {counted(arena.bytes, 'byte')}, {arena.text()}"
    for path in written:
        yield f"{path}: {counted(path.stat().st_size, 'byte')}"


def _cpu(costs: CostSummary) -> str:
    return f"{costs.cpu:,} {costs.cpu_unit}, {costs.cpu_kind}"
