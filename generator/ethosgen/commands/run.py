"""`ethosgen run`: run a built firmware on a target and compare its outputs."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethosgen.commands.application import run_application, runs_application
from ethosgen.commands.endings import answer
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.junit import JUnitFile
from ethosgen.commands.offload_options import ORACLE
from ethosgen.commands.options import (
    BUILD,
    DIR,
    JSON,
    JUNIT,
    ON_THE_BOARDS,
    OUTPUT,
    PROFILE,
    require_board,
    require_qemu,
    with_line,
    with_samples,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.stage_table import run_text
from ethosgen.commands.verbosity import VERBOSE
from ethosgen.commands.wording import edits_line
from ethosgen.values.errors import InputError

if TYPE_CHECKING:
    from ethosgen.verdict.judgement import Criteria, Inputs

_FOR_SAMPLES = (
    *("network", "input_path", "output_path", "golden"),
    *("fidelity", "samples", "oracle", "profile"),
)
"""The parameters that do not apply to an application, only to networks on samples."""


@click.command(cls=GroupedCommand, short_help="Run a built project, and compare its outputs")
@DIR
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@ON_THE_BOARDS
@click.option("--network", metavar="NAME", help="Run only this network [default: all in turn].")
@with_samples()
@OUTPUT
@ORACLE
@PROFILE
@VERBOSE
@JSON
@JUNIT
@with_line
@BUILD
@click.option(
    "--harness",
    is_flag=True,
    help="In a project with an application: run the networks on samples instead.",
)
def run(
    directory: Path,
    files: tuple[Path, ...],
    on: str | None,
    network: str | None,
    inputs: "Inputs",
    criteria: "Criteria",
    output_path: Path | None,
    oracle: str | None,
    profile: bool,
    as_json: bool,
    junit_path: Path | None,
    line: Any,
    build_directory: Path | None,
    harness: bool,
) -> None:
    """Run a built project, or a pipeline, and compare its outputs with the golden outputs.

    If the project has an application (project --app), run that instead, with FILES in place of its
    sensor [default: random input], and compare the lines that it prints.

    \b
        ethosgen run firmware
        ethosgen run firmware --input mine.npz --output answers.npz
    """
    from ethosgen import flow
    from ethosgen.stages.manifest import is_pipeline

    if not is_pipeline(directory) and runs_application(directory, files, harness, _FOR_SAMPLES):
        require_board(line)
        run_application(
            directory, files, on, inputs.seed, build_directory, line, junit_path, as_json
        )
        return
    criteria = replace(criteria, oracle=oracle)
    if is_pipeline(directory):
        ports = _ports(on, line)
        kept = {"network": network, "build": build_directory, "profile": profile or None}
        require_qemu(None if ports else on, **kept)
        _run_pipeline(directory, inputs, criteria, output_path, junit_path, as_json, ports)
        return

    require_board(line)
    edits = _tell_edits(directory)  # before the run: an edit may make it fail
    with JUnitFile(junit_path, directory.resolve().name) as junit, Progress() as progress:
        report = flow.run_project(
            directory,
            flow.RunOptions(
                inputs, criteria=criteria, output_path=output_path, line=line, profile=profile
            ),
            on=on,
            network=network,
            build=build_directory,
            watch=progress.watch(),
        )
        junit.record(report)
    answer(report, as_json, must_compare=False, more={"model_edits": edits})


def _tell_edits(directory: Path) -> Any:
    """Warn if the library was edited since it was generated; return the files that differ."""
    from ethosgen.project import find_edits, open_project

    edits = find_edits(open_project(directory))
    if edits:
        click.echo(edits_line(directory, edits), err=True)
    return edits


def _ports(on: str | None, line: Any) -> Any:
    """Return the ports of a pipeline's elements by name, none without; InputError for another."""
    ports = line if isinstance(line, dict) else {}
    if on == "serial" and line is not None and not ports:
        raise InputError("name the element of a pipeline's serial port: --port NAME=URL")
    return ports


def _run_pipeline(
    directory: Path,
    inputs: "Inputs",
    criteria: "Criteria",
    output_path: Path | None,
    junit_path: Path | None,
    as_json: bool,
    ports: Any,
) -> None:
    from ethosgen.systems.elements import Rig, run_pipeline

    with JUnitFile(junit_path, directory.resolve().name) as junit, Progress() as progress:
        watch = progress.watch()
        report = run_pipeline(directory, inputs, criteria, output_path, watch, Rig(ports))
        junit.record(report)
    answer(report, as_json, must_compare=False, text=run_text)
