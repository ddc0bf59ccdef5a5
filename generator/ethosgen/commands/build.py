"""`ethosgen build`: compile a project's firmware."""

import shlex
from pathlib import Path

import click

from ethosgen.commands.answers import suggest_next
from ethosgen.commands.options import DIR, ON_THE_BOARDS, require_qemu
from ethosgen.commands.progress import Progress
from ethosgen.commands.wording import size_lines


@click.command()
@DIR
@ON_THE_BOARDS
def build(directory: Path, on: str | None) -> None:
    """Compile a project, or each of a pipeline, with cmake and the platform's compiler."""
    from ethosgen import pipeline
    from ethosgen.stages.manifest import is_pipeline

    if is_pipeline(directory):
        _build_pipeline(directory, on)
        return

    with Progress() as progress:
        built = pipeline.build_project(directory, on=on, watch=progress.watch())
    click.echo(f"{built.elf}\n{size_lines(built.sizes.flash, built.sizes.ram)}")
    suggest_next(f"ethosgen run {shlex.quote(str(directory))} --on {built.on}")


def _build_pipeline(directory: Path, on: str | None) -> None:
    from ethosgen.pipeline.elements import build_pipeline

    require_qemu(on)
    with Progress() as progress:
        made = build_pipeline(directory, progress.watch())
    for name, built in made:
        click.echo(f"{name}: {built.elf}\n{size_lines(built.sizes.flash, built.sizes.ram)}")
    suggest_next(
        f"ethosgen run {shlex.quote(str(directory))}",
        quiet=any(one.on != "qemu" for _, one in made),
    )
