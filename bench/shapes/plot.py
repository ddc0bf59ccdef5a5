"""Draws the ratios of int8 layers as SVG: a dot for each layer, by family, on each core."""

import math
from collections.abc import Iterator, Sequence
from statistics import geometric_mean
from xml.sax.saxutils import escape

from bench.shapes.data import CMSIS_NN, OURS, Row
from bench.shapes.summary import families, to_rival

_WIDTH, _LEFT, _RIGHT, _TOP = 960, 250, 30, 46
_LINE = 17
_LEAST, _MOST = 0.02, 20.0
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_CORES = {
    "cortex-m55": "Cortex-M55 with Helium",
    "cortex-m33": "Cortex-M33",
    "cortex-m3": "Cortex-M3",
    "cortex-m0plus": "Cortex-M0+",
}
_STYLE = (
    "text{font:12px sans-serif;fill:#222}.t{font-weight:bold;font-size:14px}"
    ".c{fill:#2b6cb0;fill-opacity:.55}.r{fill:none;stroke:#999}"
    ".g{stroke:#ddd}.one{stroke:#c00;stroke-width:1.5}.m{stroke:#111;stroke-width:2.5}"
)


def draw(rows: Sequence[Row]) -> str:
    """Return the picture; filled dots are ratios to CMSIS-NN, open ones to the reference."""
    y = 0.0
    parts: list[str] = []
    int8 = [row for row in rows if row.dtype == "int8"]
    for core, title in _CORES.items():
        known = [row for row in int8 if row.figure(core, OURS) and row.rival(core)]
        if known:
            parts += _panel(known, core, title, y)
            y += _TOP + _LINE * (len({row.family for row in known}) + 2)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y:.0f}">'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", ground, *parts, "</svg>"]) + "\n"


def _panel(rows: Sequence[Row], core: str, title: str, y: float) -> Iterator[str]:
    names = families(rows, core)
    bottom = y + _TOP + _LINE * len(names)
    yield _text(10, y + 18, f"{title}, int8: our instructions over CMSIS-NN's", "t")
    yield _text(10, y + 34, "open dots: over TFLM's reference kernel; bars: geometric means", "")
    for tick in _TICKS:
        x = _x(tick)
        kind = "one" if tick == 1 else "g"
        yield f'<path class="{kind}" d="M{x:.1f} {y + _TOP - 6:.1f}V{bottom:.1f}"/>'
        yield _text(x - 8, bottom + 14, f"{tick:g}", "")
    for number, family in enumerate(names):
        yield from _family(
            [row for row in rows if row.family == family],
            core,
            f"{family}",
            y + _TOP + _LINE * number + _LINE / 2,
        )


def _family(rows: Sequence[Row], core: str, family: str, y: float) -> Iterator[str]:
    yield _text(10, y + 4, f"{family} ({len(rows)})", "")
    ratios = [to_rival(row, core) for row in rows]
    for row, ratio in zip(rows, ratios, strict=True):
        kind = "c" if row.figure(core, CMSIS_NN) else "r"
        told = f"<title>{escape(row.sizes)}: {ratio:.2f}</title>"
        yield f'<circle class="{kind}" cx="{_x(ratio):.1f}" cy="{y:.1f}" r="3.5">{told}</circle>'
    x = _x(geometric_mean(ratios))
    yield f'<path class="m" d="M{x:.1f} {y - 7:.1f}v14"/>'


def _x(ratio: float) -> float:
    """Return the place of a ratio on the logarithmic axis."""
    share = math.log(min(max(ratio, _LEAST), _MOST) / _LEAST) / math.log(_MOST / _LEAST)
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
