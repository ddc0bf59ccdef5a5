"""A hook of MkDocs: writes the help of every command into the page that has the marker.

mkdocs-click 0.9 prints click's own sentinels as defaults, and joins the lines of examples.
"""

from collections.abc import Iterator
from typing import Any

import click

from ethosgen.cli import cli

MARKER = "<!-- commands -->"
WIDTH = 80


def on_page_markdown(markdown: str, **_given: Any) -> str:
    """Return a page's text with the commands in place of the marker."""
    return markdown.replace(MARKER, "\n".join(_sections(cli, "ethosgen", None)))


def _sections(command: click.Command, name: str, above: click.Context | None) -> Iterator[str]:
    """Yield a command's heading and help, then those of its own commands."""
    settings: dict[str, Any] = {**command.context_settings, "terminal_width": WIDTH}
    context = click.Context(command, info_name=name, parent=above, **settings)
    depth = len(context.command_path.split())
    yield f"{'#' * min(depth + 1, 4)} {context.command_path}\n"
    yield f"```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if not command.commands[below].hidden:
                yield from _sections(command.commands[below], below, context)
