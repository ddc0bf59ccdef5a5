"""`ethosgen doctor`: list what is installed and what is missing."""

import json
import sys

import click

from ethosgen.commands.answers import suggest_next
from ethosgen.commands.options import JSON


@click.command()
@JSON
def doctor(as_json: bool) -> None:
    """List what is installed and what is missing, with the command that installs it."""
    from ethosgen.pipeline import doctor as examination

    findings = examination.examine()
    if as_json:
        click.echo(json.dumps([finding.as_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            mark = (
                click.style("ok     ", fg="green")
                if finding.found
                else click.style("missing", fg="red")
            )
            click.echo(f"{mark}  {finding.name:<20} {finding.detail}")
            if not finding.found:
                click.echo(f"         remedy:  {finding.remedy}")
    if not all(finding.found for finding in findings):
        sys.exit(3)
    suggest_next("ethosgen verify MODEL.tflite --board corstone300", quiet=as_json)
