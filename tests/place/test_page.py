"""The page of a placement: its figures and its picture, for everybody to read."""

from pathlib import Path

import matplotlib  # noqa: F401 - the tests are skipped without it
import pytest
import simpy  # noqa: F401

from ethosgen.values.watch import Watch
from ethosgen_place.page import placement_page
from ethosgen_place.picture import draw
from ethosgen_place.report import PlacementReport, report_of
from ethosgen_place.simulation import simulate
from tests.support.browser import start_browser
from tests.support.needs import needs_browser
from tests.support.task_graphs import chain, layout, system


@pytest.fixture(scope="module")
def report() -> PlacementReport:
    """Return two tasks with two replicas each."""
    placed = layout(chain([5, 5], 2), system(6, 3), [(0, 0), (1, 0), (2, 0), (3, 0)], [2, 2])
    return report_of(placed, simulate(placed, 60, Watch()))


def test_it_has_the_figures(report: PlacementReport) -> None:
    text = placement_page(report, draw(report)).decode()
    facts = report.as_json()
    assert f"<td>{facts['samples_per_s']:,.4g}</td>" in text
    assert "<td>4 of 18</td>" in text
    assert f"limited by {facts['bound']['limit']}" in text
    for task in facts["tasks"]:
        assert f'<th scope="row">{task["name"]}</th><td class="number">2</td>' in text


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_everybody_can_read_it(
    width: int, scheme: str, report: PlacementReport, tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "placement.html"
    path.write_bytes(placement_page(report, draw(report)))
    with start_browser() as browser, browser.open(path, width, scheme, has_script=False) as opened:
        assert Axe().run(opened.page).response["violations"] == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert (opened.messages, opened.requests) == ([], [path.as_uri()])
