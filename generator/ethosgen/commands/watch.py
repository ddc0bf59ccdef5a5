"""`ethosgen watch`: repeat a command whenever one of its files changes."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.values.errors import InputError

_PAUSE_S = 0.5
"""Between two looks at the files."""
_USUAL = ("check",)


@click.command(
    cls=GroupedCommand,
    short_help="Repeat a command when a file changes",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", metavar="[COMMAND [ARGUMENT]...]", nargs=-1, type=click.UNPROCESSED)
def watch(words: tuple[str, ...]) -> None:
    """Repeat a command of ethosgen whenever one of its files changes [default: check].

    \b
        ethosgen watch
        ethosgen watch verify MODEL.tflite --board corstone300

    It watches the files that the command names, and ethosgen.toml with the files in it. End it
    with Ctrl-C.
    """
    command = words or _USUAL
    if not _files(command):
        raise InputError(
            "there is nothing to watch: write an ethosgen.toml with: ethosgen init MODEL, or name "
            "a command and its files: ethosgen watch verify MODEL.tflite --board BOARD"
        )
    while True:
        before = _state(_files(command))
        subprocess.run([sys.executable, "-m", "ethosgen", *command], check=False)
        names = ", ".join(str(path) for path in before)
        click.echo(f"watching {names}", err=True)
        while _state(_files(command)) == before:
            time.sleep(_PAUSE_S)


def _files(words: Sequence[str]) -> list[Path]:
    """Return the files that a command depends on: those it names, and the workspace's."""
    from ethosgen.workspace.file import find_workspace, load_workspace

    named = [Path(word.partition("=")[2] or word) for word in words]
    files = [path for path in named if path.is_file()]
    workspace = find_workspace(Path.cwd())
    if workspace is not None:
        files.append(workspace)
        try:
            tables = load_workspace(workspace)
        except InputError:
            return files  # the command reports the error; the next change may correct it
        data = [tables.accuracy.data, tables.accuracy.labels] if tables.accuracy else []
        files += [workspace.parent / name for name in (*tables.networks, *data) if name]
    return list({path.resolve(): Path(os.path.relpath(path)) for path in files}.values())


def _state(files: Sequence[Path]) -> Mapping[Path, tuple[int, int] | None]:
    """Return time and size of each file, None for one that is missing."""
    states: dict[Path, tuple[int, int] | None] = {}
    for path in files:
        try:
            facts = path.stat()
        except OSError:
            states[path] = None
        else:
            states[path] = facts.st_mtime_ns, facts.st_size
    return states
