"""A placement's picture and figures as one page, with the look of all pages of ethosgen."""

from collections.abc import Iterator, Sequence
from html import escape

from ethosgen.host.pages import figure, framed_page
from ethosgen.values.grammar import counted
from ethosgen.values.time import duration, percent
from ethosgen_place.report import PlacementReport, rate


def placement_page(report: PlacementReport, svg: bytes) -> bytes:
    """Return the page; `svg` is the picture."""
    name, mesh = report.layout.replication.graph.name, report.layout.system.mesh
    rows = [(escape(title), escape(text)) for title, text in _figures(report)]
    tasks = [
        (escape(task.name), f"{count:,}", f"{task_time(report, i)}")
        for i, (task, count) in enumerate(
            zip(
                report.layout.replication.graph.tasks,
                report.layout.replication.counts,
                strict=True,
            )
        )
    ]
    parts = [
        "<section><h2>Speed, and what limits it</h2>",
        *_table("Figures of the placement", ("What", "Figure"), rows, 2),
        "</section><section><h2>Elements and links</h2>",
        figure(svg.decode(), "Elements by task, and links by load; the tables have the figures"),
        "</section><section><h2>Tasks</h2>",
        *_table("Tasks", ("Task", "Replicas", "Time for each sample"), tasks, 1),
        "</section>",
    ]
    heading = f"{name} on a mesh of {mesh}"
    return framed_page(f"{heading} - ethosgen place", heading, parts).encode()


def task_time(report: PlacementReport, task: int) -> str:
    """Return the mean time that a replica of a task takes for a sample."""
    own = report.layout.seconds[report.layout.replication.task_of == task]
    return duration(float(own.mean()))


def _figures(report: PlacementReport) -> Iterator[tuple[str, str]]:
    facts = report.as_json()
    slowest, latency, bound = facts["slowest_task"], facts["latency_s"], facts["bound"]
    yield "Samples per second, simulated", rate(facts["samples_per_s"])
    yield (
        "Samples per second, at best",
        f"{rate(bound['samples_per_s'])}, limited by {bound['limit']}",
    )
    yield (
        "Latency",
        f"{duration(latency['mean'])} on average, {duration(latency['max'])} at most",
    )
    yield "Elements in use", f"{facts['used_elements']:,} of {facts['elements']:,}"
    yield "Lanes", f"{facts['lanes']:,}"
    yield (
        "Slowest task",
        f"{slowest['name']}: {duration(slowest['seconds_per_sample'])} for each sample",
    )
    yield "Bytes for each sample", f"{facts['bytes_per_sample']:,}"
    if hot := facts["hottest_link"]:
        yield "Hottest link", f"{hot['link']}, busy for {percent(hot['load'])} of the time"
    if short := facts["short_of_buffers"]:
        room = f"room for {short['buffers']:,} of {counted(short['needed'], 'sample')}"
        yield "Short of buffers", f"{short['hand_over']}: {room}"


def _table(
    caption: str, titles: Sequence[str], rows: Sequence[Sequence[str]], names: int
) -> Iterator[str]:
    """Yield a table; columns after the first `names` are numbers."""
    styles = ["" if i < names else ' class="number"' for i in range(len(titles))]
    long = " long" if len(rows) > _LONG else ""
    yield f'<div class="scroll{long}" tabindex="0" role="region" aria-label="{caption}">'
    yield f"<table><caption>{caption}</caption><thead><tr>"
    yield "".join(
        f'<th scope="col"{style}>{title}</th>' for title, style in zip(titles, styles, strict=True)
    )
    yield "</tr></thead><tbody>"
    for first, *others in rows:
        cells = "".join(
            f"<td{style}>{cell}</td>" for cell, style in zip(others, styles[1:], strict=True)
        )
        yield f'<tr><th scope="row">{first}</th>{cells}</tr>'
    yield "</tbody></table></div>"


_LONG = 40
"""Rows from which on a table scrolls in a box of its own."""
