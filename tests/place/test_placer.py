"""Placements: valid ones, near the best of all on tiny meshes, far better than others on large."""

import itertools
import random

import numpy as np
import pymetis  # noqa: F401 - the tests are skipped without it
import pytest

from ethosgen.stages.task_graph import TaskGraph
from ethosgen.values.errors import CapacityError
from ethosgen.values.watch import Watch
from ethosgen_place.adjacency import adjacency_of
from ethosgen_place.bipartitioning import bisect
from ethosgen_place.bound import bound_of
from ethosgen_place.layout import Placement
from ethosgen_place.placer import place
from ethosgen_place.ports import gates_of, pulls_of
from ethosgen_place.refinement import _Exchange, refine
from ethosgen_place.region import compact, fitted
from ethosgen_place.report import report_of
from ethosgen_place.simulation import simulate, simulate_steadily
from ethosgen_place.system import Mesh, MeshSystem
from ethosgen_place.traffic import Replication, hop_bytes
from tests.support.task_graphs import chain, graph, random_graph, system, with_ports

QUIET = Watch()


def total(layout: Placement) -> float:
    return hop_bytes(layout.replication.flows, layout.elements, layout.system.mesh)


def check(layout: Placement) -> None:
    """Every replica has a working element of its own, with memory enough."""
    assert len(set(layout.elements.tolist())) == layout.replication.total
    assert layout.system.alive[layout.elements].all()


@pytest.mark.parametrize("seed", range(8))
def test_a_tiny_placement_is_near_the_best_of_all(seed: int) -> None:
    tasks = random_graph(random.Random(seed), 6)
    mesh = system(3, 2)
    flows = Replication(tasks, [1] * 6).flows
    best = min(
        hop_bytes(flows, np.array(elements), mesh.mesh)
        for elements in itertools.permutations(range(6))
    )
    placed = place(tasks, mesh, 1, 0, QUIET)
    check(placed)
    assert best <= total(placed) <= 1.35 * best


def test_a_chain_lies_along_neighbours() -> None:
    placed = place(chain([5] * 16, 8), system(4, 4), 1, 0, QUIET)
    assert total(placed) <= 1.4 * 15 * 8


def test_halves_have_as_many_replicas_as_elements() -> None:
    tasks = random_graph(random.Random(3), 33)
    mesh = Mesh(width=7, height=5)
    links = adjacency_of(Replication(tasks, [1] * 33).flows, 33)
    placed = bisect(links, np.arange(33), mesh, 0)
    assert sorted(placed.tolist()) == list(range(33))
    better = refine(links, placed, [0] * 33, [0] * 35, mesh, 0)
    flows = Replication(tasks, [1] * 33).flows
    assert len(set(better.tolist())) == 33
    assert hop_bytes(flows, better, mesh) <= hop_bytes(flows, placed, mesh)


def large() -> TaskGraph:
    rng = random.Random(0)
    names = [f"s{i}" for i in range(12)]
    edges = {pair: rng.choice((256, 512, 1024)) for pair in itertools.pairwise(names)}
    return graph({name: rng.randint(100, 900) for name in names}, edges)


def test_it_beats_chance_and_a_snake() -> None:
    mesh = system(16, 6)
    placed = place(large(), mesh, None, 0, QUIET)
    check(placed)
    snake = np.arange(96).reshape(6, 16)
    snake[1::2] = snake[1::2, ::-1]
    flows = placed.replication.flows
    rng = np.random.default_rng(0)
    by_chance = hop_bytes(flows, rng.permutation(96)[: placed.replication.total], mesh.mesh)
    in_turn = hop_bytes(flows, snake.ravel()[: placed.replication.total], mesh.mesh)
    assert total(placed) < 0.3 * by_chance
    assert total(placed) < 0.7 * in_turn


def test_it_is_the_same_each_time() -> None:
    first, other = (place(large(), system(12, 6), None, 3, QUIET) for _ in range(2))
    assert first.elements.tolist() == other.elements.tolist()


def test_dead_and_small_elements_are_kept_free() -> None:
    override = [
        {"x": [0, 3], "y": 0, "dead": True},
        {"x": [0, 7], "y": [3, 3], "memory_bytes": 500},
    ]
    mesh = system(8, 4, override=override)
    tasks = TaskGraph.model_validate(
        {
            "schema_version": 1,
            "tasks": [
                {"name": "big", "cycles": 9, "memory_bytes": 4000},
                {"name": "little", "cycles": 9, "memory_bytes": 100},
            ],
            "edges": [{"from": "big", "to": "little", "bytes": 10}],
        }
    )
    placed = place(tasks, mesh, None, 0, QUIET)
    check(placed)
    big = placed.elements[: placed.replication.counts[0]]
    assert (mesh.memories[big] >= 4000).all()
    assert placed.replication.counts == [14, 14]


def test_the_only_large_element_gets_the_only_large_task() -> None:
    small = [{"x": [0, 1], "y": 0, "memory_bytes": 49}]
    placed = place(chain([1] * 3, 10), system(3, 1, override=small), None, 0, QUIET)
    assert placed.elements[1] == 2, "b takes 10 B, and 40 B to receive and to send"


def test_a_task_with_many_bytes_and_little_work_gets_replicas_too() -> None:
    """b works for 1 ms, and takes in 20 ms of bytes: alone it would hold up everything."""
    placed = place(graph({"a": 10, "b": 1}, {("a", "b"): 20}), system(4, 4), None, 0, QUIET)
    assert min(placed.replication.counts) > 4


SMALL = [(w, h) for w in range(1, 5) for h in range(1, 5) if w * h >= 3]


@pytest.mark.parametrize("size", SMALL, ids=str)
@pytest.mark.parametrize("kind", ["chain", "few bytes", "fork", "ports"])
def test_no_figure_of_a_small_mesh_is_above_its_bound(size: tuple[int, int], kind: str) -> None:
    tasks = {
        "chain": chain([7, 3, 5], 12),
        "few bytes": chain([7, 3, 5], 1),
        "fork": graph({"a": 4, "b": 9, "c": 5}, {("a", "b"): 6, ("a", "c"): 9, ("b", "c"): 3}),
        "ports": with_ports(chain([4, 9], 5), {"a": 11}, {"b": 2}),
    }[kind]
    placed = place(tasks, system(*size, 0.0005), None, 0, QUIET)
    report = report_of(placed, simulate_steadily(placed, QUIET))
    assert report.simulated.period_s >= report.bound.period_s
    assert report.link_loads.max() <= 1 + 1e-9
    assert report.simulated.is_steady
    longer = simulate(placed, 2 * report.simulated.samples, QUIET)
    assert longer.period_s == pytest.approx(report.simulated.period_s, rel=0.05)


def test_slow_elements_are_left_out_if_they_hold_up_the_others() -> None:
    slow = [{"x": 3, "y": 0, "clock_hz": 10.0}]
    placed = place(chain([10, 10], 1), system(4, 1, override=slow), None, 0, QUIET)
    assert sorted(placed.elements.tolist()) == [0, 1]
    assert bound_of(placed).period_s == pytest.approx(0.01)
    faster = [{"x": [2, 3], "y": 0, "clock_hz": 900.0}]
    both = place(chain([10, 10], 1), system(4, 1, override=faster), None, 0, QUIET)
    assert sorted(both.elements.tolist()) == [0, 1, 2, 3]


def test_tasks_are_near_the_ports_that_they_use() -> None:
    ports = {"input": [[7, 0]], "output": [[7, 3]]}
    tasks = with_ports(chain([5, 5, 5], 1), {"a": 50}, {"c": 50})
    placed = place(tasks, system(8, 4, ports=ports), 1, 0, QUIET)
    assert placed.elements[[0, 2]].tolist() == [7, 31]


def test_the_same_exchanges_save_what_they_are_thought_to() -> None:
    """The cost that exchanges keep up to date is the one computed anew, with ports."""
    rng = random.Random(1)
    tasks = with_ports(random_graph(rng, 12), {"t0": 9}, {"t11": 30})
    mesh = system(5, 4, ports={"input": "north", "output": [[4, 3], [0, 2]]})
    replication = Replication(tasks, [1] * 12)
    links = adjacency_of(replication.flows, 12)
    pulls = pulls_of(replication, gates_of(mesh))
    placed = np.array(rng.sample(range(20), 12))
    work = _Exchange(links, placed, [0] * 12, [0] * 20, mesh.mesh, pulls)
    for vertex in range(12):
        work.improve(vertex)
        moved = Placement(replication, mesh, work.elements(), [2] * len(tasks.edges))
        assert work.cost == pytest.approx(moved.hop_bytes)
    assert work.cost < Placement(replication, mesh, placed, [2] * len(tasks.edges)).hop_bytes


def test_links_that_limit_get_lanes() -> None:
    """Replicas of 7 and 8 all meet, over few links; those of 7 lanes do not, and lose an eighth."""
    tasks = chain([700, 800], 1000)
    placed = place(tasks, system(15, 1), None, 0, QUIET)
    check(placed)
    assert placed.replication.counts == [7, 7]
    light = place(chain([700, 800], 1), system(15, 1), None, 0, QUIET)
    assert light.replication.counts == [7, 8]


@pytest.mark.parametrize(
    ("tasks", "mesh", "replicas", "says"),
    [
        (chain([1] * 5, 1), system(2, 2), None, "has 5 tasks, but the 2x2 mesh has only 4 working"),
        (chain([1] * 2, 1), system(2, 2), 3, "has 6 replicas, but the 2x2 mesh has only 4 working"),
        (
            graph({"a": 1, "b": 1}, {("a", "b"): 100}, 1 << 20),
            system(2, 2),
            None,
            r"task 'a' takes 1,048,776 B \(1,048,576 for itself, 200 for buffers\), 200 B more",
        ),
        (
            chain([1] * 3, 10),
            system(3, 1, override=[{"x": [0, 1], "y": 0, "memory_bytes": 29}]),
            None,
            r"3 replicas of 3 tasks, such as 'a', fit only elements of 1,048,576 B or more, and "
            "2 of these are lacking",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    tasks: TaskGraph, mesh: MeshSystem, replicas: int | None, says: str
) -> None:
    with pytest.raises(CapacityError, match=says) as caught:
        place(tasks, mesh, replicas, 0, QUIET)
    assert "\n" not in str(caught.value)


def test_a_compact_region_is_square_as_far_as_possible() -> None:
    mesh = Mesh(width=10, height=4)
    some = compact(np.arange(40), 9, mesh)
    assert sorted(some.tolist()) == [0, 1, 2, 10, 11, 12, 20, 21, 22]
    assert len(set(compact(np.arange(40), 40, mesh).tolist())) == 40
    dead = np.setdiff1d(np.arange(40), [0, 1, 10])
    assert len(compact(dead, 37, mesh)) == 37


@pytest.mark.parametrize("seed", range(10))
def test_the_demanding_move_to_large_elements(seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = rng.integers(1, 6, 20)
    needs = np.sort(limits)[5:] - rng.integers(0, 2, 15)
    rng.shuffle(needs)
    placed = fitted(rng.permutation(20)[:15], needs, limits, Mesh(width=5, height=4))
    assert (needs <= limits[placed]).all()
    assert len(set(placed.tolist())) == 15
