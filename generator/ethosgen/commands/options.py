"""Options that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

JUNIT = click.option(
    "--junit",
    "junit_path",
    metavar="FILE.xml",
    type=click.Path(path_type=Path),
    help="Write the verdict as JUnit XML too.",
)

OFFLOAD = click.option(
    "--offload",
    type=click.Choice(["all", "auto", "none"]),
    default="all",
    show_default=True,
    help="What the NPU gets: all that it can run, what is estimated faster there, nothing.",
)


def with_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --port, --baud and --reset; it gets them as `line`, None without --port."""

    @click.option("--port", metavar="URL", help="Serial port of the board, or a pyserial URL.")
    @click.option("--baud", type=click.IntRange(1), help="Its rate [default: the board's].")
    @click.option(
        "--reset",
        type=click.Choice(["none", "dtr", "rts"]),
        help="The control line that resets the board [default: what its file says].",
    )
    @functools.wraps(function)
    def wrapped(
        port: str | None, baud: int | None, reset: str | None, on: str, **arguments: Any
    ) -> Any:
        if port is None:
            return function(on=on, line=None, **arguments)
        if on != "serial":
            raise click.UsageError("--port is for --on serial")
        from ethosgen.target import Line

        return function(on=on, line=Line(port, baud, reset), **arguments)

    return wrapped
