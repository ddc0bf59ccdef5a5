"""Ways around broken links on which transfers could wait for each other for ever."""

import pytest
import simpy  # noqa: F401 - the tests are skipped without it

from ethosgen.values.watch import Watch
from ethosgen_place.circles import find_circle
from ethosgen_place.command import report_lines
from ethosgen_place.layout import Placement
from ethosgen_place.report import report_of
from ethosgen_place.simulation import simulate
from tests.support.task_graphs import graph, layout, system

ENDS = [(0, 1), (2, 0), (1, 0), (2, 2), (2, 1), (0, 2), (1, 2), (0, 0)]
"""Four senders, each with its receiver after it: they turn at the corners of a square."""
Link = tuple[tuple[int, int], tuple[int, int]]


def square(*broken: Link) -> Placement:
    """Return four hand-overs around the element in the middle of nine."""
    edges = {("a", "b"): 1, ("c", "d"): 1, ("e", "f"): 1, ("g", "h"): 1}
    tasks = graph(dict.fromkeys("abcdefgh", 1), edges)
    links = [{"between": [list(first), list(second)]} for first, second in broken]
    return layout(tasks, system(3, 3, broken_link=links), ENDS)


def test_ways_along_x_first_form_no_circle() -> None:
    assert find_circle(square()) is None


def test_a_broken_link_that_nobody_takes_closes_no_circle() -> None:
    assert find_circle(square(((1, 1), (1, 2)))) is None


@pytest.mark.parametrize("link", [((0, 1), (1, 1)), ((1, 1), (2, 1))])
def test_a_circle_around_a_broken_link_is_found_and_said(link: Link) -> None:
    """The first and the third way then go along y first."""
    placed = square(link)
    circle = find_circle(placed)
    assert circle is not None
    # Element 0 to the east, 1 to the east, 2 to the south, and so on, each for the next one.
    around = [0, 4, 2 * 4 + 2, 5 * 4 + 2, 8 * 4 + 1, 7 * 4 + 1, 6 * 4 + 3, 3 * 4 + 3]
    turn = around.index(circle[0])
    assert list(circle) == around[turn:] + around[:turn]
    said = [*report_lines(report_of(placed, simulate(placed, 30, Watch())))]
    assert any("could block each other for ever in a circle of 8 links" in line for line in said)
