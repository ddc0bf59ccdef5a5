"""Reports for notebooks: the values of lower layers, which can also plot themselves."""

import base64
import dataclasses
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

from ethosgen.host.extras import EXTRAS
from ethosgen.plots import costs, network
from ethosgen.plots.canvas import Picture
from ethosgen.report.content import NetworkReport
from ethosgen.values.configurations import ComparisonReport
from ethosgen.values.errors import InputError
from ethosgen.values.tabulation import make_dataframe

Plotted = TypeVar("Plotted", "ComparedConfigurations", "ReportedNetwork")

_SHOWN = "memory", "graph"
"""The plots that a notebook shows with a report."""


@dataclass(frozen=True, repr=False)
class ComparedConfigurations(ComparisonReport):
    """The result of `compare`: `results`, one for each combination, and a plot of them."""

    def plot(self) -> Picture:
        """Plot SRAM against time, a panel for each network and board; needs Matplotlib."""
        return costs.plot(self)

    def _repr_html_(self) -> str:
        """Return the plot for a notebook; nothing without Matplotlib, or without a figure."""
        return _embedded(self)


@dataclass(frozen=True, repr=False)
class ReportedNetwork(NetworkReport):
    """The result of `create_report`: the page's content, with plots and a table of the layers."""

    def plot(self, what: str = "timeline") -> Picture:
        """Plot a part of the report; needs Matplotlib.

        Args:
            what: "timeline", "memory" (what lies where, and when) or "graph" (the operators).
        """
        return network.plot(self, what)

    def to_dataframe(self) -> Any:
        """Return the layers as a pandas DataFrame, a row each; ToolError without pandas."""
        return make_dataframe([dataclasses.asdict(layer) for layer in self.layers])

    def _repr_html_(self) -> str:
        """Return the verdict, the longest layers, the memory and the graph, for a notebook."""
        return super()._repr_html_() + "".join(_embedded(self, what) for what in _SHOWN)


def plotted(kind: type[Plotted], report: ComparisonReport | NetworkReport) -> Plotted:
    """Return a report as one that can plot itself."""
    fields = dataclasses.fields(report)
    return kind(**{field.name: getattr(report, field.name) for field in fields})


def _embedded(report: ComparedConfigurations | ReportedNetwork, *what: str) -> str:
    """Return a plot as HTML, empty if it cannot be drawn."""
    if EXTRAS["plot"].missing:
        return ""
    try:
        shown = report.plot(*what)
    except InputError:
        return ""
    data = base64.b64encode(shown.file("png")).decode()
    return f'<img alt="{escape(shown.title)}" src="data:image/png;base64,{data}">'
