"""`ethosgen doctor`: list what is installed and what is missing; install extras."""

import json
import sys
from typing import Any

import click

from ethosgen import plugins
from ethosgen.commands.choices import Group
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON
from ethosgen.commands.progress import Progress
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.extras import EXTRAS
from ethosgen.host.tool_sets import TOOL_SETS


@click.command(cls=GroupedCommand, short_help="List what is installed and what is missing")
@click.option(
    "--install",
    "wanted",
    type=click.Choice([*EXTRAS, *ENVIRONMENTS, *TOOL_SETS]),
    multiple=True,
    help="Install an extra; torch, tosa and keras get Python environments of their own, and the "
    "system's package manager installs the programs of cycles. Repeatable.",
)
@JSON
def doctor(wanted: tuple[str, ...], as_json: bool) -> None:
    """List what is installed and what is missing, with the command that installs it.

    \b
        ethosgen doctor
        ethosgen doctor --install cycles
    """
    from ethosgen.flow import doctor as examination

    if wanted:
        with Progress() as progress:
            watch = progress.watch()
            findings = [examination.install(name, watch) for name in wanted]
    else:
        root = click.get_current_context().find_root()
        if isinstance(root.command, Group):
            root.command.add_plugins()  # refuses those whose names are taken
        findings = examination.examine()
    plugins.faults()  # the list has them
    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            _show(finding)
    if not all(finding.is_found or finding.optional for finding in findings):
        sys.exit(3)
    suggest_next("ethosgen verify MODEL.tflite --board corstone300", quiet=as_json)


def _show(finding: Any) -> None:
    if finding.is_found:
        mark = click.style("ok     ", fg="green")
    elif finding.optional:
        mark = click.style("without", fg="yellow")
    else:
        mark = click.style("missing", fg="red")
    click.echo(f"{mark}  {finding.name:<20} {finding.detail}")
    if not finding.is_found:
        click.echo(f"         remedy:  {finding.remedy}")
