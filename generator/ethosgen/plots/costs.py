"""Draws a comparison: SRAM against time, a panel for each network on a board."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ethosgen.host.extras import EXTRAS
from ethosgen.plots.canvas import Picture, picture
from ethosgen.plots.page import page
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.configurations import ComparisonReport, Cost, Result, groups
from ethosgen.values.errors import InputError
from ethosgen.values.labelled import LabelledResult

FORMATS = (".svg", ".png", ".html")
"""The suffixes of the files that it can write."""

_COLUMNS = 2
_PANEL = 5.2, 3.9
"""Width and height of a panel in inches."""
_MARKERS = {"shared_sram": "o", "sram_only": "s", "dedicated_sram": "^"}
_COLOURS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    *("#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#1a1a60"),
)
_ALONE = "#000000"
"""The colour of the CPU alone."""


def check_format(name: str) -> str:
    """Return the suffix of a file's name; InputError for any other.

    ToolError if Matplotlib is not installed.
    """
    suffix = f".{name.lower().rpartition('.')[2]}"
    if suffix not in FORMATS:
        raise InputError(f"--plot '{name}' ends in none of {', '.join(FORMATS)}; choose one")
    EXTRAS["plot"].require("a plot", otherwise=", or use --csv")
    return suffix


def draw(
    report: ComparisonReport,
    suffix: str,
    command: str = "",
    accuracy: Sequence[LabelledResult] = (),
) -> bytes:
    """Return a report as a picture, or as a page with the picture and all figures.

    Raises InputError if the report has no figure.
    """
    if suffix == ".html":
        return page(report, plot(report).file("svg").decode(), command, accuracy).encode()
    return plot(report).file(suffix.removeprefix("."))


def plot(report: ComparisonReport) -> Picture:
    """Return SRAM against time, a panel for each network and board; InputError without a figure."""
    panels = {
        name: with_cost
        for name, results in groups(report.results).items()
        if (with_cost := [result for result in results if result.cost is not None])
    }
    if not panels:
        raise InputError("there is nothing to plot: every configuration is refused")
    colours = _colours([result for results in panels.values() for result in results])
    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = list(figure.subplots(rows, columns, squeeze=False).flat)
        for axis, ((network, board), results) in zip(axes, panels.items(), strict=False):
            _panel(axis, f"{network} on {board}", results, colours)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        handles = list(_legend(panels.values(), colours))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)

    return picture((columns * _PANEL[0], rows * _PANEL[1] + 0.9), fill, "SRAM against time")


def _panel(axis: Any, title: str, results: Sequence[Result], colours: dict[str, str]) -> None:
    """Draw the configurations of a network on a board."""
    costs = [cost for result in results if (cost := result.cost) is not None]
    in_seconds = all(cost.seconds is not None for cost in costs)
    lines: dict[tuple[str, str | None], list[tuple[float, float, Result]]] = {}
    for result, cost in zip(results, costs, strict=True):
        place = cost.sram_bytes / 1024, _height(cost, in_seconds)
        lines.setdefault((result.setting.npu, result.setting.memory_mode), []).append(
            (*place, result)
        )
    for (npu, mode), points in lines.items():
        points.sort(key=lambda point: point[:2])
        colour = colours[npu]
        axis.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, lw=0.8)
        for x, y, result in points:
            axis.plot(
                x,
                y,
                marker="X" if npu == NO_NPU else _MARKERS.get(mode or "", "o"),
                color=colour,
                markerfacecolor="white" if result.misfit else colour,
                markersize=8 if result.on_front else 5,
                markeredgecolor="black" if result.on_front else colour,
            )
    axis.set_title(title, parse_math=False)  # a board's name may have dollar signs
    axis.set_xlabel("SRAM, KiB")
    axis.set_ylabel("time by estimate, ms" if in_seconds else "cycles by estimate")
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(_plain_numbers())
    axis.yaxis.set_minor_formatter(_plain_numbers())
    axis.set_xlim(left=0)
    axis.grid(visible=True, which="both", color="#e4e4e4", lw=0.6)
    axis.set_axisbelow(True)


def _plain_numbers() -> Any:
    """Return a formatter for a logarithmic axis that writes 0.6 and 200,000, not powers of ten."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:,.10g}" if super().__call__(x, pos) else ""

    return Plain(labelOnlyBase=False, minor_thresholds=(2, 0.5))


def _height(cost: Cost, in_seconds: bool) -> float:
    """Return a cost's time in milliseconds, or in cycles if a clock of the panel is unknown."""
    seconds = cost.seconds
    return 1e3 * seconds if in_seconds and seconds is not None else float(cost.cycles)


def _colours(results: Sequence[Result]) -> dict[str, str]:
    """Return a colour for each NPU, in the order of the results."""
    names = list(
        dict.fromkeys(result.setting.npu for result in results if result.setting.npu != NO_NPU)
    )
    colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}
    return {**colours, NO_NPU: _ALONE}


def _legend(panels: Any, colours: dict[str, str]) -> Iterator[Any]:
    """Yield an entry for each colour and marker that is drawn."""
    from matplotlib.lines import Line2D

    drawn = [result.setting for results in panels for result in results]
    for npu, colour in colours.items():
        if any(setting.npu == npu for setting in drawn):
            mark = "X" if npu == NO_NPU else "o"
            name = "the CPU alone" if npu == NO_NPU else npu
            yield Line2D([], [], color=colour, marker=mark, lw=0.8, label=name)
    modes = {setting.memory_mode for setting in drawn if setting.npu != NO_NPU}
    for mode, mark in _MARKERS.items():
        if mode in modes and len(modes) > 1:
            yield Line2D([], [], color="#555", marker=mark, lw=0, label=mode)
    if any(result.on_front for results in panels for result in results):
        yield Line2D(
            [], [], color="#bbb", marker="o", markersize=8, markeredgecolor="black", lw=0,
            label="on the front",
        )  # fmt: skip
