"""`ethosgen disasm`: list the NPU's commands."""

import json
from pathlib import Path

import click

from ethosgen.commands import completion
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import JSON
from ethosgen.commands.progress import Progress
from ethosgen.values.grammar import counted


@click.command(cls=GroupedCommand, short_help="Show the NPU's commands in a file")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--npu",
    shell_complete=completion.npus,
    metavar="NPU",
    help="NPU, e.g. ethos-u65-256 [default: the NPU that FILE was compiled for, or ethos-u55-128].",
)
@JSON
def disasm(file: Path, npu: str | None, as_json: bool) -> None:
    """Show the NPU's commands in FILE, and describe each operation.

    FILE is a network (compiled first if it is not compiled yet), the compiler's raw output (Vela's
    .npz), or a command stream, with or without the driver's header.

    \b
        ethosgen disasm MODEL.tflite --npu ethos-u55-128
    """
    from ethosgen.flow import inspection

    with Progress() as progress:
        listings = inspection.list_streams(file, npu, progress.watch())
    if as_json:
        click.echo(json.dumps([listing.as_json() for listing in listings], indent=2))
        return
    for listing in listings:
        size = counted(listing.size_bytes, "byte")
        click.echo(f"; {listing.name}: {size} for {listing.accelerator.name}")
        for line in listing.lines:
            click.echo(line.text)
