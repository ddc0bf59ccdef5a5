"""The registry of platforms' files, and of other facts that their templates need."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen import plugins
from ethosgen.backend.protocol import ProjectFiles
from ethosgen.board import Board
from ethosgen.platforms import BAREMETAL, CSOLUTION, LIBRARY_ONLY, LINUX, ZEPHYR, find_platform
from ethosgen.project.layout import (
    BAREMETAL_LAYOUT,
    CSOLUTION_LAYOUT,
    LIBRARY_LAYOUT,
    LINUX_LAYOUT,
    Layout,
    with_board,
    with_element,
    zephyr_layout,
)
from ethosgen.project.linux import linux_facts
from ethosgen.project.zephyr import shared_board, zephyr_facts
from ethosgen.values.errors import InputError
from ethosgen.values.handover import Handover

Facts = Callable[[Board, Mapping[str, Any], Sequence[ProjectFiles]], Mapping[str, Any]]
"""Returns templates' values from the board, the driver's values and users' accelerators."""


@dataclass(frozen=True)
class PlatformFiles:
    """A platform's files on a board.

    `facts` are values that only its templates have. `networks_board` is the board for networks,
    without the memory that the platform's program keeps.
    """

    layout: Callable[[Board], Layout]
    facts: Facts = lambda _board, _driver, _wrapped: {}
    networks_board: Callable[[Board], Board] = lambda board: board


LAYOUTS = plugins.Registry(
    plugins.LAYOUTS,
    {
        BAREMETAL: PlatformFiles(lambda board: with_board(BAREMETAL_LAYOUT, board)),
        ZEPHYR: PlatformFiles(
            zephyr_layout, lambda board, driver, _: zephyr_facts(board, driver), shared_board
        ),
        CSOLUTION: PlatformFiles(lambda board: with_board(CSOLUTION_LAYOUT, board)),
        LINUX: PlatformFiles(
            lambda _board: LINUX_LAYOUT, lambda _board, _, wrapped: linux_facts(wrapped)
        ),
        LIBRARY_ONLY: PlatformFiles(lambda _board: LIBRARY_LAYOUT),
    },
)
"""The files by the name that a platform gives as its `layout`."""


def platform_files(platform: str) -> PlatformFiles:
    """Return a platform's files; InputError lists the known platforms."""
    name = find_platform(platform).layout_name
    if name not in LAYOUTS:
        raise InputError(
            f"platform '{platform}' has no files: its package must have an entry point '{name}' in "
            f"{plugins.LAYOUTS.group}"
        )
    return LAYOUTS[name]


def find_layout(platform: str, board: Board, handover: Handover | None) -> Layout:
    """Return a platform's layout on a board, for an element of a pipeline with its hand-over."""
    layout = platform_files(platform).layout(board)
    if handover is None:
        return layout
    if not find_platform(platform).stands_in:
        raise InputError(f"an element of a pipeline needs --platform {BAREMETAL}, not {platform}")
    return with_element(layout, board, handover)
