"""`ethosgen init`: write an ethosgen.toml, so that commands need no arguments."""

from collections.abc import Mapping
from pathlib import Path

import click

from ethosgen.commands import completion
from ethosgen.commands.choices import path_option
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import CI_ETHOSGEN, NPU, WITH_CI
from ethosgen.values.errors import InputError, cannot_write


@click.command(
    cls=GroupedCommand, short_help="Write ethosgen.toml: networks, board, budgets of a folder"
)
@click.argument("networks", metavar="[MODEL]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--board",
    shell_complete=completion.boards,
    metavar="BOARD",
    help="The board, e.g. corstone300.",
)
@NPU
@path_option("--data", metavar="DATA", help="Labelled data for ethosgen accuracy and check.")
@WITH_CI
@CI_ETHOSGEN
@click.option("--schema", is_flag=True, help="Print the file's JSON schema for editors, and end.")
def init(
    networks: tuple[Path, ...],
    board: str | None,
    npu: str | None,
    data: Path | None,
    with_ci: bool,
    ci_ethosgen: str | None,
    schema: bool,
) -> None:
    """Write an ethosgen.toml into this folder.

    \b
        ethosgen init MODEL.tflite --board corstone300
        ethosgen verify
        ethosgen check

    With it verify, check, report, accuracy, project, build and run need no arguments here and in
    the folders below. `check` fails if a budget of the file is exceeded. Without MODEL, it takes
    the networks in the folder.
    """
    from ethosgen.board import load_board
    from ethosgen.workspace.file import FILE, initial_text, workspace_schema

    if schema:
        click.echo(workspace_schema(), nl=False)
        return
    if board is not None:
        facts = load_board(board)
        if npu not in (None, "none"):
            facts.accelerator(npu)
    names = [network.as_posix() for network in _found(networks)]
    text = initial_text(names, board, npu, data.as_posix() if data else None)
    files = {FILE: text.encode()}
    if with_ci or ci_ethosgen is not None:
        from ethosgen.project.ci import check_workflow

        files |= check_workflow(ci_ethosgen)
    _write(files)
    click.echo(f"{', '.join(files)}: {', '.join(names)}")
    suggest_next("ethosgen verify" if board else f"name the board in {FILE}, then: ethosgen verify")


def _found(networks: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the networks that the user names, or those in the folder; InputError for none."""
    chosen = networks or tuple(sorted(Path().glob("*.tflite")))
    if not chosen:
        raise InputError("there is no .tflite file here; name the network: ethosgen init MODEL")
    for network in chosen:
        if not network.is_file():
            raise InputError(f"there is no network '{network}'")
    return chosen


def _write(files: Mapping[str, bytes]) -> None:
    """Write new files, all or none; InputError if one exists."""
    for name in files:
        if Path(name).exists():
            raise InputError(f"'{name}' exists; edit it, or remove it first")
    for name, data in files.items():
        path = Path(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error) from None
