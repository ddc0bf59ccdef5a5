"""`ethosgen build`: compile a project's firmware."""

import shlex
from pathlib import Path

import click

from ethosgen.commands.answers import suggest_next
from ethosgen.commands.options import DIR, ON_THE_BOARDS
from ethosgen.commands.progress import Progress
from ethosgen.commands.wording import size_lines


@click.command()
@DIR
@ON_THE_BOARDS
def build(directory: Path, on: str | None) -> None:
    """Compile a project with cmake and arm-none-eabi-gcc."""
    from ethosgen import pipeline

    with Progress() as progress:
        built = pipeline.build_project(directory, on=on, watch=progress.watch())
    click.echo(f"{built.elf}\n{size_lines(built.sizes.flash, built.sizes.ram)}")
    suggest_next(f"ethosgen run {shlex.quote(str(directory))} --on {built.on}")
