"""`ethosgen identify`: which networks a firmware has, and which weights it accepts."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON

if TYPE_CHECKING:
    from ethosgen.flow.identity import IdentityMatch


@click.command(cls=GroupedCommand, short_help="Show which networks a built firmware has")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@path_option(
    "--project",
    metavar="FOLDER",
    help="Compare with this project, or with its manifest; the exit status is 1 if they differ.",
)
@path_option(
    "--weights",
    metavar="FILE",
    help="Check that the firmware accepts this file of weights; the exit status is 1 if not.",
)
@JSON
def identify(file: Path, project: Path | None, weights: Path | None, as_json: bool) -> None:
    """Show which networks the firmware FILE has: an ELF file, a raw binary, Intel HEX or S-records.

    For each network: the start of the SHA-256 of its file, the digest of the library's sources, and
    the version of ethosgen; with weights apart, the digest of the code that accepts them. FILE may
    also be a file of weights.

    \b
        ethosgen identify update.bin --project firmware
        ethosgen identify update.bin --weights new.weights
        ethosgen identify new.weights --project firmware
    """
    from ethosgen.flow.identity import answer

    matches = answer(file, project, weights)
    is_compared = project is not None or weights is not None
    is_same = not any(match.difference for match in matches)
    if as_json:
        networks = [match.as_json() for match in matches if not match.weights]
        files = [match.as_json() for match in matches if match.weights]
        told = {"matches": is_same} if is_compared else {}
        click.echo(json.dumps({**told, "networks": networks, "weights": files}, indent=2))
    else:
        for match in matches:
            verdict = _verdict(match, project is not None)
            click.echo(f"{_shown(match)}: {verdict}" if verdict else _shown(match))
    click.get_current_context().exit(0 if is_same or not is_compared else 1)


def _verdict(match: "IdentityMatch", has_project: bool) -> str:
    if match.weights:
        return match.difference or ("accepted" if match.is_ours else "")
    if not has_project:
        return ""
    return match.difference or ("as in the project" if match.is_ours else "not its own")


def _shown(match: "IdentityMatch") -> str:
    if match.weights:
        return _weights_line(match)
    if (identity := match.identity) is None:
        return match.name
    code = "".join(f"  code {code.digest}" for code in identity.codes)
    return (
        f"{identity.name}  network {identity.network}{code}  "
        f"build {identity.build}  ethosgen {identity.version}"
    )


def _weights_line(match: "IdentityMatch") -> str:
    answer = match.weights
    assert answer is not None
    if answer.weights is None:
        return f"{match.name}  {answer.status.c_name}  field {answer.field}"
    own = answer.weights
    return f"{match.name}  network {own.network}  code {own.digest}  revision {own.revision}"
