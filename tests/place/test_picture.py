"""The picture is XML, and shows every element and every link that is used."""

import base64
import io
import re

import matplotlib  # noqa: F401 - the tests are skipped without it
import numpy as np
import pytest
import simpy  # noqa: F401
from matplotlib.image import imread

from ethosgen.values.watch import Watch
from ethosgen_place.picture import DEAD, HEAT, UNUSED, Pixels, draw, link_pixels, task_pixels
from ethosgen_place.report import PlacementReport, report_of
from ethosgen_place.simulation import simulate
from tests.support.drawings import texts
from tests.support.task_graphs import chain, graph, layout, system, with_ports

IMAGE = re.compile(r'href="data:image/png;base64,([^"]+)"')


@pytest.fixture
def two_tasks() -> PlacementReport:
    """Return two tasks with two replicas each, in a row of a mesh with two dead elements."""
    mesh = system(6, 3, override=[{"x": [4, 5], "y": 2, "dead": True}])
    placed = layout(chain([5, 5], 2), mesh, [(0, 0), (1, 0), (2, 0), (3, 0)], [2, 2])
    return report_of(placed, simulate(placed, 60, Watch()))


def colours(pixels: Pixels) -> dict[tuple[int, ...], int]:
    """Return how often each colour occurs."""
    flat = pixels.reshape(-1, 3)
    return {tuple(colour): int((flat == colour).all(1).sum()) for colour in np.unique(flat, axis=0)}


def is_heat(pixels: Pixels) -> np.ndarray:
    return (pixels[:, :, None] == HEAT).all(-1).any(-1)


def test_it_shows_the_elements_of_each_task(two_tasks: PlacementReport) -> None:
    pixels = task_pixels(two_tasks.layout)
    counts = colours(pixels)
    assert pixels.shape == (3, 6, 3)
    assert counts.pop(tuple(DEAD)) == 2
    assert counts.pop(tuple(UNUSED)) == 18 - 2 - 4
    assert sorted(counts.values()) == [2, 2]
    assert (pixels[2, 4:] == DEAD).all()
    assert (pixels[0, 0] == pixels[0, 1]).all() and (pixels[0, 1] != pixels[0, 2]).any()


def test_it_shows_the_links_that_are_used(two_tasks: PlacementReport) -> None:
    report = two_tasks
    shown = is_heat(link_pixels(report.layout, report.link_loads))
    assert shown.shape == (5, 11)
    assert np.argwhere(shown).tolist() == [[0, 1], [0, 3], [0, 5]], "between the four elements"


def test_busier_links_have_another_colour(two_tasks: PlacementReport) -> None:
    loads = np.zeros_like(two_tasks.link_loads)
    loads[0], loads[4] = 0.1, 1.0  # eastwards from the first and the second element
    pixels = link_pixels(two_tasks.layout, loads)
    assert (pixels[0, 1] == HEAT[0]).all() and (pixels[0, 3] == HEAT[-1]).all()


def test_it_shows_ports_that_are_used() -> None:
    ports = {"input": [[0, 0], [2, 1]], "output": "east"}
    tasks = with_ports(chain([5], 0), {"a": 1}, {"a": 4})
    placed = layout(tasks, system(3, 2, ports=ports), [(2, 0)])
    report = report_of(placed, simulate(placed, 60, Watch()))
    shown = is_heat(link_pixels(placed, report.link_loads))
    assert np.argwhere(shown).tolist() == [[0, 4], [1, 4], [2, 4]], (
        "the output port of the row, the link to it from the nearest input port, and that"
    )


def test_the_file_has_both_panels_and_their_legends(two_tasks: PlacementReport) -> None:
    svg = draw(two_tasks)
    panels = [
        np.round(255 * imread(io.BytesIO(base64.b64decode(text)))[:, :, :3])
        for text in IMAGE.findall(svg.decode())
    ]
    report = two_tasks
    wanted = task_pixels(report.layout), link_pixels(report.layout, report.link_loads)
    assert len(panels) == 2
    assert all((a == b).all() for a, b in zip(panels, wanted, strict=True))
    words = texts(svg)
    assert {"a x2", "b x2", "to 17 %", "to 100 %"} <= words
    assert draw(two_tasks) == svg, "the same placement gives the same bytes"


@pytest.mark.parametrize("name", ["<a&b>", "x" * 90, "ä", "$x_{$", "網", "_a"])
@pytest.mark.filterwarnings("error")
def test_names_of_any_kind_are_text(name: str) -> None:
    placed = layout(graph({name: 5}, {}), system(1, 1), [(0, 0)])
    svg = draw(report_of(placed, simulate(placed, 30, Watch())))
    words = texts(svg)
    assert "Links: nothing is handed over" in words
    assert (name if len(name) < 20 else f"…{'x' * 37}") in words
