"""`ethosgen identify`: which networks a firmware has."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON

if TYPE_CHECKING:
    from ethosgen.toolchain import Identity


@click.command(cls=GroupedCommand, short_help="Show which networks a built firmware has")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@path_option(
    "--project",
    metavar="FOLDER",
    help="Compare with this project, or with its manifest; the exit status is 1 if they differ.",
)
@JSON
def identify(file: Path, project: Path | None, as_json: bool) -> None:
    """Show which networks the firmware FILE has: an ELF file, a raw binary, Intel HEX or S-records.

    Of each network: the start of the SHA-256 of its file, the digest of the library's sources, and
    the version of ethosgen.

    \b
        ethosgen identify update.bin --project firmware
    """
    from ethosgen.flow import identity

    found = identity.identify(file)
    if project is None:
        _print_found(found, as_json)
        return
    matches = identity.compare_with(found, project)
    is_same = not any(match.difference for match in matches) and any(m.is_ours for m in matches)
    if as_json:
        answer = {"matches": is_same, "networks": [match.as_json() for match in matches]}
        click.echo(json.dumps(answer, indent=2))
    else:
        for match in matches:
            verdict = match.difference or ("as in the project" if match.is_ours else "not its own")
            shown = _line(match.identity) if match.identity else match.name
            click.echo(f"{shown}: {verdict}")
    click.get_current_context().exit(0 if is_same else 1)


def _print_found(found: tuple["Identity", ...], as_json: bool) -> None:
    if not as_json:
        for one in found:
            click.echo(_line(one))
        return
    click.echo(json.dumps({"networks": [one.as_json() for one in found]}, indent=2))


def _line(one: "Identity") -> str:
    return f"{one.name}  network {one.network}  build {one.build}  ethosgen {one.version}"
