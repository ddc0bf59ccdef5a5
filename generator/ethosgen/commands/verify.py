"""`ethosgen verify`: does a network work on a board?"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethosgen.commands.endings import answer
from ethosgen.commands.firmware_options import COVERAGE, SELF_TEST
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.junit import JUnitFile
from ethosgen.commands.options import (
    BOARD,
    JSON,
    JUNIT,
    ON,
    PLATFORM,
    PROFILE,
    require_board,
    with_line,
    with_recipe,
    with_samples,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.retyping import retyped
from ethosgen.commands.verbosity import VERBOSE
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import FirmwareReport, Report

if TYPE_CHECKING:
    from ethosgen.verdict.judgement import Criteria, Inputs


@click.command(
    cls=GroupedCommand, short_help="Generate, build and run firmware: does my network work?"
)
@with_recipe(BOARD, PLATFORM)
@ON
@with_samples()
@PROFILE
@COVERAGE
@SELF_TEST
@VERBOSE
@JSON
@JUNIT
@click.option("--flash", "flasher", metavar="TOOL", help="Flash the board with this tool first.")
@click.option(
    "--app-input",
    "app_files",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="With --app: a file in place of the application's sensor. Repeatable [default: random "
    "input].",
)
@with_line
def verify(
    recipe: Recipe,
    on: str,
    inputs: "Inputs",
    criteria: "Criteria",
    profile: bool,
    coverage: bool,
    self_test: bool,
    as_json: bool,
    junit_path: Path | None,
    flasher: str | None,
    app_files: tuple[Path, ...],
    line: Any,
) -> None:
    """Answer "does my network work on this board?": project, build and run in a temporary folder.

    Several networks go into one firmware with one arena and run in turn. Exit status 0 means that
    every output of every sample equals TensorFlow Lite Micro's. With --app the application runs
    too, and every line that it prints must equal the line that follows from TensorFlow Lite Micro's
    outputs.

    \b
        ethosgen verify MODEL.tflite --board corstone300
        ethosgen verify MODEL.tflite --board nucleo-h743zi --npu none --samples 100
        ethosgen verify MODEL.tflite --board corstone300 --samples 100 --coverage
    """
    from ethosgen import flow

    require_board(line)
    with (
        JUnitFile(junit_path, "_".join(network.stem for network in recipe.networks)) as junit,
        Progress() as progress,
    ):
        report = flow.verify(
            recipe,
            flow.RunOptions(
                inputs,
                criteria=criteria,
                line=line,
                profile=profile,
                coverage=coverage,
                self_test=self_test,
            ),
            on=on,
            flasher=flasher,
            feed=flow.Feed(app_files, inputs.seed),
            watch=progress.watch(),
        )
        junit.record(report)
    answer(_retyped(report), as_json)


def _retyped(report: Report | FirmwareReport) -> Report | FirmwareReport:
    """Return the report with the command that the user typed in its advice."""
    if isinstance(report, Report):
        return replace(report, advice=retyped(report.advice))
    networks = tuple(replace(network, advice=retyped(network.advice)) for network in report.reports)
    return replace(report, reports=networks)
