"""`ethosgen flash`: write a built firmware to its board."""

import shlex
from pathlib import Path

import click

from ethosgen.commands.help import GroupedCommand


@click.command(
    cls=GroupedCommand, short_help="Write the firmware to the board with the board's flash tool"
)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--harness",
    is_flag=True,
    help="In a project with an application: write the firmware that serves inferences instead.",
)
@click.option("--with", "tool", metavar="TOOL", help="Flash tool [default: the board's first].")
def flash(directory: Path, harness: bool, tool: str | None) -> None:
    """Write the firmware built with --on serial to the board, with the board's flash tool.

    \b
        ethosgen flash firmware
    """
    from ethosgen import flow
    from ethosgen.values.watch import Watch

    elf = flow.flash_project(directory, tool=tool, harness=harness, watch=Watch())
    click.echo(f"{elf} is on the board")
    place = shlex.quote(str(directory))
    wanted = " --harness" if harness else ""
    click.echo(f"next: ethosgen run {place} --on serial --port PORT{wanted}", err=True)
