"""The picture is XML, and shows every element and every link that is used."""

import re
from xml.etree import ElementTree

import pytest
import simpy  # noqa: F401 - the tests are skipped without it

from ethosgen.values.watch import Watch
from ethosgen_place.picture import draw
from ethosgen_place.report import report_of
from ethosgen_place.simulation import simulate
from tests.support.task_graphs import chain, graph, layout, system, with_ports

RUN = re.compile(r"M\d+ \d+h(\d+)v1h-(\d+)z")


def paths(svg: str) -> dict[str, str]:
    """Return the paths by colour."""
    root = ElementTree.fromstring(svg)
    shapes = root.iter("{http://www.w3.org/2000/svg}path")
    return {path.get("stroke") or path.get("fill") or "": path.get("d") or "" for path in shapes}


def test_it_shows_elements_and_links() -> None:
    mesh = system(6, 3, override=[{"x": [4, 5], "y": 2, "dead": True}])
    placed = layout(chain([5, 5], 2), mesh, [(0, 0), (1, 0), (2, 0), (3, 0)], [2, 2])
    shown = paths(draw(report_of(placed, simulate(placed, 60, Watch()))))
    areas = {colour: sum(int(run[0]) for run in RUN.findall(d)) for colour, d in shown.items()}
    assert areas.pop("#555") == 2, "dead"
    assert areas.pop("#f0f0f0") == 18 - 2 - 4, "unused"
    assert sorted(areas.values()) == [0, 0, 2, 2], "two colours of links, two tasks"
    assert sum(d.count("h1") for d in shown.values() if "v1h" not in d) == 3


def test_it_shows_ports_that_are_used() -> None:
    ports = {"input": [[0, 0], [2, 1]], "output": "east"}
    tasks = with_ports(chain([5], 0), {"a": 1}, {"a": 4})
    placed = layout(tasks, system(3, 2, ports=ports), [(2, 0)])
    shown = paths(draw(report_of(placed, simulate(placed, 60, Watch()))))
    squares = {d for way in shown.values() for d in re.findall(r"M(\S+ \S+)h.4v.4h-.4z", way)}
    assert squares == {"1.8 0.8", "1.8 -0.2"}, "the nearest input port, the output port of the row"


@pytest.mark.parametrize("name", ["<a&b>", "x" * 90, "ä"])
def test_names_of_any_kind_are_text(name: str) -> None:
    placed = layout(graph({name: 5}, {}), system(1, 1), [(0, 0)])
    svg = draw(report_of(placed, simulate(placed, 30, Watch())))
    assert "nothing is handed over" in svg
    ElementTree.fromstring(svg)
