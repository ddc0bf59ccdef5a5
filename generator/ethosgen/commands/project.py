"""`ethosgen project`: generate the sources of a network's firmware."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import click

from ethosgen.commands.choices import path_option
from ethosgen.commands.comparison_table import choice_lines
from ethosgen.commands.endings import suggest_next
from ethosgen.commands.help import GroupedCommand
from ethosgen.commands.options import (
    BOARD_OR_NONE,
    CI_ETHOSGEN,
    JSON,
    PACK,
    PLATFORM_OR_LIBRARY,
    WITH_CI,
    with_recipe,
)
from ethosgen.commands.progress import Progress
from ethosgen.commands.retyping import retyped, retyped_headline
from ethosgen.commands.verbosity import VERBOSE, is_verbose
from ethosgen.commands.wording import written_text
from ethosgen.platforms import find_platform
from ethosgen.values.recipe import Recipe


@click.command(
    cls=GroupedCommand, short_help="Generate a project: the model as a C library, and firmware"
)
@with_recipe(BOARD_OR_NONE, PLATFORM_OR_LIBRARY)
@path_option(
    "-o",
    "--output",
    "directory",
    help="Output directory [default: NAME].",
)
@WITH_CI
@CI_ETHOSGEN
@PACK
@VERBOSE
@JSON
def project(
    recipe: Recipe,
    directory: Path | None,
    with_ci: bool,
    ci_ethosgen: str | None,
    pack: str | None,
    as_json: bool,
) -> None:
    """Generate a project: the model as a C library, and an application around it.

    With several models, each gets its own library; they share the NPU's driver and one arena, which
    is as large as the largest needs. If the project exists, it keeps its application, and the
    models that you do not name.

    \b
        ethosgen project MODEL.tflite --board corstone300 -o firmware
        ethosgen project MODEL.tflite --npu ethos-u55-128 --platform library -o model
        ethosgen project MODEL.tflite --board BOARD --platform csolution --pack Acme::Digits@1.0.0
    """
    from ethosgen import flow

    with Progress() as progress:
        written = flow.create_project(
            recipe,
            directory=directory,
            with_ci=with_ci or ci_ethosgen is not None,
            ci_ethosgen=ci_ethosgen,
            pack=pack,
            watch=progress.watch(),
        )
    written = replace(
        written,
        programs=tuple(
            replace(program, advice=retyped(program.advice)) for program in written.programs
        ),
        headlines=tuple(map(retyped_headline, written.headlines)),
    )
    if as_json:
        click.echo(json.dumps(written.as_json(), indent=2))
        return
    click.echo(written_text(written, is_verbose()))
    for choice in written.choices:
        for line in choice_lines(choice):
            click.echo(line)
    if not find_platform(recipe.platform).is_built:
        suggest_next(
            f"add_subdirectory({written.directory}/model) in your CMakeLists.txt, as "
            f"{written.directory}/README.md shows"
        )
    else:
        suggest_next(f"ethosgen build {shlex.quote(str(written.directory))}{_way(recipe.board)}")


def _way(board: str | None) -> str:
    """Return the extra options for `build` if the board does not run on QEMU."""
    from ethosgen.board import load_board
    from ethosgen.targets import default_target

    target = default_target(load_board(board)) if board else "qemu"
    return "" if target == "qemu" else f" --on {target}"
