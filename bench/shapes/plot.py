"""Draws the ratios of int8 layers as SVG: a dot for each layer, by family, on each core."""

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any

import numpy as np

from bench.shapes.data import FASTEST, OURS, Row
from bench.shapes.shape import INT8
from bench.shapes.summary import families, to_rival, unit_of
from ethosgen.plots.canvas import picture

_WIDTH, _LINE, _TITLE = 10.0, 0.18, 0.9
"""Lengths in inches: of the picture, of a family's line, and around the lines of a core."""
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
"""The axis; a ratio beyond it is drawn at its end."""
_CORES = {
    "cortex-m55": "Cortex-M55 with Helium",
    "cortex-m33": "Cortex-M33",
    "cortex-m3": "Cortex-M3",
    "cortex-m0plus": "Cortex-M0+",
}


def draw(rows: Sequence[Row]) -> bytes:
    """Return the picture; filled dots are ratios to CMSIS-NN, open ones to the reference."""
    int8 = [row for row in rows if row.dtype == INT8]
    panels = {}
    for core in _CORES:
        unit = unit_of(int8, core)
        if known := [row for row in int8 if row.figure(core, OURS) and to_rival(row, core, unit)]:
            panels[core] = known, families(known, core, unit)
    heights = [_TITLE + _LINE * len(names) for _, names in panels.values()]

    def fill(figure: Any) -> None:
        figure.set_layout_engine("constrained")
        axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights).flat
        for axis, (core, (known, names)) in zip(axes, panels.items(), strict=True):
            _panel(axis, core, known, names)

    return picture((_WIDTH, sum(heights)), fill).file("svg")


def _panel(axis: Any, core: str, rows: Sequence[Row], names: Sequence[str]) -> None:
    lines = {name: line for line, name in enumerate(names)}
    unit = unit_of(rows, core)
    by_row = {row.name: to_rival(row, core, unit) or 0.0 for row in rows}
    ratios = {name: [by_row[row.name] for row in rows if row.family == name] for name in names}
    for is_filled, face in ((True, "#8aa9d0"), (False, "white")):
        dots = [
            (by_row[row.name], lines[row.family])
            for row in rows
            if (row.figure(core, FASTEST) is not None) is is_filled
        ]
        x, y = np.reshape(dots, (-1, 2)).T
        axis.plot(_shown(x), y, "o", ms=4.5, mfc=face, mec="#555", mew=0.4, clip_on=False)
    means = [geometric_mean(ratios[name]) for name in names]
    axis.plot(_shown(means), lines.values(), "|", color="#111", ms=10, mew=2, clip_on=False)
    axis.set_title(
        f"{_CORES[core]}, int8: our {unit} over CMSIS-NN's\n"
        "open dots: over TFLM's reference kernel; bars: geometric means",
        loc="left",
    )
    axis.set_xscale("log")
    axis.set_xlim(_TICKS[0], _TICKS[-1])
    axis.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axis.set_yticks(range(len(names)), [f"{name} ({len(ratios[name])})" for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.minorticks_off()
    axis.grid(axis="x", color="#ddd")
    axis.axvline(1, color="#c00", lw=1)
    axis.set_axisbelow(True)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)


def _shown(ratios: Any) -> Any:
    """Return ratios within the axis."""
    return np.clip(ratios, _TICKS[0], _TICKS[-1])
