"""Shell completion: the known values of options, imported on first use."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from ethosgen.values.network import Network


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


def operators(context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the operators of the networks that were typed, after those already typed."""
    done, comma, last = typed.rpartition(",")
    codes = {op.code for network in _networks(context) for op in network.graph.operators}
    return _items([f"{done}{comma}{code}" for code in sorted(codes)], f"{done}{comma}{last}")


def inputs(context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return NAME= for each input of the networks that were typed."""
    names = [f"{tensor.name}=" for network in _networks(context) for tensor in network.inputs]
    return _items(names, typed)


def ports(_context: click.Context, _option: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the serial ports of this computer."""
    from ethosgen.targets.serial_port import port_names

    return _items(port_names(), typed)


def _networks(context: click.Context) -> "list[Network]":
    """Return the readable networks whose files the command names."""
    from ethosgen import flow
    from ethosgen.values.errors import EthosgenError
    from ethosgen.values.watch import Watch

    networks = []
    for path in context.args:
        try:
            networks.append(flow.read(Path(path), None, Watch()))
        except EthosgenError:
            continue  # the command reports the error
    return networks


def _items(names: Iterable[str], typed: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(typed)]
