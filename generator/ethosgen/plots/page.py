"""A page with a picture and its figures, which opens without a network."""

from collections.abc import Iterator, Sequence
from html import escape

from ethosgen.values.comparison import ComparisonReport, Result

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.4 sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }
figure { margin: 0; overflow-x: auto; }
figure svg { background: #fff; height: auto; max-width: 100%; }
.rows { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { font-weight: bold; padding: .4rem 0; text-align: left; }
th, td { border-bottom: 1px solid #8886; padding: .2rem .6rem; text-align: right; }
th:nth-child(-n+6), td:nth-child(-n+6) { text-align: left; }
tr.front td { font-weight: bold; }
code { overflow-wrap: anywhere; }
"""

_COLUMNS = (
    ("network", "network"),
    ("board", "board"),
    ("npu", "NPU"),
    ("memory_mode", "memory mode"),
    ("strategy", "strategy"),
    ("arena_limit_bytes", "arena limit, B"),
    ("cycles", "cycles"),
    ("milliseconds", "ms"),
    ("arena_bytes", "arena, B"),
    ("sram_bytes", "SRAM, B"),
    ("constant_bytes", "flash, B"),
    ("energy_microjoules", "energy, µJ"),
    ("mismatches", "outputs that differ"),
    ("elements", "outputs compared"),
)
"""The keys of a result, and their titles."""


def page(report: ComparisonReport, svg: str, command: str) -> str:
    """Return the page; `svg` is the picture, `command` what made it."""
    picture = svg[svg.index("<svg") :].replace(
        "<svg", '<svg role="img" aria-label="SRAM against time; the table has the figures"', 1
    )
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>ethosgen compare</title><style>{_STYLE}</style></head><body>",
        "<h1>SRAM against time</h1>",
        f"<p><code>{escape(command)}</code></p>" if command else "",
        f"<figure>{picture}</figure>",
        "<p>Cycles and times are estimates, not measurements on silicon. Outputs were compared on "
        f"the NPU model. {escape(versions)}.</p>",
        '<div class="rows"><table><caption>All configurations; bold ones are on the front of their '
        "network and board</caption>",
        *_rows(report.results),
        "</table></div></body></html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _rows(results: Sequence[Result]) -> Iterator[str]:
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for _, title in _COLUMNS)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for result in results:
        row = result.as_json()
        kind = ' class="front"' if result.on_front else ""
        if result.cost is None:
            cells = "".join(f"<td>{_cell(row[key])}</td>" for key, _ in _COLUMNS[:6])
            rest = len(_COLUMNS) - 6
            yield f'<tr>{cells}<td colspan="{rest}">{escape(result.refusal)}</td></tr>'
            continue
        cells = "".join(f"<td>{_cell(row[key])}</td>" for key, _ in _COLUMNS)
        yield f"<tr{kind}>{cells}</tr>"
    yield "</tbody>"


def _cell(value: object) -> str:
    """Return a value as text; a dash for what is unknown."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value))
