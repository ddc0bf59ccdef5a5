"""Applications on the command line: their options, and the part of `ethosgen run` that runs one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ethosgen.applications import APPLICATIONS
from ethosgen.commands.choices import OpenChoice, path_option
from ethosgen.commands.endings import answer
from ethosgen.commands.junit import JUnitFile
from ethosgen.commands.progress import Progress
from ethosgen.commands.wording import application_text
from ethosgen.values.errors import InputError

LIST = "list"
"""The value of --app that lists the applications."""


def _tell_applications(
    context: click.Context, _option: click.Parameter, name: str | None
) -> str | None:
    """Print the applications and exit, if the user requests them."""
    if name != LIST or context.resilient_parsing:
        return name
    for application in APPLICATIONS.values():
        click.echo(
            f"{application.name:<9} {application.title}\n          input: {application.accepts}"
        )
    return context.exit(0)


APP = click.option(
    "--app",
    type=OpenChoice(lambda: (*APPLICATIONS, LIST)),
    is_eager=True,
    callback=_tell_applications,
    help="Add a whole application around the networks; list shows the available ones.",
)
LABELS = path_option(
    "--app-labels",
    "labels",
    metavar="FILE",
    help="With --app: a text file with one class name per line, in the order of the outputs.",
)

_DEFAULT = ParameterSource.DEFAULT


def runs_application(
    directory: Path, files: Sequence[Path], harness: bool, for_samples: Sequence[str]
) -> bool:
    """Return whether to run the project's application rather than its networks on samples.

    `for_samples` are the command's parameters that do not apply to an application. InputError if
    one of them is given, or files without an application.
    """
    from ethosgen.project import is_project, open_project

    has_one = is_project(directory) and open_project(directory).app is not None
    if files and (harness or not has_one):
        raise InputError(
            f"'{files[0]}' is for an application, which "
            + ("--harness leaves out" if has_one else f"'{directory}' does not have")
            + "; pass samples of a network with --input"
        )
    if harness or not has_one:
        return False
    context = click.get_current_context()
    typed = [p for p in for_samples if context.get_parameter_source(p) is not _DEFAULT]
    if typed:
        wrong = typed[0].removesuffix("_path")
        raise InputError(
            f"--{wrong} is for the networks on samples, but '{directory}' runs an application; add "
            f"--harness, or leave out --{wrong}"
        )
    return True


def run_application(
    directory: Path,
    files: tuple[Path, ...],
    on: str | None,
    seed: int,
    build: Path | None,
    line: Any,
    junit_path: Path | None,
    as_json: bool,
) -> None:
    """Run the application, show its lines as they arrive, and exit with status 0 if it passed."""
    from ethosgen import flow

    with JUnitFile(junit_path, directory.resolve().name) as junit, Progress() as progress:
        report = flow.run_app(
            directory,
            on=on,
            feed=flow.Feed(files, seed),
            build=build,
            line=line,
            on_line=(lambda _line: None) if as_json else progress.show,
            watch=progress.watch(),
        )
        junit.record(report)
    answer(report, as_json, must_compare=False, text=application_text)
