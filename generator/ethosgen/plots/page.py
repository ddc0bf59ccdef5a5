"""A page with a picture and its figures, which opens without a network."""

from collections.abc import Iterator, Sequence
from html import escape

from ethosgen.values.comparison import ComparisonReport, Result
from ethosgen.values.sweep import LabelledResult

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


_LABELLED = (
    ("data", "data"),
    ("network", "network"),
    ("board", "board"),
    ("npu", "NPU"),
    ("samples", "samples"),
    ("silent", "without an output"),
    ("right", "right"),
    ("accuracy", "accuracy"),
    ("top", "k"),
    ("top_accuracy", "in the best k"),
    ("auc", "AUC"),
    ("compared_with", "compared with"),
    ("differing", "samples that differ"),
)
"""The keys of a labelled result, and their titles."""
_SHARES = "accuracy", "top_accuracy"
_NAMES_OF_LABELLED = 4


def page(
    report: ComparisonReport, svg: str, command: str, accuracy: Sequence[LabelledResult] = ()
) -> str:
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
        "</table></div>",
        *_labelled(accuracy),
        "</body></html>",
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


def _labelled(results: Sequence[LabelledResult]) -> Iterator[str]:
    """Yield the table of accuracy, with the columns that have figures."""
    if not results:
        return
    rows = [one.as_row() for one in results]
    columns = [(key, title) for key, title in _LABELLED if any(row[key] for row in rows)]
    names = [title for _, title in _LABELLED[:_NAMES_OF_LABELLED]]
    left = sum(title in names for _, title in columns)
    yield (
        '<div class="rows"><table><caption>Accuracy on labelled data; memory modes, strategies and '
        "limits change no output</caption>"
    )
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for _, title in columns)
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in rows:
        if row["refusal"]:
            cells = "".join(f"<td>{_cell(row[key])}</td>" for key, _ in columns[:left])
            why = escape(row["refusal"])
            yield f'<tr>{cells}<td colspan="{len(columns) - left or 1}">{why}</td></tr>'
            continue
        shown = (
            f"{row[k]:.2%}" if k in _SHARES and row[k] is not None else row[k] for k, _ in columns
        )
        yield f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in shown)}</tr>"
    yield "</tbody></table></div>"


def _cell(value: object) -> str:
    """Return a value as text; a dash for what is unknown."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(str(value))
