"""Shell completion: the known values of options, imported on first use."""

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def boards(_context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the boards whose names begin as typed, and files of boards."""
    from ethosgen.board import board_names

    return _items(board_names(), typed) or [CompletionItem(typed, type="file")]


def npus(_context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the NPUs whose names begin as typed, and "none"."""
    from ethosgen.backend import accelerators

    return _items([*accelerators(), "none"], typed)


def targets(_context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the targets whose names begin as typed."""
    from ethosgen.targets import TARGETS

    return _items(TARGETS, typed)


def _items(names: Iterable[str], typed: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(typed)]
