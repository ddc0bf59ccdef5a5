"""Advice's commands are those that the user typed, with the option that helps."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ethosgen.commands.options import BOARD_OR_NONE, PLATFORM, with_recipe
from ethosgen.commands.retyping import retyped, retyped_headline, typed_command
from ethosgen.values.advice import Improvement
from ethosgen.values.headline import Headline
from ethosgen.values.recipe import Recipe

BOARD = ("--board", "corstone300")
SMALLER = Improvement("smaller-npu", "use it", 0.5, "time", "ethosgen x", "--npu ethos-u55-64")
FLOAT = Improvement("float", "quantize it", 0.5, "weights", "ethosgen quantize x")


@click.command(name="verify")
@with_recipe(BOARD_OR_NONE, PLATFORM)
@click.option("-o", "--output", type=click.Path(path_type=Path))
def shown(recipe: Recipe, output: Path | None) -> None:
    """Print the command of each kind of advice, and the command itself."""
    for advice in (SMALLER, FLOAT):
        (piece,) = retyped([advice])
        assert retyped_headline(Headline("PASS", "net", advice=advice)).advice == piece
        click.echo(piece.command)
    assert retyped_headline(Headline("PASS", "net")).advice is None
    click.echo(typed_command(click.get_current_context()))


def run(*words: str) -> list[str]:
    done = CliRunner().invoke(shown, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize(
    "more",
    [
        "",
        " --cpu-ops CONV_2D,SOFTMAX",
        " --no-optimize --sram-limit 65536",
        " --shape input=1,3,224,224 --shape y=1 --input-layout nhwc",
        " --offload auto --memory-mode sram_only --name mine",
        " --feed --trust-compiler",
    ],
)
def test_the_option_replaces_the_typed_one_and_all_others_stay(more: str) -> None:
    first, second, typed = run(
        "some folder/net.tflite", *BOARD, "--npu", "ethos-u55-128", *more.split(), "-o", "x.html"
    )
    start = f"ethosgen verify 'some folder/net.tflite' {' '.join(BOARD)}"
    words = set(typed.removeprefix(start).split())
    assert typed.startswith(start)
    assert words == set(f"--npu ethos-u55-128{more}".split())
    assert first.startswith(start) and first.endswith(" --npu ethos-u55-64")
    assert set(first.removeprefix(start).split()) == words - {"ethos-u55-128"} | {"ethos-u55-64"}
    assert second == "ethosgen quantize x"
