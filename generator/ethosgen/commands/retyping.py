"""The command that the user typed, again: for a page, and with an option that would help."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ethosgen.values.advice import Improvement

_RESULTS = frozenset({"output", "perfetto", "explorer", "force", "as_json", "directory"})
"""Parameters that only name output files, or the form of the output."""
Advised = TypeVar("Advised")
"""A report of one network or of several, a page's content, a project, a headline or a program."""


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


def with_typed_commands(found: Advised) -> Advised:
    """Return what a command found; its advice is to type the command again, with an option more.

    Only the command line has the paths and the options that the user typed.
    """
    changed: dict[str, Any] = {}
    for name in ("reports", "programs", "headlines"):
        if parts := getattr(found, name, ()):
            changed[name] = tuple(map(with_typed_commands, parts))
    advice = getattr(found, "advice", None)
    if isinstance(advice, Improvement):
        changed["advice"] = _retyped(advice)
    elif advice:
        changed["advice"] = tuple(map(_retyped, advice))
    if hasattr(found, "layers"):  # a page's content, whose headline is a field
        changed["headline"] = with_typed_commands(found.headline)  # type: ignore[attr-defined]
    return replace(found, **changed) if changed else found  # type: ignore[type-var]


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
