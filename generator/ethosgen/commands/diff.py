"""`ethosgen diff`: what differs between two answers of ethosgen, or two projects."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON

if TYPE_CHECKING:
    from ethosgen.studies.differences import NetworkDifference

_PLACE = click.Path(path_type=Path, exists=True)


@click.command(
    cls=GroupedCommand, short_help="Compare two answers (--json) or projects: time, memory, places"
)
@click.argument("before", metavar="BEFORE", type=_PLACE)
@click.argument("after", metavar="AFTER", type=_PLACE)
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Also write a page with both side by side.",
)
@click.option("--force", is_flag=True, help="Replace a file that ethosgen diff did not write.")
@JSON
def diff(
    before: Path, after: Path, markdown: bool, output: Path | None, force: bool, as_json: bool
) -> None:
    """Compare BEFORE with AFTER: files of --json of verify, run, check or report, or projects.

    Pages of report are files of --json too. With two reports, -o compares layer by layer.

    \b
        ethosgen verify MODEL.tflite --board corstone300 --json > before.json
        ethosgen verify OTHER.tflite --board corstone300 --json > after.json
        ethosgen diff before.json after.json
        ethosgen diff before.html after.html -o difference.html
    """
    from ethosgen.studies.difference_page import require_place, write_difference
    from ethosgen.studies.differences import compare_answers

    if output is not None:
        require_place(output, force)
    differences = compare_answers(before, after)
    if output is not None:
        names = (before.name, after.name)
        if names[0] == names[1]:
            names = (str(before), str(after))
        write_difference(differences, names, output)
    if as_json:
        click.echo(json.dumps([difference.as_json() for difference in differences], indent=2))
        return
    lines = _markdown if markdown else _lines
    for difference in differences:
        for line in lines(difference):
            click.echo(line)


def _lines(difference: "NetworkDifference") -> Iterator[str]:
    """Yield a table for a terminal."""
    yield f"{difference.network}: {_verdicts(difference)}"
    rows = list(_rows(difference))
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(4)]
    for title, *values in rows:
        shown = "  ".join(
            value.rjust(width) for value, width in zip(values, widths[1:], strict=True)
        )
        yield f"  {title.ljust(widths[0])}  {shown}".rstrip()
    for line in _moves(difference):
        yield f"  {line}"


def _markdown(difference: "NetworkDifference") -> Iterator[str]:
    """Yield a table of Markdown."""
    yield f"### {difference.network}: {_verdicts(difference)}\n"
    yield "| | before | after | change |\n| --- | ---: | ---: | ---: |"
    for row in _rows(difference):
        yield f"| {' | '.join(row)} |"
    yield ""
    for line in _moves(difference):
        yield f"- {line}"


def _verdicts(difference: "NetworkDifference") -> str:
    before, after = difference.verdicts
    return before if before == after else f"{before}, then {after}"


def _rows(difference: "NetworkDifference") -> Iterator[tuple[str, str, str, str]]:
    for figure in difference.figures:
        values = ["-" if v is None else f"{v:,g}" for v in (figure.before, figure.after)]
        yield figure.title, values[0], values[1], figure.text()


def _moves(difference: "NetworkDifference") -> Iterator[str]:
    """Yield how many operators of each kind run elsewhere; --json has their names."""
    kinds = Counter(
        (operator.split(" ")[0], before, after) for operator, before, after in difference.moved
    )
    for (code, before, after), count in kinds.items():
        yield f"{count} x {code}: {before} to {after}"
