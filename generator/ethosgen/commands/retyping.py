"""The command that the user typed, again: for a page, and with an option that would help."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from ethosgen.values.advice import Improvement
from ethosgen.values.headline import Headline

_RESULTS = frozenset({"output", "perfetto", "explorer", "force", "as_json", "directory"})
"""Parameters that only name output files, or the form of the output."""


def typed_command(context: click.Context, left_out: str = "") -> str:
    """Return the command as the user typed it, without output files and the option `left_out`."""
    words = ["ethosgen", context.info_name or ""]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        if name in _RESULTS or value is None or left_out in parameter.opts:
            continue
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        words += list(_words(parameter, value))
    return shlex.join(words)


def retyped(advice: Iterable[Improvement]) -> tuple[Improvement, ...]:
    """Return advice whose command is the one that the user typed, with the option that helps.

    Only the command line has the paths and the options that the user typed.
    """
    return tuple(map(_retyped, advice))


def retyped_headline(headline: Headline) -> Headline:
    """Return a headline whose advice has the command that the user typed."""
    advice = headline.advice
    return replace(headline, advice=_retyped(advice)) if advice else headline


def _retyped(piece: Improvement) -> Improvement:
    if not piece.option:
        return piece
    name = piece.option.partition(" ")[0]
    command = typed_command(click.get_current_context(), name)
    return replace(piece, command=f"{command} {piece.option}")


def _words(parameter: click.Parameter, value: Any) -> Iterator[str]:
    several = list(value) if isinstance(value, tuple | list) else [value]
    if isinstance(parameter, click.Argument):
        yield from map(str, several)
        return
    option = next(name for name in parameter.opts if name.startswith("--"))
    if isinstance(value, bool):
        yield option if value else parameter.secondary_opts[-1]
    elif parameter.name == "cpu_ops":
        yield from (option, ",".join(several))
    elif parameter.name == "shapes":
        for name, sizes in several:
            yield from (option, f"{name}={','.join(map(str, sizes))}")
    else:
        for single in several:
            yield from (option, str(single))
