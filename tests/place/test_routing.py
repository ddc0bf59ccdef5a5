"""Ways around broken links, and systems with defects."""

import random
from collections.abc import Sequence

import numpy as np
import pymetis  # noqa: F401 - the tests are skipped without it
import pytest
import simpy  # noqa: F401 - these too

from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from ethosgen_place.layout import Placement
from ethosgen_place.placer import place
from ethosgen_place.ports import gates_of
from ethosgen_place.routing import Routing, routing_of
from ethosgen_place.simulation import lone_latency_s, simulate
from ethosgen_place.system import STEPS, Mesh, MeshSystem
from ethosgen_place.traffic import EAST, NORTH, SOUTH, WEST, Replication
from tests.support.task_graphs import chain, layout, random_graph, system, with_ports

MESH = Mesh(width=5, height=4)
QUIET = Watch()


def broken(*pairs: tuple[tuple[int, int], tuple[int, int]], **more: object) -> MeshSystem:
    links = [{"between": [list(first), list(second)]} for first, second in pairs]
    return system(5, 4, broken_link=links, **more)


def test_a_way_goes_along_y_first_where_the_usual_one_is_broken() -> None:
    routing = routing_of(broken(((0, 0), (1, 0))))
    assert routing.broken == {EAST, 4 + WEST}
    assert routing.route(0, 7) == [SOUTH, 20 + EAST, 24 + EAST]
    assert routing.route(7, 0) == [28 + WEST, 24 + WEST, 20 + NORTH]
    assert routing.route(1, 2) == [4 + EAST]


def test_a_way_goes_around_where_both_are_broken() -> None:
    routing = routing_of(broken(((0, 0), (1, 0))))
    assert len(routing.route(0, 1)) == 3
    walled = routing_of(broken(((2, 0), (3, 0)), ((2, 1), (3, 1)), ((2, 2), (3, 2))))
    assert len(walled.route(2, 3)) == 3 + 1 + 3


@pytest.mark.parametrize("seed", range(12))
def test_hops_and_bytes_are_those_of_all_ways(seed: int) -> None:
    rng = random.Random(seed)
    mesh = system(5, 4, defects={"seed": seed, "broken_link_rate": 0.2})
    routing = routing_of(mesh)
    usable = np.flatnonzero(mesh.alive).tolist()
    replication = Replication(random_graph(rng, 5), [rng.choice((1, 2)) for _ in range(5)])
    elements = np.array(rng.sample(usable, replication.total))
    flows = replication.flows
    loads, ways = np.zeros(4 * mesh.mesh.elements), []
    for sender, receiver, size in zip(flows.senders, flows.receivers, flows.bytes, strict=True):
        way = routing.route(int(elements[sender]), int(elements[receiver]))
        require_way(way, int(elements[sender]), int(elements[receiver]), routing)
        ways.append(len(way))
        np.add.at(loads, list(way), size)
    assert routing.hops(flows, elements).tolist() == ways
    assert routing.link_bytes(flows, elements) == pytest.approx(loads)


def require_way(way: Sequence[int], sender: int, receiver: int, routing: Routing) -> None:
    here = sender
    for link in way:
        assert link // 4 == here and link not in routing.broken
        there = routing.mesh.neighbour(here, STEPS[link % 4])
        assert there is not None
        here = there
    assert here == receiver


@pytest.mark.parametrize("seed", range(4))
def test_a_placement_with_defects_uses_nothing_that_is_broken(seed: int) -> None:
    defects = {"seed": seed, "dead_rate": 0.1, "broken_link_rate": 0.15}
    mesh = system(6, 5, 0.001, defects=defects, ports={"input": "west", "output": "east"})
    tasks = with_ports(chain([5] * 6, 8), {"a": 2}, {"f": 2})
    placed = place(tasks, mesh, 2, 0, QUIET)
    assert mesh.alive[placed.elements].all()
    unusable = sorted(placed.routing.broken)
    assert unusable and not placed.link_bytes[unusable].any()
    run = simulate(placed, 40, QUIET)
    assert len(run.left_s) == 40
    both_turns = (run.left_s - run.entered_s)[:2]
    assert both_turns.max() >= lone_latency_s(placed) - 1e-9


def test_the_same_seed_draws_the_same_defects() -> None:
    drawn = [
        system(40, 30, defects={"seed": seed, "dead_rate": 0.05, "broken_link_rate": 0.02})
        for seed in (1, 1, 2)
    ]
    assert drawn[0].broken_pairs == drawn[1].broken_pairs != drawn[2].broken_pairs
    assert (drawn[0].alive == drawn[1].alive).all() and (drawn[0].alive != drawn[2].alive).any()
    assert 1200 * 0.02 < 1200 - drawn[0].alive.sum() < 1200 * 0.1
    assert len(drawn[0].broken_pairs) == pytest.approx(2330 * 0.02, rel=0.5)


def test_elements_and_ports_that_are_cut_off_are_not_used() -> None:
    corner = broken(((0, 0), (1, 0)), ((0, 0), (0, 1)))
    assert np.flatnonzero(~corner.alive).tolist() == [0]
    gate, _ = gates_of(corner)
    assert gate.elements.tolist() == [1, 2, 3, 4]
    only = broken(((0, 0), (1, 0)), ((0, 0), (0, 1)), ports={"input": [[0, 0]]})
    with pytest.raises(InputError, match="broken links cut off all ports"):
        gates_of(only)


@pytest.mark.parametrize("width", [1, 2])
def test_a_narrow_mesh_has_its_links(width: int) -> None:
    mesh = system(width, 3, defects={"broken_link_rate": 0.999, "seed": 4})
    assert len(mesh.broken_pairs) == (2 if width == 1 else 7)
    assert mesh.alive.sum() == 1


def test_a_sample_alone_takes_the_longest_path() -> None:
    """a to b and c, both to d: 2 + 8 ms of work in b is longer, and its hand-overs take 3 ms."""
    tasks = with_ports(chain([2, 8, 1], 3), {"a": 1}, {"c": 2})
    placed = layout(tasks, system(3, 1, 0.001, ports={"input": "west"}), [(0, 0), (1, 0), (2, 0)])
    first, last = 0.001 + 0.001, 0.001 + 0.002
    assert lone_latency_s(placed) == pytest.approx(first + 0.011 + 2 * (0.001 + 0.003) + last)
    run = simulate(placed, 24, QUIET)
    assert run.left_s[0] - run.entered_s[0] == pytest.approx(lone_latency_s(placed))


def test_the_goal_latency_uses_the_fastest_element_of_each_task() -> None:
    mesh = system(4, 1, override=[{"x": [2, 3], "y": 0, "clock_hz": 4000.0}])
    tasks = chain([10, 10], 1)
    fast: Placement = place(tasks, mesh, None, 0, QUIET, "latency")
    assert sorted(fast.elements.tolist()) == [2, 3] and fast.replication.counts == [1, 1]
    usual = place(tasks, mesh, None, 0, QUIET)
    assert lone_latency_s(fast) <= lone_latency_s(usual)


def test_the_energy_is_that_of_work_and_of_bytes_on_links() -> None:
    energy = {"cycle_j": 2.0e-9, "link_byte_j": 1.0e-9, "multiplication_j": 0.5e-9}
    tasks = chain([10, 20], 6)
    some = tuple(task.model_copy(update={"multiplications": 100}) for task in tasks.tasks)
    mesh = system(3, 1, energy=energy)
    placed = layout(tasks.model_copy(update={"tasks": some}), mesh, [(0, 0), (2, 0)])
    work, links = placed.energy_j
    assert work == pytest.approx(30 * 2e-9 + 200 * 0.5e-9)
    assert links == pytest.approx(12 * 1e-9)
