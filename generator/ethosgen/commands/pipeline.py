"""`ethosgen pipeline`: cut a network into stages for several elements."""

import json
import shlex
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.answers import suggest_next
from ethosgen.commands.choices import ValueChoice
from ethosgen.commands.options import (
    ACCELERATORS,
    JSON,
    MEMORY_MODE,
    MODEL,
    NPU,
    with_offloading,
    with_reading,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.stage_table import written_text
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadOptions
from ethosgen.values.source import ReadOptions


def _print_schema(context: click.Context, _option: click.Parameter, value: bool) -> None:
    """Print the schema of system files and end."""
    if not value or context.resilient_parsing:
        return
    from ethosgen.board.system import system_schema

    click.echo(system_schema(), nl=False)
    context.exit()


@click.command()
@MODEL
@click.option("--stages", type=click.IntRange(1), metavar="K", help="Number of equal elements.")
@click.option("--board", metavar="BOARD", help="Board of each element, e.g. corstone300.")
@click.option(
    "--system",
    "system_path",
    metavar="FILE.toml",
    type=click.Path(path_type=Path),
    help="The elements and links, instead of --stages and --board.",
)
@click.option(
    "--link",
    type=ValueChoice(["serial", "shared"]),
    help="Hand over on a serial line, or in shared memory with doorbells [default: serial].",
)
@NPU
@ACCELERATORS
@MEMORY_MODE
@click.option(
    "--name", metavar="NAME", help="Prefix of the C functions [default: the file's name]."
)
@click.option(
    "-o",
    "--output",
    "directory",
    type=click.Path(path_type=Path),
    help="Output directory [default: NAME_pipeline].",
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Only print the JSON schema of --system's files.",
)
@JSON
@with_offloading
@with_reading
def pipeline(
    network: Path,
    stages: int | None,
    board: str | None,
    system_path: Path | None,
    link: str | None,
    npu: str | None,
    accelerators: tuple[str, ...],
    memory_mode: str | None,
    name: str | None,
    directory: Path | None,
    as_json: bool,
    options: OffloadOptions,
    reading: ReadOptions,
) -> None:
    """Cut a network into stages, and generate a project for the element of each.

    The slowest stage is as fast as possible, by estimated cycles and the link's bandwidth, and each
    fits its element's memories. Each project runs its part of the network on the frames that the
    element before hands over.
    """
    from ethosgen.pipeline.planning import read
    from ethosgen.pipeline.staging import create_pipeline

    system = _system(stages, board, system_path, link, npu, memory_mode, accelerators)
    with Progress() as progress:
        watch = progress.watch()
        found = read(network, name, watch, reading)
        written = create_pipeline(found, system, options, directory, watch)
    click.echo(json.dumps(written.as_json(), indent=2) if as_json else written_text(written))
    suggest_next(f"ethosgen build {shlex.quote(str(written.directory))}", quiet=as_json)


def _system(
    stages: int | None,
    board: str | None,
    path: Path | None,
    link: str | None,
    npu: str | None,
    memory_mode: str | None,
    accelerators: tuple[str, ...],
) -> Any:
    from ethosgen.board import load_board
    from ethosgen.board.system import LINK_KINDS, load_system, uniform_system

    if path is not None:
        given: dict[str, Any] = {
            "--stages": stages,
            "--board": board,
            "--link": link,
            "--npu": npu,
            "--accelerator": accelerators or None,
            "--memory-mode": memory_mode,
        }
        named = [option for option, value in given.items() if value is not None]
        if named:
            raise InputError(f"--system says all about the elements; omit {' and '.join(named)}")
        return load_system(path)
    if stages is None or board is None:
        raise InputError(
            "name the elements: --stages K and --board BOARD for equal ones, or --system FILE.toml"
        )
    kind = next(one for one in LINK_KINDS if one == (link or LINK_KINDS[0]))
    return uniform_system(load_board(board), npu, memory_mode, stages, kind, accelerators)
