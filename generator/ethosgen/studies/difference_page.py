"""Two runs side by side as one page, with the look of all pages of ethosgen."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from ethosgen.host.file_errors import require_writable
from ethosgen.host.pages import framed_page
from ethosgen.studies.differences import FigureChange, LayerChange, NetworkDifference
from ethosgen.studies.reporting import is_ours, write_page
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.time import percent

GENERATOR = "ethosgen diff"
_MARK = f'<meta name="generator" content="{GENERATOR}"'
_LONG = 40
"""Rows from which on a table scrolls in a box of its own."""
_THEN = ("Then", "Change")
_KINDS = {"npu": "npu", "cpu": "cpu", "": "gone"}


def require_place(path: Path, force: bool) -> None:
    """Raise InputError if the page cannot be written, or would replace a user's file."""
    if path.is_dir():
        raise InputError(f"'{path}' is a folder; name a file")
    if path.exists() and not force and not is_ours(path, (_MARK,)):
        raise InputError(
            f"'{path}' exists, and ethosgen diff did not write it; name another file, or replace "
            "it with --force"
        )
    require_writable(path.parent)


def write_difference(
    differences: Sequence[NetworkDifference], names: tuple[str, str], path: Path
) -> None:
    """Write the page; `names` are the files or folders that were compared."""
    write_page(path, difference_page(differences, names))


def difference_page(differences: Sequence[NetworkDifference], names: tuple[str, str]) -> str:
    """Return the page."""
    parts = [part for difference in differences for part in _network(difference, names)]
    heading = f"{names[0]} beside {names[1]}"
    return framed_page(f"{heading} - ethosgen diff", heading, parts, GENERATOR)


def _network(difference: NetworkDifference, names: tuple[str, str]) -> Iterator[str]:
    yield f"<section><h2>{escape(difference.network)}</h2>"
    yield '<dl class="cards">'
    for name, verdict, subject in zip(names, difference.verdicts, difference.subjects, strict=True):
        style = "good" if verdict.startswith("PASS") else "soft"
        yield (
            f'<div><dt>{escape(name)}</dt><dd class="{style}">{escape(verdict)}'
            f"<small>{escape(subject)}</small></dd></div>"
        )
    yield "</dl>"
    yield from _table(
        "Figures before and after",
        ("Figure", "Before", "After", "Change", "Before, and below after"),
        [_figure_cells(figure) for figure in difference.figures],
        (1, 2, 3),
    )
    yield "</section>"
    if difference.layers:
        yield from _layers(difference)
    elif difference.moved:
        yield "<section><h2>Operators that moved</h2>"
        yield from _table(
            "Operators that run elsewhere",
            ("Operator", "Before", "After"),
            [(escape(name), _place(old), _place(new)) for name, old, new in difference.moved],
            (),
        )
        yield "</section>"


def _layers(difference: NetworkDifference) -> Iterator[str]:
    """Yield a table of all operators with both runs' places and cycles."""
    moved = counted(len(difference.moved), "operator")
    yield "<section><h2>Layer by layer</h2>"
    yield f"<p>{moved} moved. Cycles of the NPU and of the CPU are each at its own clock.</p>"
    yield from _table(
        "Operators before and after",
        ("Operator", "On", "Then on", "NPU cycles", *_THEN, "CPU cycles", *_THEN),
        [_layer_cells(layer) for layer in difference.layers],
        (3, 4, 5, 6, 7, 8),
    )
    yield "</section>"


def _layer_cells(layer: LayerChange) -> tuple[str, ...]:
    cells = [escape(layer.operator), _place(layer.places[0]), _place(layer.places[1])]
    for old, new in (layer.npu, layer.cpu):
        cells += [_number(old), _number(new), _change(FigureChange("", old, new).change)]
    return tuple(cells)


def _figure_cells(figure: FigureChange) -> tuple[str, ...]:
    most = max(figure.before or 0, figure.after or 0)
    return (
        escape(figure.title),
        _number(figure.before),
        _number(figure.after),
        _change(figure.change),
        _bars(figure.before, figure.after, most),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,g}" if isinstance(value, float) else f"{value:,}"


def _change(share: float | None) -> str:
    if share is None:
        return ""
    return "0%" if share == 0 else ("-" if share < 0 else "+") + percent(abs(share))


def _place(on: str | None) -> str:
    if on is None:
        return ""
    text = on.upper() if on in ("npu", "cpu") else on or "nowhere"
    return f'<span class="tag {_KINDS.get(on, "other")}">{escape(text)}</span>'


def _bars(before: float | None, after: float | None, most: float) -> str:
    """Return two bars, one below the other."""
    if not most:
        return ""
    widths = [f"{100 * (value or 0) / most:.2f}%" for value in (before, after)]
    return (
        '<svg class="bar npu" aria-hidden="true">'
        f'<rect class="rest" width="{widths[0]}" height="42%" rx="2"/>'
        f'<rect y="50%" width="{widths[1]}" height="50%" rx="2"/></svg>'
    )


def _table(
    caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]
) -> Iterator[str]:
    """Yield a table; `numbers` are the columns that are numbers."""
    styles = [' class="number"' if at in numbers else "" for at in range(len(titles))]
    long = " long" if len(rows) > _LONG else ""
    yield f'<div class="scroll{long}" tabindex="0" role="region" aria-label="{caption}">'
    yield f"<table><caption>{caption}</caption><thead><tr>"
    for title, style in zip(titles, styles, strict=True):
        yield f'<th scope="col"{style}>{title}</th>'
    yield "</tr></thead><tbody>"
    for first, *others in rows:
        cells = [f"<td{style}>{cell}</td>" for cell, style in zip(others, styles[1:], strict=True)]
        yield f'<tr><th scope="row" class="name">{first}</th>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"
