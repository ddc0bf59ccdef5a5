"""`ethosgen check`: all that ethosgen.toml states, for CI."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.junit import JUnitFile
from ethosgen.commands.options import (
    BOARD,
    JSON,
    JUNIT,
    ON,
    PLATFORM,
    with_recipe,
    with_samples,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.verbosity import VERBOSE, is_verbose
from ethosgen.commands.wording import report_text
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.grammar import counted
from ethosgen.values.recipe import Recipe

if TYPE_CHECKING:
    from ethosgen.verdict.judgement import Criteria, Inputs
    from ethosgen.workspace.budgets import Checked

_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable with the file in which a job of GitHub collects its summary."""


@click.command(cls=GroupedCommand, short_help="Check networks and budgets of ethosgen.toml, for CI")
@with_recipe(BOARD, PLATFORM)
@ON
@with_samples()
@path_option(
    "--summary",
    metavar="FILE.md",
    help=f"Also append the verdict as Markdown to this file [default: that of {_SUMMARY}].",
)
@VERBOSE
@JSON
@JUNIT
def check(
    recipe: Recipe,
    on: str,
    inputs: "Inputs",
    criteria: "Criteria",
    summary: Path | None,
    as_json: bool,
    junit_path: Path | None,
) -> None:
    """Run everything in the nearest ethosgen.toml: verify, accuracy, budgets.

    \b
        ethosgen init MODEL.tflite --board corstone300
        ethosgen check

    Exit status 1 means that an output differs, or a budget is exceeded.
    """
    from ethosgen.flow import RunOptions
    from ethosgen.studies.checking import check as run
    from ethosgen.workspace.file import FILE, find_workspace, load_workspace

    path = find_workspace(Path.cwd())
    if path is None:
        raise InputError(f"there is no {FILE} here or above; write one with: ethosgen init MODEL")
    workspace = load_workspace(path)
    summary = summary or (Path(os.environ[_SUMMARY]) if os.environ.get(_SUMMARY) else None)
    with JUnitFile(junit_path, path.parent.name) as junit, Progress() as progress:
        options = RunOptions(inputs, criteria=criteria)
        done = run(recipe, options, workspace, path.parent, on, progress.watch())
        junit.record(done)
    if summary is not None:
        _append(summary, done)
    if as_json:
        click.echo(json.dumps(done.as_json(), indent=2))
    else:
        click.echo("\n".join(_lines(done, is_verbose())))
    if not done.passed:
        sys.exit(1)


def _lines(done: "Checked", verbose: bool) -> Iterator[str]:
    yield report_text(done.report, verbose, done.verdict)
    if done.accuracy is not None:
        yield f"  accuracy  {_score_text(done)} of {counted(done.accuracy.samples, 'sample')}"
    for budget in done.budgets:
        exceeded = "" if budget.passed else click.style("  exceeded", fg="red", bold=True)
        yield f"  budget    {budget.name} {budget.text()}{exceeded}"


def _score_text(done: "Checked") -> str:
    from ethosgen.values.time import percent
    from ethosgen.workspace.budgets import score_of

    score = score_of(done.accuracy)
    agrees = "" if done.accuracy is None or done.accuracy.passed else ", but its targets differ"
    return ("unknown" if score is None else percent(score)) + agrees


def _append(path: Path, done: "Checked") -> None:
    """Append the verdict and the budgets as Markdown."""
    headline = done.report.headline
    rows = [f"| {title} | {text} |" for title, text in headline.rows() if title]
    rows += [f"| budget: {b.name} | {b.text()}{'' if b.passed else ' ❌'} |" for b in done.budgets]
    text = (
        f"### {done.verdict}: {headline.subject}\n\n| | |\n| --- | --- |\n"
        + "\n".join(rows)
        + "\n\n"
    )
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise cannot_write(path, error) from None
