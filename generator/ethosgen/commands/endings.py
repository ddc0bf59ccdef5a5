"""The end of a command: its report, and the next command to type."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.verbosity import is_verbose
from ethosgen.commands.wording import report_text


def answer(
    report: Any,
    as_json: bool,
    must_compare: bool = True,
    more: dict[str, Any] | None = None,
    text: Callable[[Any], str] | None = None,
) -> None:
    """Print a report and end with status 0 only if it passed.

    `text` describes reports of other kinds than networks'. Without `must_compare`, a run
    that has no golden output also ends with status 0.
    """
    if as_json:
        click.echo(json.dumps(report.as_json() | (more or {}), indent=2))
    else:
        click.echo(text(report) if text else report_text(report, is_verbose()))
    if not report.passed and (must_compare or report.verdict != "NOT COMPARED"):
        sys.exit(1)


def suggest_next(command: str, quiet: bool = False) -> None:
    """Print the next command to type, with ethosgen's name as the user typed it."""
    if quiet:
        return
    typed = sys.argv[0] if Path(sys.argv[0]).name == "ethosgen" else "ethosgen"
    on_path = shutil.which("ethosgen") == str(Path(typed).absolute())
    program = "ethosgen" if on_path else typed
    shown = command.replace("ethosgen ", f"{shlex.quote(program)} ", 1)
    click.echo(f"next: {shown}", err=True)
