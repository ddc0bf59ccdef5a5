"""Sections of the page that plug-ins add; ethosgen's own are in the page's template."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from ethosgen import plugins
from ethosgen.report.content import NetworkReport


@dataclass(frozen=True)
class Section:
    """A section: its heading, and a function that returns its HTML, "" for a network without it.

    The page allows neither scripts nor inline styles; `escape` of markupsafe or html makes text
    safe.
    """

    title: str
    render: Callable[[NetworkReport], str]


@dataclass(frozen=True)
class RenderedSection:
    """A section as the page has it; `name` is its entry point's."""

    name: str
    title: str
    html: Markup


def rendered_sections(report: NetworkReport) -> list[RenderedSection]:
    """Return the sections of plug-ins for a network; one that fails is recorded and left out."""
    door = plugins.SECTIONS
    sections = []
    for name, section in plugins.members(door).items():
        html = plugins.guarded(door, name, lambda: section.render(report))  # noqa: B023
        if html:
            sections.append(RenderedSection(name, section.title, Markup(html)))
    return sections
