"""Options that say how pictures and sounds become samples."""

import functools
import math
from collections.abc import Callable
from typing import Any

import click

from ethosgen.samples.pictures import RESIZES, Preparation


def _numbers(
    _context: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[float, ...]:
    """Return the numbers of an option."""
    try:
        shares = tuple(float(share) for share in text.split(",")) if text is not None else ()
    except ValueError:
        shares = (math.nan,)
    if not all(map(math.isfinite, shares)):
        raise click.BadParameter(f"{text} must be a number, or one for each channel: 1,2,3")
    return shares


_PREPARING = (
    click.option(
        "--mean",
        callback=_numbers,
        metavar="M[,M…]",
        help="For pictures: a pixel p from 0 to 255 becomes (p - mean) / std, with one value or "
        "one per channel, and is quantized [default: p for a uint8 input, p - 128 for an int8 "
        "input].",
    ),
    click.option("--std", callback=_numbers, metavar="S[,S…]", help="See --mean."),
    click.option(
        "--resize",
        type=click.Choice(RESIZES),
        help="Resize pictures to the input: stretch them, or first crop them to its proportions.",
    ),
    click.option(
        "--pad",
        is_flag=True,
        help="Add silence to sounds that are shorter than the input, and cut off the end of "
        "longer ones.",
    ),
)


def with_preparation(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for pictures and sounds to a command, which gets them as `preparation`."""

    @functools.wraps(command)
    def run(
        *arguments: Any,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        resize: str | None,
        pad: bool,
        **more: Any,
    ) -> None:
        command(*arguments, preparation=Preparation(mean, std, resize, pad), **more)

    for option in reversed(_PREPARING):
        run = option(run)
    return run
