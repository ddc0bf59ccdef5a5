"""`ethosgen demo`: list the demos, or copy one to try."""

import json
import shlex
from pathlib import Path

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON
from ethosgen.host.demos import DEMOS, copy_demo, find_demo


@click.command(cls=GroupedCommand, short_help="List the demos, or copy one to try")
@click.argument("name", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The folder [default: NAME-demo]."
)
@JSON
def demo(name: str | None, output: Path | None, as_json: bool) -> None:
    """List the demos, or copy the files of one: its networks and their inputs.

    It overwrites no file, and prints the commands that run the demo.

    \b
        ethosgen demo digits
    """
    if name is None:
        if as_json:
            click.echo(json.dumps([_summary(known.name) for known in DEMOS], indent=2))
            return
        for known in DEMOS:
            click.echo(f"{known.name:<8}  {known.title}")
        click.echo(f"next: ethosgen demo {DEMOS[0].name}", err=True)
        return
    chosen = find_demo(name)
    folder = output or Path(f"{name}-demo")
    copies = copy_demo(chosen, folder)
    if as_json:
        click.echo(json.dumps(_summary(name) | {"files": list(map(str, copies))}, indent=2))
        return
    for path in copies:
        click.echo(path)
    click.echo("next:", err=True)
    for command in (f"cd {shlex.quote(str(folder))}", *chosen.commands):
        click.echo(f"  {command}", err=True)


def _summary(name: str) -> dict[str, object]:
    shown = find_demo(name)
    return {
        "name": shown.name,
        "title": shown.title,
        "files": list(shown.files),
        "commands": list(shown.commands),
    }
