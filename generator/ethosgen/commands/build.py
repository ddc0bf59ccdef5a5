"""`ethosgen build`: compile a project's firmware."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ethosgen.commands.endings import suggest_next
from ethosgen.commands.firmware_options import SELF_TEST
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import DIR, JSON, ON_THE_BOARDS, require_qemu
from ethosgen.commands.progress import Progress
from ethosgen.commands.wording import size_lines, stack_lines

if TYPE_CHECKING:
    from ethosgen.toolchain import Built


@click.command(cls=GroupedCommand, short_help="Compile a project with its platform's compiler")
@DIR
@ON_THE_BOARDS
@click.option(
    "--profile",
    is_flag=True,
    help="Make the firmware count the cost of each step of a network, for run --profile.",
)
@SELF_TEST
@JSON
def build(directory: Path, on: str | None, profile: bool, self_test: bool, as_json: bool) -> None:
    """Compile a project, or all projects of a pipeline, with cmake and the platform's compiler.

    \b
        ethosgen build firmware
        ethosgen build firmware --on serial
    """
    from ethosgen import flow
    from ethosgen.stages.manifest import is_pipeline

    if is_pipeline(directory):
        require_qemu(on, profile=profile or None, self_test=self_test or None)
        _build_pipeline(directory, as_json)
        return

    with Progress() as progress:
        built = flow.build_project(
            directory, on=on, profile=profile, self_test=self_test, watch=progress.watch()
        )
    images = [image for image in (built, built.application) if image]
    if as_json:
        click.echo(json.dumps({"images": [_as_json(image) for image in images]}, indent=2))
        return
    for firmware in images:
        sizes = size_lines(firmware.sizes.flash, firmware.sizes.ram)
        lines = [str(_as_given(firmware.elf, directory)), sizes, *stack_lines(firmware.stack)]
        click.echo("\n".join(lines))
    harness = " --harness" if built.application else ""
    wanted = f"{harness} --profile" if profile else ""
    suggest_next(f"ethosgen run {shlex.quote(str(directory))} --on {built.on}{wanted}")


def _as_json(built: "Built", element: str | None = None) -> dict[str, Any]:
    """Return a firmware and its sizes as an object of JSON types."""
    named = {} if element is None else {"element": element}
    sizes = {"flash_bytes": dict(built.sizes.flash), "ram_bytes": dict(built.sizes.ram)}
    stack = {bound.network: bound.need and bound.need.bytes for bound in built.stack}
    return {**named, "elf": str(built.elf), "on": built.on, **sizes, "stack_bytes": stack}


def _build_pipeline(directory: Path, as_json: bool) -> None:
    from ethosgen.systems.elements import build_pipeline

    with Progress() as progress:
        elements = build_pipeline(directory, progress.watch())
    if as_json:
        images = [_as_json(built, name) for name, built in elements]
        click.echo(json.dumps({"images": images}, indent=2))
        return
    for name, built in elements:
        elf = _as_given(built.elf, directory)
        click.echo(f"{name}: {elf}\n{size_lines(built.sizes.flash, built.sizes.ram)}")
    suggest_next(
        f"ethosgen run {shlex.quote(str(directory))}",
        quiet=any(built.on != "qemu" for _, built in elements),
    )


def _as_given(elf: Path, directory: Path) -> Path:
    """Return a file's path as the user named the project: relative, or absolute."""
    try:
        return directory / elf.resolve().relative_to(directory.resolve())
    except ValueError:
        return elf
