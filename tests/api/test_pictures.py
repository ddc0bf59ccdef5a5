"""Reports that plot themselves, their tables, and the progress of a notebook."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ethosgen
from ethosgen.api.pictures import ReportedNetwork
from ethosgen.api.progress import watch_of
from ethosgen.values.errors import InputError
from ethosgen_sweep.report import SweepCounts, SweepReport
from tests.support.needs import needs_extra
from tests.support.small_models import image_net

pytestmark = needs_extra("plot")
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> ReportedNetwork:
    path = image_net(tmp_path_factory.mktemp("net") / "net.tflite")
    return ethosgen.create_report(path, npu="ethos-u55-128", samples=1)


def labels(figure: Any) -> set[str]:
    return {text.get_text() for axis in figure.axes for text in axis.texts}


@pytest.mark.parametrize("what", ["timeline", "memory", "graph"])
def test_a_report_plots_its_parts(report: ReportedNetwork, what: str, tmp_path: Path) -> None:
    picture = report.plot(what)
    assert repr(picture) == f"<Picture: {what} of net>"
    assert picture._repr_png_().startswith(PNG)
    picture.save(tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().count("<svg") == 1
    first, second = (report.plot(what).file("svg") for _ in range(2))
    assert first == second, "the same report, other bytes"


def test_the_graph_has_each_operator_with_its_place(report: ReportedNetwork) -> None:
    from matplotlib.patches import FancyArrowPatch

    figure = report.plot("graph").figure
    shown = {label.split("  ")[0] for label in labels(figure)}
    assert shown == {f"{layer.operator} {layer.code}" for layer in report.layers}
    (axis,) = figure.axes
    assert "on the NPU" in axis.get_title()
    lines = [patch for patch in axis.patches if isinstance(patch, FancyArrowPatch)]
    assert len(lines) == sum(len(layer.inputs) for layer in report.layers)


def test_the_timeline_has_the_times_of_the_report(report: ReportedNetwork) -> None:
    (axis,) = report.plot().figure.axes
    starts = {round(patch.get_x() * report.costs.cycles / 100) for patch in axis.patches}
    assert starts == {event.start for event in report.timeline}


def test_the_memory_has_every_block(report: ReportedNetwork) -> None:
    axes = report.plot("memory").figure.axes
    areas = [area for area in report.memory.areas if area.blocks]
    assert [len(axis.patches) for axis in axes] == [len(area.blocks) for area in areas]
    assert f"{areas[0].peak_bytes:,} of {areas[0].bytes:,} B" in axes[0].get_title()


def test_wrong_plots_are_one_sentence(report: ReportedNetwork, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'sound' is none of timeline, memory, graph"):
        report.plot("sound")
    with pytest.raises(InputError, match=r"ends in none of \.png, \.svg, \.pdf"):
        report.plot().save(tmp_path / "plot.jpg")
    with pytest.raises(InputError, match="cannot write"):
        report.plot().save(tmp_path / "no folder" / "plot.png")


def test_a_notebook_shows_the_verdict_the_memory_and_the_graph(report: ReportedNetwork) -> None:
    shown = report._repr_html_()
    assert "PASS" in shown and shown.count("data:image/png;base64,") == 2
    assert 'alt="memory of net"' in shown and 'alt="graph of net"' in shown


def test_a_comparison_plots_itself(tmp_path: Path) -> None:
    path = image_net(tmp_path / "net.tflite")
    compared = ethosgen.compare(path, npu="ethos-u55-128", board="corstone300", samples=0)
    assert [result.setting.npu for result in compared.results] == ["ethos-u55-128"]
    assert compared.plot().figure.axes[0].get_title() == "net on corstone300"
    assert "<img" in compared._repr_html_()
    swept = SweepReport(compared, SweepCounts(1, 1))
    assert swept.plot().figure.axes[0].get_title() == "net on corstone300"
    assert swept._repr_html_() == compared._repr_html_()
    with pytest.raises(ethosgen.EthosgenError, match="pass `npu` for one value"):
        ethosgen.compare(path, npu="none", npus=["all"], samples=0)
    assert replace(compared, results=())._repr_html_() == "", "nothing to plot"


def test_tables_are_pandas_own(report: ReportedNetwork, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    layers = report.to_dataframe()
    assert isinstance(layers, pandas.DataFrame)
    assert list(layers["code"]) == [layer.code for layer in report.layers]
    assert layers["share"].sum() == pytest.approx(sum(e.share or 0 for e in report.layers))
    path = image_net(tmp_path / "net.tflite")
    compared = ethosgen.compare(path, npus=["ethos-u55-128", "none"], samples=0)
    table = compared.to_dataframe().set_index("npu")
    assert table.loc["ethos-u55-128", "cycles"] < table.loc["none", "cycles"]


def test_a_near_name_of_an_option_is_proposed() -> None:
    with pytest.raises(TypeError, match="'npus'; did you mean 'npu'"):
        ethosgen.verify("net.tflite", board="corstone300", npus=["none"])  # type: ignore[call-arg]


class Notebook:
    """Stands for IPython's shell: what a cell shows, and the event of its end."""

    def __init__(self) -> None:
        self.kernel = object()
        self.shown: list[str] = []
        self.ends: list[Any] = []
        self.events = SimpleNamespace(
            register=lambda _, call: self.ends.append(call),
            unregister=lambda _, call: self.ends.remove(call),
        )

    def display(self, data: dict[str, str], **_: object) -> "Notebook":
        self.update(data)
        return self

    def update(self, data: dict[str, str], **_: object) -> None:
        self.shown.append(data["text/plain"])


def test_a_notebook_shows_the_phase_until_the_cell_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    ipython = SimpleNamespace(get_ipython=lambda: notebook)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=notebook.display))
    with watch_of(None).phase("build", "compiling"):
        assert notebook.shown == ["", "compiling"]
    for end in list(notebook.ends):
        end("the result of the cell")
    assert (notebook.shown[-1], notebook.ends) == ("", [])
    told: list[str] = []
    with watch_of(told.append).phase("build", "linking"):
        assert told == ["linking"]
    assert notebook.shown[-1] == ""
