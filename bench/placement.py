"""Measures placements on a mesh of 7,296 elements: `python -m bench.placement` prints the tables.

Each task graph is placed at random, along a snake in the order of its tasks, lane by lane, by dual
recursive bipartitioning, and by what `ethosgen place` does: the same with exchanges. The best of
them is simulated. If KaHIP is installed (`pip install kahip`), it divides the graphs, too, in place
of METIS.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import click
import numpy as np

from ethosgen.stages.task_graph import TaskGraph
from ethosgen.values.watch import Watch
from ethosgen_place.adjacency import Adjacency, adjacency_of
from ethosgen_place.arrays import Ints
from ethosgen_place.bipartitioning import Mask, bisect, whole_weights
from ethosgen_place.bound import bound_of
from ethosgen_place.layout import Placement
from ethosgen_place.placer import place
from ethosgen_place.ports import pulls_of
from ethosgen_place.replication import lanes
from ethosgen_place.simulation import simulate_steadily
from ethosgen_place.system import Mesh, MeshElement, MeshSystem

MESH = Mesh(width=192, height=38)


def pipeline(stages: int, seed: int) -> TaskGraph:
    """Return a chain of stages, every third of which is skipped by another hand-over."""
    rng = random.Random(seed)
    sizes = (2048, 4096, 8192, 16384)
    edges = {pair: rng.choice(sizes) for pair in pairwise(range(stages))}
    edges |= {(i, i + 2): 4096 for i in range(0, stages - 2, 3)}
    return _graph("pipeline", [rng.randint(20_000, 400_000) for _ in range(stages)], edges, 4096)


def stencil(width: int, height: int) -> TaskGraph:
    """Return a task for each point of a grid, which sends eastwards and southwards."""
    points = {(x, y): y * width + x for y in range(height) for x in range(width)}
    edges = {
        (number, points[near]): 1000
        for (x, y), number in points.items()
        for near in ((x + 1, y), (x, y + 1))
        if near in points
    }
    return _graph("stencil", [20_000] * len(points), edges, 1000)


def irregular(tasks: int, hand_overs: int, seed: int) -> TaskGraph:
    """Return tasks of different sizes, each of which sends to some of the next ones."""
    rng = random.Random(seed)
    edges: dict[tuple[int, int], int] = {}
    while len(edges) < hand_overs:
        sender = rng.randrange(tasks - 1)
        receiver = min(tasks - 1, sender + 1 + int(rng.expovariate(1 / 20)))
        edges[sender, receiver] = rng.randint(100, 4000)
    return _graph("irregular", [rng.randint(10_000, 40_000) for _ in range(tasks)], edges, 1000)


def _graph(
    name: str, cycles: list[int], edges: dict[tuple[int, int], int], outside: int
) -> TaskGraph:
    """Return a graph whose first tasks get, and whose last ones send, `outside` bytes by ports."""
    senders, receivers = {i for i, _ in edges}, {j for _, j in edges}
    return TaskGraph.model_validate(
        {
            "schema_version": 1,
            "name": name,
            "tasks": [
                {
                    "name": f"t{i}",
                    "cycles": each,
                    "memory_bytes": 1000,
                    "input_bytes": 0 if i in receivers else outside,
                    "output_bytes": 0 if i in senders else outside,
                }
                for i, each in enumerate(cycles)
            ],
            "edges": [{"from": f"t{i}", "to": f"t{j}", "bytes": b} for (i, j), b in edges.items()],
        }
    )


def snake() -> Ints:
    """Return the elements column by column, downwards and upwards in turn."""
    columns = np.arange(MESH.elements).reshape(MESH.height, MESH.width).T.copy()
    columns[1::2] = columns[1::2, ::-1]
    return columns.ravel()


def others(placement: Placement) -> Iterator[tuple[str, Callable[[], Ints]]]:
    """Yield other ways to place the same replicas."""
    replication = placement.replication
    total, graph = replication.total, replication.graph
    position = np.empty(len(graph.tasks))
    position[list(graph.order)] = np.arange(len(graph.tasks))
    by_task = position[replication.task_of]
    number = np.arange(total) - np.array(replication.first)[replication.task_of]

    def along(lane: Ints) -> Ints:
        elements = np.empty(total, np.int64)
        elements[np.lexsort((number, by_task, lane))] = snake()[:total]
        return elements

    rng = np.random.default_rng(0)
    yield "at random", lambda: rng.permutation(MESH.elements)[:total]
    yield "snake, task by task", lambda: along(np.zeros(total, np.int64))
    yield "snake, lane by lane", lambda: along(number % lanes(replication.counts))
    links = adjacency_of(replication.flows, total)
    pulls = pulls_of(replication, placement.gates)
    some = np.sort(snake()[:total])
    yield "bipartitioning", lambda: bisect(links, some, MESH, 0, pulls)
    if find_spec("kahip"):
        yield "bipartitioning by KaHIP", lambda: bisect(links, some, MESH, 0, pulls, by_kahip)


def by_kahip(graph: Adjacency, second: int, seed: int) -> Mask:
    """Divide a graph with KaHIP's KaFFPa (Sanders and Schulz 2013), in its fast mode.

    Halves should have equally many vertices; it takes far longer if they must have.
    """
    import kahip

    count = len(graph.starts) - 1
    if second == count - second == 1:
        return np.array([False, True])  # it cannot divide two
    rows = graph.starts.tolist(), whole_weights(graph).tolist(), graph.neighbours.tolist()
    _, parts = kahip.kaffpa([1] * count, *rows, 2, 0.01, True, seed, kahip.FAST)
    return np.array(parts, bool)


def measure(graph: TaskGraph) -> None:
    """Print the rows of one task graph."""
    system = MeshSystem(mesh=MESH, element=MeshElement(memory_bytes=64 << 20))
    started = time.process_time()
    ours = place(graph, system, None, 0, Watch())
    took = time.process_time() - started
    total = float(ours.flows.bytes.sum())
    rows = [*others(ours), ("bipartitioning and exchanges", lambda: ours.elements)]
    for name, make in rows:
        started = time.process_time()
        placement = replace(ours, elements=make())
        seconds = time.process_time() - started
        hottest = float(placement.link_bytes.max())
        click.echo(
            f"| {graph.name} | {name} | {placement.hop_bytes / total:.2f} | {hottest:,.0f} | "
            f"{seconds:.1f} |"
        )
    started = time.process_time()
    run = simulate_steadily(ours, Watch())
    simulated = time.process_time() - started
    best = bound_of(ours).period_s
    click.echo(
        f"{graph.name}: {ours.replication.total:,} replicas, placed in {took:.1f} s; "
        f"{run.samples:,} samples and {run.events:,} events in {simulated:.1f} s of one core; "
        f"{best / run.period_s:.1%} of the bound, full: {run.is_full}",
    )


if __name__ == "__main__":
    for graph in (pipeline(24, 0), pipeline(100, 3), stencil(128, 57), irregular(7000, 14000, 1)):
        measure(graph)
