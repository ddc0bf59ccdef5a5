"""Draws the parts of a report: the timeline, the memory, and the graph of the operators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ethosgen.plots.canvas import Picture, picture
from ethosgen.report.charts import (
    Box,
    MemoryChart,
    Tick,
    make_lanes,
    make_memory_charts,
    make_ticks,
    style_of,
)
from ethosgen.report.content import NetworkReport, ReportLayer
from ethosgen.values.errors import InputError

_PAPER = "#ffffff"
_FILLS = {
    **{"npu": "#2563c9", "cpu": "#c2630f", "dma": "#0f7a6c", "gone": "#55606e"},
    **{"input": "#47566b", "output": "#47566b", "tensor": "#2563c9", "weights": "#0f7a6c"},
    **{"variable": "#7c3aad", "workspace": "#c2630f"},
}
"""The colours by unit, and by kind of block: those of the page."""
_OTHER = "#7c3aad"
_WIDTH = 8.0
"""The width of a plot in inches."""
_LANE, _AREA, _RANK, _NODE = 0.55, 3.2, 0.5, 1.7
"""Inches for a lane, a memory, a rank of the graph, and the width of an operator."""
_NODE_SHARE = 0.84
"""The part of an operator's column that its box takes."""
_HEIGHT = 40.0
"""The most inches of a graph."""


def plot(report: NetworkReport, what: str = "timeline") -> Picture:
    """Return a part of a report as a plot; InputError for a part that is none of PARTS."""
    if what not in PARTS:
        raise InputError(f"plot: '{what}' is none of {', '.join(PARTS)}")
    return PARTS[what](report)


def _timeline(report: NetworkReport) -> Picture:
    lanes = make_lanes(report)
    if not lanes:
        raise InputError(f"'{report.subject.name}' has no timeline: nothing runs")

    def fill(figure: Any) -> None:
        axis = _axis(figure, f"{report.subject.name} on {_place(report)}")
        for row, lane in enumerate(lanes):
            for box in lane.boxes:
                _rectangle(axis, (box.x, row - 0.4, box.width, 0.8), box)
        axis.set_yticks(range(len(lanes)), [f"{e.title} {e.busy:.0%}" for e in lanes])
        axis.set_ylim(len(lanes) - 0.5, -0.5)
        _marks(axis, make_ticks(report.costs.cycles), report.costs.time_unit)

    return picture((_WIDTH, _LANE * len(lanes) + 1.1), fill, f"timeline of {report.subject.name}")


def _memory(report: NetworkReport) -> Picture:
    charts = [chart for chart in make_memory_charts(report) if chart.boxes]
    if not charts:
        raise InputError(f"'{report.subject.name}' has no tensor in memory to plot")

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots(len(charts), 1, squeeze=False).flat
        for axis, chart in zip(axes, charts, strict=True):
            _blocks(axis, chart, report)

    return picture((_WIDTH, _AREA * len(charts)), fill, f"memory of {report.subject.name}")


def _blocks(axis: Any, chart: MemoryChart, report: NetworkReport) -> None:
    for box in chart.boxes:
        _rectangle(axis, (box.x, 100 - box.y - box.height, box.width, box.height), box)
    peak = f"{chart.area.peak_bytes:,} of {chart.area.bytes:,} B in use at most"
    axis.set_title(f"{report.subject.name}, {chart.area.name}: {peak}", parse_math=False)
    axis.set_ylim(0, 100)
    axis.set_yticks([100 - tick.at for tick in chart.ticks], [tick.text for tick in chart.ticks])
    axis.set_ylabel("address, B")
    _marks(axis, make_ticks(report.costs.cycles), report.costs.time_unit)


def _graph(report: NetworkReport) -> Picture:
    ranks = _ranks(report.layers)
    rows: dict[int, list[ReportLayer]] = {}
    for layer in report.layers:
        rows.setdefault(ranks[layer.operator], []).append(layer)
    if not rows:
        raise InputError(f"'{report.subject.name}' has no operator to plot")
    widest = max(len(row) for row in rows.values())
    places = {
        layer.operator: (index - (len(row) - 1) / 2, rank)
        for rank, row in rows.items()
        for index, layer in enumerate(row)
    }

    def fill(figure: Any) -> None:
        axis = _axis(figure, f"{report.subject.name}: {_where(report)}")
        for layer in report.layers:
            _edges(axis, layer, places)
            _operator(axis, layer, places[layer.operator])
        axis.set_xlim(-max(widest, 2) / 2, max(widest, 2) / 2)
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_axis_off()
        axis.set_title(axis.get_title(), parse_math=False)

    size = max(4.0, _NODE * widest), min(_RANK * len(rows) + 0.6, _HEIGHT)
    return picture(size, fill, f"graph of {report.subject.name}")


PARTS: Mapping[str, Callable[[NetworkReport], Picture]] = {
    "timeline": _timeline,
    "memory": _memory,
    "graph": _graph,
}
"""The parts of a report that can be plotted."""


def _ranks(layers: Sequence[ReportLayer]) -> dict[int, int]:
    """Return the number of operators before each on the longest path to it."""
    ranks: dict[int, int] = {}
    for layer in layers:  # in the order of execution: inputs are known
        ranks[layer.operator] = max((ranks[i] + 1 for i in layer.inputs if i in ranks), default=0)
    return ranks


def _edges(axis: Any, layer: ReportLayer, places: Mapping[int, tuple[float, float]]) -> None:
    """Draw a line from each input, beside the operators that it skips."""
    from matplotlib.patches import FancyArrowPatch

    x, y = places[layer.operator]
    for source in layer.inputs:
        left, above = places[source]
        skips = y - above > 1
        beside = _NODE_SHARE / 2 if skips else 0.0
        ends = (left + beside, above), (x + beside, y)
        bend = "arc3,rad=-0.5" if skips else "arc3"
        line: dict[str, Any] = {
            "arrowstyle": "-",
            "connectionstyle": bend,
            "color": "#8a94a3",
            "lw": 1,
        }
        axis.add_patch(FancyArrowPatch(*ends, shrinkA=0, shrinkB=0, zorder=1, **line))


def _operator(axis: Any, layer: ReportLayer, place: tuple[float, float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    colour = _colour(style_of(layer.on))
    axis.add_patch(
        FancyBboxPatch(
            (x - _NODE_SHARE / 2, y - 0.28), _NODE_SHARE, 0.56,
            boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour,
            edgecolor="none", mutation_aspect=2, zorder=2,
        )
    )  # fmt: skip
    share = f"  {layer.share:.0%}" if layer.share else ""
    text = f"{layer.operator} {layer.code}{share}"
    axis.text(
        x, y, text, ha="center", va="center", color=_PAPER, fontsize=6.5, parse_math=False,
        zorder=3,
    )  # fmt: skip


def _axis(figure: Any, title: str) -> Any:
    figure.set_layout_engine("constrained")
    axis = figure.subplots()
    axis.set_title(title, parse_math=False)
    return axis


def _marks(axis: Any, ticks: Sequence[Tick], unit: str) -> None:
    axis.set_xlim(0, 100)
    axis.set_xticks([tick.at for tick in ticks], [tick.text for tick in ticks])
    axis.set_xlabel(unit)


def _rectangle(axis: Any, place: tuple[float, float, float, float], box: Box) -> None:
    """Draw a box, with its label or its number if that fits."""
    from matplotlib.patches import Rectangle

    x, y, width, height = place
    colour = _colour(box.style)
    axis.add_patch(
        Rectangle((x, y), width, height, facecolor=colour, edgecolor=_PAPER, linewidth=0.4)
    )
    text = next((t for t in (box.label, box.shorter) if t and len(t) <= width * 0.6), "")
    if text:
        axis.text(
            x + width / 2, y + height / 2, text, ha="center", va="center", color=_PAPER,
            fontsize=6.5, parse_math=False, clip_on=True,
        )  # fmt: skip


def _colour(style: str) -> str:
    return _FILLS.get(style, _OTHER)


def _place(report: NetworkReport) -> str:
    setting = report.setting
    return f"{setting.npu}, {setting.board}" if setting.board else setting.npu


def _where(report: NetworkReport) -> str:
    """Return how many operators run where: "5 on npu, 1 on cpu"."""
    counts: dict[str, int] = {}
    for layer in report.layers:
        counts[layer.on or "none"] = counts.get(layer.on or "none", 0) + 1
    names = {"npu": "the NPU", "cpu": "the CPU"}
    return ", ".join(
        f"{count} on {names.get(on, on)}" if on != "none" else f"{count} merged or removed"
        for on, count in counts.items()
    )
