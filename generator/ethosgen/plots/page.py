"""A page with a picture and its figures, which opens without a network."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ethosgen.host.pages import command_line, figure, framed_page
from ethosgen.values.configurations import ComparisonReport, Result
from ethosgen.values.labelled import LabelledResult

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
_NAMES = 6

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
_REFUSAL, _FRONT = "refusal", "on_front"
_NAMES_OF_LABELLED = 4


def page(
    report: ComparisonReport, svg: str, command: str, accuracy: Sequence[LabelledResult] = ()
) -> str:
    """Return the page; `svg` is the picture, `command` the command that made it."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    parts = [
        command_line(command),
        "<section>",
        figure(svg, "SRAM against time; the table has the figures"),
        '<p class="soft">Cycles and times are estimates, not measurements on silicon. Outputs were '
        f"compared on the NPU model. {escape(versions)}.</p></section>",
        *_configurations(report.results),
        *_labelled(accuracy),
    ]
    return framed_page("SRAM against time - ethosgen", "SRAM against time", parts)


def _configurations(results: Sequence[Result]) -> Iterator[str]:
    rows = [
        {
            **result.as_json(),
            _REFUSAL: result.refusal if result.cost is None else "",
            _FRONT: result.on_front,
        }
        for result in results
    ]
    caption = "All configurations; bold ones are on the front of their network and board"
    yield from _table(caption, _COLUMNS, _NAMES, rows)


def _labelled(results: Sequence[LabelledResult]) -> Iterator[str]:
    if not results:
        return
    rows = [result.as_row() for result in results]
    for row in rows:
        row.update({k: f"{row[k]:.2%}" for k in _SHARES if row[k] is not None})
    caption = "Accuracy on labelled data; memory modes, strategies and limits change no output"
    yield from _table(caption, _LABELLED, _NAMES_OF_LABELLED, rows)


def _table(
    caption: str,
    columns: Sequence[tuple[str, str]],
    names: int,
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Yield a table of the columns that have figures; the first `names` of `columns` are names.

    A refused row has the reason in place of its figures.
    """
    left = [key for key, _ in columns[:names]]
    shown = [
        (key, title) for key, title in columns if any(row.get(key) is not None for row in rows)
    ]
    label = caption.partition(";")[0]
    yield f'<section><div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
    yield f"<table><caption>{escape(caption)}</caption><thead><tr>"
    yield "".join(f'<th scope="col"{_kind(key, left)}>{escape(title)}</th>' for key, title in shown)
    yield "</tr></thead><tbody>"
    for row in rows:
        keys = [key for key, _ in shown if key in left or not row[_REFUSAL]]
        cells = "".join(f"<td{_kind(key, left)}>{_cell(row[key])}</td>" for key in keys)
        if row[_REFUSAL]:
            rest = len(shown) - len(keys)
            cells += f'<td colspan="{rest or 1}">{escape(row[_REFUSAL])}</td>'
        kind = ' class="front"' if row.get(_FRONT) else ""
        yield f"<tr{kind}>{cells}</tr>"
    yield "</tbody></table></div></section>"


def _kind(key: str, names: Sequence[str]) -> str:
    if key in names:
        return ' class="whole"' if key == "npu" else ""
    return ' class="number"'


def _cell(value: object) -> str:
    """Return a value as text, with four digits of a fraction; a dash if unknown."""
    if value is None:
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{float(f'{value:.4g}'):,.10g}"
    return escape(str(value))
