"""Draws a placement as SVG: the tasks above, the links' loads below."""

from collections.abc import Iterator, Sequence
from colorsys import hls_to_rgb
from typing import Any

import numpy as np

from ethosgen.plots.canvas import picture
from ethosgen.values.multiples import pieces
from ethosgen.values.time import percent
from ethosgen_place.arrays import Floats
from ethosgen_place.layout import Placement
from ethosgen_place.report import PlacementReport, rate
from ethosgen_place.traffic import EAST, NORTH, SOUTH, WEST

Colour = Sequence[int]
"""Red, green and blue from 0 to 255."""
Pixels = np.ndarray[Any, np.dtype[np.uint8]]

_WIDTH = 10.0
"""The width of the picture in inches, as all lengths here."""
_ELEMENT, _LARGE = 0.3, 0.6
"""The longest side of an element, and of one in a small mesh, which is no higher than _HIGH."""
_HIGH = 3.0
_LINE = 0.2
_TITLE = 0.35
_MARGIN = 0.2
_MOST_NAMES = 32
_LONGEST_NAME = 38
_SHORT_NAME, _MANY_COLUMNS, _COLUMNS = 22, 5, 3
"""The longest name of those that stand in many columns; longer ones stand in fewer."""


UNUSED, DEAD = (240, 240, 240), (85, 85, 85)
"""Colours of elements without a task, and of those that do not work."""
HEAT = np.array(
    (
        (214, 228, 240),
        (158, 202, 225),
        (253, 212, 158),
        (253, 174, 97),
        (244, 109, 67),
        (165, 0, 38),
    ),
    np.uint8,
)
"""Colours of links that are busy for up to 1/6 of the time, 2/6, and so on."""
_IDLE = 255
_ELEMENTS = 238
"""Greys in the picture of links: where none is used, and elements."""


def draw(report: PlacementReport) -> bytes:
    """Return the picture of a simulated placement.

    A pixel is an element, or in the picture of links an element or the gap between two.
    """
    layout = report.layout
    mesh = layout.system.mesh
    longest = max(_ELEMENT, min(_LARGE, _HIGH / mesh.height))
    side = min(longest, (_WIDTH - 2 * _MARGIN) / mesh.width)
    wide, high = side * mesh.width, side * mesh.height
    names = list(_names(layout))
    is_short = all(len(name) <= _SHORT_NAME for _, name in names)
    columns = _MANY_COLUMNS if is_short else _COLUMNS
    lines = _LINE * pieces(len(names), columns), _LINE
    whole = 2 * (high + _TITLE) + sum(lines) + _MARGIN

    def fill(figure: Any) -> None:
        def panel(bottom: float) -> Any:
            """Add a panel, which matplotlib places in shares of the figure."""
            x, y = 1 / _WIDTH, 1 / whole
            return figure.add_axes((_MARGIN * x, bottom * y, wide * x, high * y))

        below = _MARGIN + lines[1]
        tasks = panel(below + high + _TITLE + lines[0])
        _fill(tasks, _title(report), task_pixels(layout), names, columns)
        loads = link_pixels(layout, report.link_loads)
        _fill(panel(below), _subtitle(report), loads, _heat_names(), len(HEAT))

    return picture((_WIDTH, whole), fill, "the placement").file("svg")


def task_pixels(layout: Placement) -> Pixels:
    """Return the colours of elements, by y and x: of their tasks, or unused, or dead."""
    mesh = layout.system.mesh
    who = np.full(mesh.elements, -1)
    who[layout.elements] = layout.replication.task_of
    who[~layout.system.alive] = -2
    palette = np.array([*_colours(layout), DEAD, UNUSED], np.uint8)
    pixels: Pixels = palette[who].reshape(mesh.height, mesh.width, 3)
    return pixels


def link_pixels(layout: Placement, loads: Floats) -> Pixels:
    """Return the colours of links, by y and x: elements are at even ones, links between them.

    The busier of the two links between neighbours counts. An element with a port has its colour.
    """
    mesh = layout.system.mesh
    inner = 4 * mesh.elements
    grid = loads[:inner].reshape(mesh.height, mesh.width, 4)
    busy = np.zeros((2 * mesh.height - 1, 2 * mesh.width - 1))
    busy[::2, 1::2] = np.maximum(grid[:, :-1, EAST], grid[:, 1:, WEST])
    busy[1::2, ::2] = np.maximum(grid[:-1, :, SOUTH], grid[1:, :, NORTH])
    ports = np.concatenate([gate.elements for gate in layout.gates])
    for port in np.flatnonzero(loads[inner:]).tolist():
        x, y = layout.system.place(int(ports[port]))
        busy[2 * y, 2 * x] = max(busy[2 * y, 2 * x], loads[inner + port])
    heat = np.minimum(len(HEAT) - 1, (busy * len(HEAT)).astype(np.int64))
    idle = np.full_like(busy, _IDLE, np.uint8)
    idle[::2, ::2] = _ELEMENTS
    pixels: Pixels = np.where(busy[:, :, None] > 0, HEAT[heat], idle[:, :, None])
    return pixels


def _title(report: PlacementReport) -> str:
    layout = report.layout
    return (
        f"{layout.replication.graph.name} on a mesh of {layout.system.mesh}: "
        f"{rate(1 / report.simulated.period_s)} per second, limited by {report.bound.limit}"
    )


def _subtitle(report: PlacementReport) -> str:
    hottest = report.hottest
    if hottest is None:
        return "Links: nothing is handed over"
    return f"Links: the hottest, {hottest[0]}, is busy for {percent(hottest[1])} of the time"


def _names(layout: Placement) -> Iterator[tuple[Colour, str]]:
    """Yield the colours of tasks and their names, as many as are legible."""
    graph = layout.replication.graph
    colours = _colours(layout)
    for task in graph.order[:_MOST_NAMES]:
        name, count = graph.tasks[task].name, layout.replication.counts[task]
        short = name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
        yield colours[task], short if count == 1 else f"{short} x{count}"
    if len(graph.tasks) > _MOST_NAMES:
        yield (_IDLE,) * 3, f"and {len(graph.tasks) - _MOST_NAMES:,} more"


def _heat_names() -> list[tuple[Colour, str]]:
    top = len(HEAT)
    return [(colour, f"to {percent((i + 1) / top)}") for i, colour in enumerate(HEAT.tolist())]


def _colours(layout: Placement) -> Sequence[Colour]:
    """Return a colour for each task: along the rainbow in the order of work."""
    order = layout.replication.graph.order
    colours: list[Colour] = [()] * len(order)
    for number, task in enumerate(order):
        hue = 300 / 360 * number / max(1, len(order) - 1)
        rgb = hls_to_rgb(hue, (0.48, 0.66)[number % 2], 0.7)
        colours[task] = [round(255 * part) for part in rgb]
    return colours


def _fill(
    axis: Any, title: str, pixels: Pixels, names: Sequence[tuple[Colour, str]], columns: int
) -> None:
    axis.imshow(pixels, interpolation="none", aspect="auto")
    axis.set_title(title, loc="left", fontweight="bold", parse_math=False)
    axis.set_axis_off()
    squares = [
        axis.scatter([], [], marker="s", color=[[part / 255 for part in colour]])
        for colour, _ in names
    ]
    legend = axis.legend(
        squares, [name for _, name in names], ncols=columns, loc="upper left",
        bbox_to_anchor=(0, 0), frameon=False, borderpad=0.2, borderaxespad=0, handletextpad=0,
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
