"""Draws a placement as SVG: above who does what, below how busy the links are."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

import numpy as np

from ethosgen_place.layout import Placement
from ethosgen_place.report import PlacementReport
from ethosgen_place.traffic import EAST, NORTH, SOUTH, WEST, Floats

_WIDTH = 960
_MARGIN = 20
_LINE = 18
_MOST_NAMES = 32
_LONGEST_NAME = 18
_COLUMNS = 5
_HEAT = ("#d6e4f0", "#9ecae1", "#fdd49e", "#fdae61", "#f46d43", "#a50026")
"""Colours of links that are busy for up to 1/6 of the time, 2/6, and so on."""
_STYLE = "text{font:12px sans-serif;fill:#222}.t{font-weight:bold;font-size:14px}"


def draw(report: PlacementReport) -> str:
    """Return the picture of a placement that was simulated."""
    layout = report.layout
    mesh = layout.system.mesh
    scale = min(28.0, (_WIDTH - 2 * _MARGIN) / mesh.width)
    high = mesh.height * scale
    names = list(_names(layout))
    y: float = _MARGIN + _LINE
    parts = [_text(_MARGIN, y, _title(report), "t"), *_legend(names, y + _LINE, _COLUMNS)]
    y += _LINE * (-(-len(names) // _COLUMNS) + 1)
    parts += [_panel(y, scale, _tasks(layout))]
    y += high + 2 * _LINE
    parts += [
        _text(_MARGIN, y, _subtitle(report), "t"),
        *_legend(_heat_names(), y + _LINE, len(_HEAT)),
    ]
    y += 2 * _LINE
    parts += [_panel(y, scale, _links(layout, report.link_loads))]
    y += high + _MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:.0f}">'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", ground, *parts, "</svg>"]) + "\n"


def _title(report: PlacementReport) -> str:
    layout = report.layout
    return (
        f"{layout.replication.graph.name} on a mesh of {layout.system.mesh}: "
        f"{1 / report.simulated.period_s:,.0f} per second, limited by {report.bound.limit}"
    )


def _subtitle(report: PlacementReport) -> str:
    hottest = report.hottest
    if hottest is None:
        return "Links: nothing is handed over"
    return f"Links: the hottest, {hottest[0]}, is busy for {hottest[1]:.1%} of the time"


def _names(layout: Placement) -> Iterator[tuple[str, str]]:
    """Yield the colours of tasks and their names, as many as are legible."""
    graph = layout.replication.graph
    colours = _colours(layout)
    for task in graph.order[:_MOST_NAMES]:
        name, count = graph.tasks[task].name, layout.replication.counts[task]
        short = name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
        yield colours[task], short if count == 1 else f"{short} x{count}"
    if len(graph.tasks) > _MOST_NAMES:
        yield "#fff", f"and {len(graph.tasks) - _MOST_NAMES:,} more"


def _heat_names() -> list[tuple[str, str]]:
    top = len(_HEAT)
    return [(colour, f"to {100 * (i + 1) / top:.0f}%") for i, colour in enumerate(_HEAT)]


def _colours(layout: Placement) -> Sequence[str]:
    """Return a colour for each task: along the rainbow in the order of work."""
    order = layout.replication.graph.order
    colours = [""] * len(order)
    for number, task in enumerate(order):
        hue = 300 * number / max(1, len(order) - 1)
        colours[task] = f"hsl({hue:.0f},70%,{(48, 66)[number % 2]}%)"
    return colours


def _tasks(layout: Placement) -> Iterator[str]:
    """Yield a path for each task, with a rectangle for each run of its elements in a row."""
    mesh = layout.system.mesh
    who = np.full(mesh.elements, -1)
    who[layout.elements] = layout.replication.task_of
    who[~layout.system.alive] = -2
    runs: dict[int, list[str]] = {}
    for y, row in enumerate(who.reshape(mesh.height, mesh.width).tolist()):
        x = 0
        while x < mesh.width:
            end = next((i for i in range(x, mesh.width) if row[i] != row[x]), mesh.width)
            runs.setdefault(row[x], []).append(f"M{x} {y}h{end - x}v1h{x - end}z")
            x = end
    colours = {-1: "#f0f0f0", -2: "#555", **dict(enumerate(_colours(layout)))}
    for task, some in sorted(runs.items()):
        yield f'<path fill="{colours[task]}" d="{"".join(some)}"/>'


def _links(layout: Placement, loads: Floats) -> Iterator[str]:
    """Yield a path for each colour: a line for each pair of neighbours, a square for each port."""
    mesh = layout.system.mesh
    inner = 4 * mesh.elements
    grid = loads[:inner].reshape(mesh.height, mesh.width, 4)
    across = np.maximum(grid[:, :-1, EAST], grid[:, 1:, WEST])
    along = np.maximum(grid[:-1, :, SOUTH], grid[1:, :, NORTH])
    paths: list[list[str]] = [[] for _ in _HEAT]
    for pairs, step in ((across, "h1"), (along, "v1")):
        for y, x in np.argwhere(pairs > 0).tolist():
            paths[_heat(pairs[y, x])].append(f"M{x} {y}{step}")
    ports = np.concatenate([gate.elements for gate in layout.gates])
    for port in np.flatnonzero(loads[inner:]).tolist():
        x, y = layout.system.place(int(ports[port]))
        paths[_heat(loads[inner + port])].append(f"M{x - 0.2:.1f} {y - 0.2:.1f}h.4v.4h-.4z")
    yield f'<rect width="{mesh.width}" height="{mesh.height}" fill="#f7f7f7"/>'
    for colour, some in zip(_HEAT, paths, strict=True):
        if some:
            yield (
                f'<path fill="none" stroke="{colour}" stroke-width=".45" '
                f'transform="translate(.5 .5)" d="{"".join(some)}"/>'
            )


def _heat(load: float) -> int:
    """Return the number of a link's colour."""
    return min(len(_HEAT) - 1, int(load * len(_HEAT)))


def _panel(y: float, scale: float, parts: Iterator[str]) -> str:
    inside = "\n".join(parts)
    return f'<g transform="translate({_MARGIN} {y:.1f}) scale({scale:.4f})">\n{inside}\n</g>'


def _legend(names: Sequence[tuple[str, str]], y: float, columns: int) -> Iterator[str]:
    wide = (_WIDTH - 2 * _MARGIN) / columns
    for number, (colour, name) in enumerate(names):
        row, column = divmod(number, columns)
        left, base = _MARGIN + column * wide, y + row * _LINE
        yield f'<rect x="{left:.0f}" y="{base - 10:.0f}" width="10" height="10" fill="{colour}"/>'
        yield _text(left + 14, base, name)


def _text(x: float, y: float, text: str, style: str = "") -> str:
    kind = f' class="{style}"' if style else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{kind}>{escape(text)}</text>'
