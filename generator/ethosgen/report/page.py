"""The report as one HTML file that needs no network: styles, script and data are in it.

Numbers in the text come from the JSON through `Shown`, which marks each with the path to its value.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup

from ethosgen.host.pages import BASE, TABLES, content_policy, joined_script, page_file
from ethosgen.host.resources import template_folder
from ethosgen.report import charts, highlights
from ethosgen.report.content import NetworkReport
from ethosgen.report.sections import rendered_sections
from ethosgen.values.grammar import counted
from ethosgen.values.time import rounded

GENERATOR = "ethosgen report"
"""The content of the page's meta element "generator"; only a page with it is replaced."""

SCRIPTS = (
    *("elements.js", "viewport.js", "graph.js", "charts.js"),
    *(TABLES, "search.js", "report.js"),
)
"""The page's own scripts, in the order in which they begin."""
_CLEAR = ("kernel", "padding", "activation")
"""Attributes that a reader knows by their values."""
UNKNOWN = "not known"
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
"""A line that would make a browser's tools look for a file beside the page."""


class Shown:
    """Formats the values of a report's JSON by their paths, such as "/costs/arena_bytes"."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def at(self, path: str) -> Any:
        """Return the value at a path."""
        value: Any = self._data
        for key in path.strip("/").split("/"):
            value = value[int(key)] if isinstance(value, list | tuple) else value[key]
        return value

    def __call__(self, path: str, style: str = "number") -> Markup:
        """Return a number as HTML that names its path and its style."""
        text = shown_text(self.at(path), style)
        return Markup('<span data-path="{}" data-style="{}">{}</span>').format(path, style, text)


def shown_text(value: float | None, style: str) -> str:
    """Return a number as the page shows it.

    Styles are "number", "about" (two digits), "percent", "ms", "mhz".
    """
    if value is None:
        return UNKNOWN
    if style == "percent":
        return f"{100 * value:.1f}%"
    if style == "ms":
        return f"{rounded(1e3 * value):,g}"
    if style == "about":
        return f"{rounded(value):,.0f}"
    if style == "mhz":
        return f"{value / 1e6:,.6g}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def render_page(report: NetworkReport) -> str:
    """Return the page."""
    data = json.loads(json.dumps(report.as_json()))
    styles = page_file(BASE) + page_file("report.css")
    scripts = [_SOURCE_MAP.sub("", page_file("dagre.min.js")), joined_script(SCRIPTS)]
    roofline = report.roofline
    return (
        _environment()
        .get_template("report.html")
        .render(
            generator=GENERATOR,
            report=report,
            shown=Shown(data),
            json=Markup(_harmless(json.dumps(data, separators=(",", ":")))),
            styles=Markup(styles),
            scripts=[Markup(script) for script in scripts],
            licence=page_file("dagre.LICENSE"),
            policy=content_policy(styles, scripts),
            lanes=charts.make_lanes(report),
            ticks=charts.make_ticks(report.costs.cycles),
            milliseconds=charts.make_millisecond_ticks(report.costs.seconds),
            longest=highlights.longest_layers(report),
            places=highlights.places(report),
            left_out=highlights.left_out(report),
            sections=rendered_sections(report),
            memories=charts.make_memory_charts(report),
            roof=charts.make_roof_chart(roofline, report.layers) if roofline else None,
            most_bytes=max(
                [max(x.constant_bytes, x.encoded_bytes or 0) for x in report.layers] or [1]
            ),
            busy=highlights.busy_part(report),
            room=highlights.headroom(report),
            most_share=max([layer.share or 0 for layer in report.layers] or [0]) or 1,
        )
    )


def _harmless(text: str) -> str:
    """Return JSON in which nothing can end the surrounding element."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def brief(attributes: Mapping[str, str]) -> str:
    """Return an operator's attributes for the table of layers."""
    return ", ".join(
        value if name in _CLEAR else f"{name} {value}" for name, value in attributes.items()
    )


def rate(seconds: float) -> str:
    """Return the rate per second of something that takes `seconds`, in two digits."""
    often = rounded(1 / seconds)
    return f"{often:,.0f}" if often >= 10 else f"{often:g}"


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template_folder("report")]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
    )
    environment.filters["counted"] = counted
    environment.filters["short"] = charts.short
    environment.filters["style"] = charts.style_of
    environment.filters["largest"] = highlights.largest_at_peak
    environment.filters["brief"] = brief
    environment.filters["rate"] = rate
    return environment
