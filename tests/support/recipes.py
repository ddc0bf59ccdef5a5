"""Recipes for tests: networks for corstone300, the other options by name."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions
from ethosgen.values.recipe import Recipe

BOARD = "corstone300"


def recipe(
    *networks: Path,
    board: str = BOARD,
    io: str = "arena",
    cpu_ops: Iterable[str] = (),
    offload: str = "all",
    check: bool = True,
    oracle: str | None = None,
    **more: Any,
) -> Recipe:
    """Return a recipe; `more` are its own fields."""
    options = OffloadOptions(tuple(cpu_ops), OffloadMode(offload), check=check, oracle=oracle)
    return Recipe(networks, board, io=IoStyle(io), options=options, **more)
