"""Man pages, written from the commands' help."""

import inspect
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ethosgen.commands.help import GroupedCommand
from ethosgen.values.grammar import counted
from ethosgen.version import __version__

_AS_IT_IS = "\b"
"""The line before a paragraph that help shows as it is written."""
_MARK = '.\\" Written by ethosgen man.\n'
"""The first line of a page, by which it may be replaced."""


class RoffFormatter(click.HelpFormatter):
    """Writes a command's help as a man page."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis."""
        self.write(f".SH SYNOPSIS\n.B {_roff(prog)}\n{_roff(args)}\n.SH DESCRIPTION\n")

    def write_paragraph(self) -> None:
        """Separate paragraphs."""
        self.write(".PP\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; those that are marked keep their lines."""
        for paragraph in inspect.cleandoc(text).split("\n\n"):
            mark, _, rest = paragraph.partition("\n")
            if mark.strip() == _AS_IT_IS:
                self.write(f".PP\n.nf\n{_roff(rest)}\n.fi\n")
            else:
                self.write(f".PP\n{_roff(' '.join(paragraph.split()))}\n")

    def write_heading(self, heading: str) -> None:
        """Write a section's title."""
        self.write(f".SH {_roff(heading.upper())}\n")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a section; its content needs no indentation."""
        self.write_heading(name)
        yield

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write terms with their explanations."""
        for term, text in rows:
            self.write(f".TP\n.B {_roff(term.strip())}\n{_roff(' '.join(text.split()))}\n")


@click.command(cls=GroupedCommand, short_help="Write man pages")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the pages [default: share/man/man1 beside the command, where man looks].",
)
@click.pass_context
def man(ctx: click.Context, output: Path | None) -> None:
    """Write a man page for each command.

    \b
        ethosgen man
        man ethosgen-verify

    A page has the text of --help. It replaces pages of an earlier version.
    """
    folder = output or Path(sys.prefix) / "share" / "man" / "man1"
    pages = dict(_pages(ctx.find_root().command, None, "ethosgen"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        path = folder / f"{name}.1"
        if not path.exists() or path.read_text(encoding="utf-8").startswith(_MARK):
            path.write_text(page, encoding="utf-8")
        else:
            click.echo(f"{path} is not a page that ethosgen wrote, so it stays", err=True)
    click.echo(f"{folder}: {counted(len(pages), 'page')}")
    where = f"-M {folder.parent} " if output else ""
    click.echo(f"next: man {where}ethosgen-verify", err=True)


def _pages(
    command: click.Command, parent: click.Context | None, path: str
) -> Iterator[tuple[str, str]]:
    """Yield the names and the texts of the pages of a command and of its subcommands."""
    words = path.split()
    ctx = click.Context(command, info_name=words[-1], parent=parent)
    name, about = "-".join(words), command.get_short_help_str(limit=200)
    formatter = RoffFormatter(width=10_000)
    command.format_help(ctx, formatter)
    title = f'.TH {name.upper()} 1 "" "ethosgen {__version__}" "{path}"\n'
    yield name, f"{_MARK}{title}.SH NAME\n{name} \\- {_roff(about)}\n{formatter.getvalue()}"
    if isinstance(command, click.Group):
        for below in command.list_commands(ctx):
            subcommand = command.get_command(ctx, below)
            if subcommand is not None and not subcommand.hidden:
                yield from _pages(subcommand, ctx, f"{path} {below}")


def _roff(text: str) -> str:
    """Escape what troff would read as a request or an escape."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join(f"\\&{line}" if line[:1] in {".", "'"} else line for line in lines)
