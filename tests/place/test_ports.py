"""Ports: the nearest one of each element, and the traffic with them."""

import numpy as np
import pytest

from ethosgen_place.ports import gates_of
from tests.support.task_graphs import chain, layout, system, with_ports


@pytest.mark.parametrize(
    ("ports", "elements"),
    [
        ("west", [(0, 0), (0, 1), (0, 2)]),
        ("east", [(3, 0), (3, 1), (3, 2)]),
        ("north", [(0, 0), (1, 0), (2, 0), (3, 0)]),
        ("south", [(0, 2), (1, 2), (2, 2), (3, 2)]),
        ([[2, 1], [0, 0]], [(2, 1), (0, 0)]),
    ],
)
def test_every_element_has_its_nearest_port(ports: object, elements: list[tuple[int, int]]) -> None:
    gate, _ = gates_of(system(4, 3, ports={"input": ports}))
    assert [(e % 4, e // 4) for e in gate.elements.tolist()] == elements
    for element in range(12):
        ways = [abs(element % 4 - x) + abs(element // 4 - y) for x, y in elements]
        assert gate.links[element] == min(ways) + 1, "and the port's own link"
        assert ways[gate.nearest[element]] == min(ways)


def test_the_traffic_with_ports_is_that_of_all_replicas() -> None:
    tasks = with_ports(chain([1, 1], 10), {"a": 6}, {"a": 4, "b": 8})
    west = system(3, 1, ports={"input": "west", "output": "west"})
    placed = layout(tasks, west, [(0, 0), (1, 0), (2, 0)], [2, 1])
    assert placed.flows.bytes.tolist() == [5, 5, 3, 3, 2, 2, 8]
    assert placed.hops.tolist() == [2, 1, 1, 2, 1, 2, 3]
    assert placed.hop_bytes == 10 + 5 + 3 + 6 + 2 + 4 + 24
    assert placed.link_bytes.sum() == placed.hop_bytes
    assert np.flatnonzero(placed.link_bytes).tolist() == [0, 4, 5, 9, 12, 13]
