"""A hook of MkDocs: writes the help of every command into the page that has the marker.

Each option has an anchor, such as #ethosgen-verify--board. mkdocs-click 0.9 prints click's own
sentinels as defaults, joins the lines of examples, and has no anchors for options.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import click

from ethosgen.cli import cli

MARKER = "<!-- commands -->"
WIDTH = 80
OPTION = re.compile(r"^(  (?:-\w, )?)(--[\w-]+)(?:( / )(--[\w-]+))?", re.MULTILINE)


def on_page_markdown(markdown: str, **_given: Any) -> str:
    """Return a page's text with the commands in place of the marker."""
    return markdown.replace(MARKER, "\n".join(_sections(cli, "ethosgen", None)))


def _sections(command: click.Command, name: str, above: click.Context | None) -> Iterator[str]:
    """Yield a command's heading and help, then those of its own commands."""
    settings: dict[str, Any] = {**command.context_settings, "terminal_width": WIDTH}
    context = click.Context(command, info_name=name, parent=above, **settings)
    depth = len(context.command_path.split())
    yield f"{'#' * min(depth + 1, 4)} {context.command_path}\n"
    yield _help(command.get_help(context), context.command_path.replace(" ", "-"))
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            if not command.commands[below].hidden:
                yield from _sections(command.commands[below], below, context)


def _help(text: str, command: str) -> str:
    """Return a command's help as HTML, in which each option leads to itself.

    Entities keep Markdown from reading it, and empty lines from ending the block.
    """

    def anchor(option: str) -> str:
        return f'<a id="{command}{option}" href="#{command}{option}">{option}</a>'

    def anchored(line: re.Match[str]) -> str:
        return line[1] + anchor(line[2]) + (line[3] + anchor(line[4]) if line[4] else "")

    marked = OPTION.sub(anchored, escape(text, quote=False))
    return f"<pre><code>{marked.replace(chr(10), '&#10;')}</code></pre>\n"
