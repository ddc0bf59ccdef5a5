"""`ethosgen serve`: run a built project with its console as a pseudo-terminal."""

import sys
from pathlib import Path

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import BUILD, DIR, ON_THE_BOARDS


@click.command(
    cls=GroupedCommand, short_help="Run a built project, with its console for other programs"
)
@DIR
@ON_THE_BOARDS
@BUILD
@click.option(
    "--harness",
    is_flag=True,
    help="In a project with an application: run the firmware that serves its networks.",
)
def serve(directory: Path, on: str | None, build_directory: Path | None, harness: bool) -> None:
    """Run a built project until it exits or Ctrl-C, with its console for other programs.

    The console is a pseudo-terminal, which other programs open like a board's serial port. The
    first line of the output is its path. In a project with an application (project --app), that
    runs.

    \b
        ethosgen serve firmware
    """
    from ethosgen.flow.serving import serve_console

    sys.exit(
        serve_console(directory, on=on, build=build_directory, harness=harness, on_open=click.echo)
    )
