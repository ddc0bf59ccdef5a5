"""`ethosgen boards`: list boards, show one, start a new one."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ethosgen.commands.choices import Group, path_option
from ethosgen.values.grammar import counted

LINUX_WAYS = ("qemu", "ssh", "serial")
"""The targets that run every program for Linux."""


@click.group(
    cls=Group,
    invoke_without_command=True,
    short_help="List boards, show one, or start a board file of your own",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def boards(context: click.Context, as_json: bool) -> None:
    """List boards, show one, or start a board file of your own."""
    if context.invoked_subcommand is None:
        _list(as_json)


@boards.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_all(as_json: bool) -> None:
    """List the boards, as `ethosgen boards` does.

    \b
        ethosgen boards list --json
    """
    _list(as_json)


@boards.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(name: str, as_json: bool) -> None:
    """Print the facts of a board, and mark those that nobody has verified.

    \b
        ethosgen boards show corstone300
    """
    from ethosgen.board import load_board

    board = load_board(name)
    if as_json:
        click.echo(json.dumps(board.model_dump(mode="json", exclude=_pointless(board)), indent=2))
        return
    for line in _facts(board):
        click.echo(line)


@boards.command()
@click.argument("name")
@click.option("--like", required=True, metavar="BOARD", help="The board to start from.")
def new(name: str, like: str) -> None:
    """Write NAME.toml here as a copy of another board's file, for you to change.

    \b
        ethosgen boards new my_board --like corstone300
    """
    from ethosgen.board import start_board_file

    path = start_board_file(name, like, Path())
    click.echo(path)
    click.echo(f"next: edit it, then: ethosgen boards show {shlex.quote(f'./{path}')}", err=True)


@boards.command("from-pack")
@click.argument("device", metavar="[VENDOR::]DEVICE[:CORE]")
@click.option(
    "--index", metavar="URL", help="Address of a pack index (.pidx) [default: the public one]."
)
@path_option(
    "--pack",
    metavar="FILE",
    help="A .pack or .pdsc file instead of an index; works offline.",
)
@path_option(
    "-o",
    "--output",
    metavar="FILE.toml",
    help="The board file to write [default: named after the device]. Never overwrites a file.",
)
@click.option(
    "--limit",
    "limit_s",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    help="Time limit for downloads [default: 300].",
)
def from_pack(
    device: str, index: str | None, pack: Path | None, output: Path | None, limit_s: float | None
) -> None:
    """Write a board file from a device's CMSIS pack; "?" marks facts that the pack lacks.

    \b
        ethosgen boards from-pack STM32F746NG
    """
    from ethosgen.board import find_blanks
    from ethosgen.board.pack import LIMIT_S, start_from_pack

    if index is not None and pack is not None:
        raise click.UsageError("--index and --pack exclude each other")
    path = start_from_pack(
        device, index=index, pack=pack, output=output, limit_s=limit_s or LIMIT_S
    )
    click.echo(path)
    blanks = find_blanks(str(path))
    if blanks:
        click.echo(blanks, err=True)
    shown = path if path.is_absolute() else f"./{path}"
    click.echo(
        f"next: fill them in, then: ethosgen boards show {shlex.quote(str(shown))}", err=True
    )


@boards.command()
def schema() -> None:
    """Print the JSON schema of board files, for editors.

    \b
        ethosgen boards schema > board.schema.json
    """
    from ethosgen.board import board_schema

    click.echo(board_schema(), nl=False)


def _list(as_json: bool) -> None:
    from ethosgen.board import board_names, load_board

    known = [load_board(name) for name in board_names()]
    if as_json:
        click.echo(json.dumps([_summary(board) for board in known], indent=2))
        return
    for board in known:
        row = _summary(board)
        click.echo(f"{row['name']:<12}  {row['description']}")
        click.echo(f"{'':<14}{row['cpu']}, {row['npu']}; {', '.join(row['memories'])}")
        platforms = ", ".join(row["platforms"]) or "a library only"
        runs = ", ".join(row["run"]) or "nothing yet"
        runs += f"; on qemu {row['stand_in']} stands in" if row["stand_in"] else ""
        doubts = f"; {counted(row['unverified'], 'fact')} unverified" if row["unverified"] else ""
        click.echo(f"{'':<14}{platforms}; runs on {runs}{doubts}")


def _summary(board: Any) -> dict[str, Any]:
    others = len(board.npu.configurations) - 1 if board.npu else 0
    npu = board.npu.default if board.npu else "no NPU"
    return {
        "name": board.name,
        "description": board.description,
        "cpu": board.cpu.core,
        "npu": npu + (f" (or {others} more)" if others else ""),
        "memories": [f"{name} {_size(m.size_bytes)}" for name, m in board.memories.items()],
        "platforms": list(board.platforms),
        "memory_modes": list(board.placements),
        "run": list(LINUX_WAYS)
        if board.linux
        else [
            *(["qemu"] if board.on_qemu else []),
            *(name for name in ("fvp", "serial") if getattr(board.run, name)),
        ],
        "stand_in": board.run.stand_in,
        "unverified": len(board.unverified),
    }


def _facts(board: Any) -> Iterator[str]:
    """Yield a board's facts as lines; a question mark marks an unverified fact."""
    marked = set(board.unverified)
    yield f"{board.name}: {board.description}"
    yield from (f"  note: {note}" for note in board.notes)
    excluded = {"name": True, "description": True, "notes": True, **_pointless(board)}
    facts = board.model_dump(exclude_none=True, exclude=excluded)
    facts.pop("unverified")
    yield from _lines("", facts, marked, doubtful=False)
    yield f"{counted(len(board.unverified), 'fact')} unverified, marked with ?:"
    for path, value in board.doubts():
        what = "  (left blank: unknown)" if value is None else ""
        yield f"  ? {path}{what}"


def _pointless(board: Any) -> dict[str, Any]:
    """Return the facts that do not apply to this board, in pydantic's form for exclusion."""
    return {} if board.cpu.has_mve else {"cpu": {"mve_float": True}}


def _lines(path: str, value: Any, marked: set[str], doubtful: bool) -> Iterator[str]:
    is_doubtful = doubtful or path in marked
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _lines(f"{path}.{key}" if path else key, inner, marked, is_doubtful)
        return
    yield f"{'?' if is_doubtful else ' '} {path} = {_text(path, value)}"


def _text(path: str, value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        if path.endswith("_addr"):
            return f"0x{value:08x}"
        if path.endswith("size_bytes"):
            return f"0x{value:08x} ({_size(value)})"
    return json.dumps(value)


def _size(size_bytes: int) -> str:
    if size_bytes % (1 << 20) == 0:
        return f"{size_bytes >> 20} MiB"
    return f"{size_bytes / 1024:g} KiB"
