"""Routes, pairs of replicas, and the bytes on each link."""

import random

import numpy as np
import pytest

from ethosgen.stages.task_graph import TaskGraph
from ethosgen_place.system import STEPS, Mesh
from ethosgen_place.traffic import (
    EAST,
    MOST_PAIRS,
    NORTH,
    SOUTH,
    WEST,
    Replication,
    hop_bytes,
    hops,
    link_bytes,
    route,
)
from tests.support.task_graphs import chain, random_graph

MESH = Mesh(width=5, height=4)


def test_a_route_goes_along_x_first() -> None:
    assert route(0, 7, MESH) == [EAST, 4 + EAST, 8 + SOUTH]
    assert route(7, 0, MESH) == [28 + WEST, 24 + WEST, 20 + NORTH]
    assert route(3, 3, MESH) == []


@pytest.mark.parametrize("seed", range(10))
def test_every_route_is_a_shortest_way(seed: int) -> None:
    rng = random.Random(seed)
    start, other = rng.randrange(20), rng.randrange(20)
    x, y = start % 5, start // 5
    for link in route(start, other, MESH):
        assert link // 4 == y * 5 + x
        x, y = x + STEPS[link % 4][0], y + STEPS[link % 4][1]
    assert (x, y) == (other % 5, other // 5)
    assert len(route(start, other, MESH)) == abs(start % 5 - other % 5) + abs(
        start // 5 - other // 5
    )


def test_replicas_meet_in_turn() -> None:
    flows = Replication(chain([1, 1], 12), [2, 3]).flows
    met = list(zip(flows.senders.tolist(), flows.receivers.tolist(), flows.bytes, strict=True))
    assert met == [(0, 2, 2), (1, 3, 2), (0, 4, 2), (1, 2, 2), (0, 3, 2), (1, 4, 2)]


@pytest.mark.parametrize("seed", range(10))
def test_bytes_on_links_are_those_of_all_routes(seed: int) -> None:
    rng = random.Random(seed)
    tasks = random_graph(rng, 5)
    replication = Replication(tasks, [rng.choice((1, 2, 3)) for _ in tasks.tasks])
    elements = np.array(rng.sample(range(20), replication.total))
    flows = replication.flows
    expected = np.zeros(4 * 20)
    for i, j, size in zip(flows.senders, flows.receivers, flows.bytes, strict=True):
        for link in route(int(elements[i]), int(elements[j]), MESH):
            expected[link] += size
    loads = link_bytes(flows, elements, MESH)
    assert loads == pytest.approx(expected)
    assert hop_bytes(flows, elements, MESH) == pytest.approx(expected.sum())
    assert flows.bytes @ hops(flows, elements, MESH) == pytest.approx(expected.sum())
    assert flows.bytes.sum() == pytest.approx(sum(edge.bytes for edge in tasks.edges))


def test_very_many_pairs_are_represented_by_some() -> None:
    flows = Replication(chain([1, 1], 12), [3000, 3001]).flows
    assert len(flows.senders) == MOST_PAIRS
    assert flows.bytes.sum() == pytest.approx(12)
    assert set(flows.senders.tolist()) == set(range(3000))
    assert set(flows.receivers.tolist()) == set(range(3000, 6001))


def test_a_task_alone_has_no_traffic() -> None:
    alone: TaskGraph = chain([5], 0)
    flows = Replication(alone, [3]).flows
    assert not link_bytes(flows, np.arange(3), MESH).any()
