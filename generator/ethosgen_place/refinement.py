"""Improves a placement by exchanging elements, as long as that shortens the paths of bytes.

A replica's best place is the weighted median of the replicas that it exchanges bytes with, along x
and y. It is tried there and on the elements around; the replica there takes its place.
"""

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ethosgen_place.adjacency import Adjacency
from ethosgen_place.arrays import Ints
from ethosgen_place.ports import Pulls
from ethosgen_place.system import Mesh

_MOST_PASSES = 40
_MOST_EFFORT = 10_000_000
"""The most distances that are computed: some seconds. A clock would make results differ."""
_WORTH = 0.001
"""A pass that saves a smaller share of the hop-bytes is the last."""
_AROUND = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1), (1, -1), (-1, 1))


def refine(
    graph: Adjacency,
    placed: Ints,
    needs: Sequence[int],
    limits: Sequence[int],
    mesh: Mesh,
    seed: int,
    outside: Pulls | None = None,
) -> Ints:
    """Return a placement with no more hop-bytes; elements without a replica may be taken, too.

    A replica may be on an element whose limit is at least its need.
    """
    work = _Exchange(graph, placed, needs, limits, mesh, outside)
    turns = list(range(len(placed)))
    rng = random.Random(seed)
    for _ in range(_MOST_PASSES):
        before = work.cost
        rng.shuffle(turns)
        for vertex in turns:
            if work.effort > _MOST_EFFORT:
                return work.elements()
            work.improve(vertex)
        if before - work.cost <= _WORTH * before:
            break
    return work.elements()


class _Exchange:
    """A placement, and its cost: `own[v]` are the hop-bytes of vertex v with all others."""

    def __init__(
        self,
        graph: Adjacency,
        placed: Ints,
        needs: Sequence[int],
        limits: Sequence[int],
        mesh: Mesh,
        outside: Pulls | None,
    ) -> None:
        self.width, self.height = mesh.width, mesh.height
        self.needs, self.limits = needs, limits
        self.effort = 0
        self.x, self.y = (placed % mesh.width).tolist(), (placed // mesh.width).tolist()
        self.on = [-1] * mesh.elements
        for vertex, element in enumerate(placed.tolist()):
            self.on[element] = vertex
        names, weights = graph.neighbours.tolist(), graph.weights.tolist()
        self.rows = [
            list(zip(names[a:b], weights[a:b], strict=True))
            for a, b in pairwise(graph.starts.tolist())
        ]
        self.weights = [dict(row) for row in self.rows]
        self.ports = _ports(outside, len(placed), mesh)
        self.own = [self._cost(v, self.x[v], self.y[v]) for v in range(len(placed))]
        outer = sum(
            pull[0] * pull[1][element]
            for element, pulls in zip(placed.tolist(), self.ports, strict=True)
            for pull in pulls
        )
        self.cost = (sum(self.own) + outer) / 2

    def elements(self) -> Ints:
        """Return the element of each vertex."""
        placed: Ints = np.array(self.y) * self.width + np.array(self.x)
        return placed

    def improve(self, vertex: int) -> None:
        """Exchange the element of a vertex with the one that saves most, if any does."""
        here = self.x[vertex], self.y[vertex]
        best, chosen = -1e-9 * self.cost, None
        for there in self._wanted(vertex):
            if there != here and (saved := self._change(vertex, here, there)) < best:
                best, chosen = saved, there
        if chosen is not None:
            self._exchange(vertex, here, chosen)
            self.cost += best

    def _wanted(self, vertex: int) -> Iterator[tuple[int, int]]:
        xs = [(self.x[other], weight) for other, weight in self.rows[vertex]]
        ys = [(self.y[other], weight) for other, weight in self.rows[vertex]]
        here = self.y[vertex] * self.width + self.x[vertex]
        for weight, _, near_x, near_y in self.ports[vertex]:
            xs.append((near_x[here], weight))
            ys.append((near_y[here], weight))
        if not xs:
            return
        x, y = _median(xs), _median(ys)
        for dx, dy in _AROUND:
            if 0 <= x + dx < self.width and 0 <= y + dy < self.height:
                yield x + dx, y + dy

    def _change(self, vertex: int, here: tuple[int, int], there: tuple[int, int]) -> float:
        """Return the cost that an exchange adds, infinity if it is impossible."""
        element = there[1] * self.width + there[0]
        other = self.on[element]
        if self.needs[vertex] > self.limits[element]:
            return math.inf
        change = self._cost(vertex, *there) - self.own[vertex]
        if other >= 0:
            if self.needs[other] > self.limits[here[1] * self.width + here[0]]:
                return math.inf
            change += self._cost(other, *here) - self.own[other]
            # both were computed as if the other stayed, but their distance does not change
            between = self.weights[vertex].get(other, 0.0)
            change += 2 * between * (abs(here[0] - there[0]) + abs(here[1] - there[1]))
        return change

    def _cost(self, vertex: int, x: int, y: int) -> float:
        """Return the hop-bytes of a vertex at x, y."""
        xs, ys = self.x, self.y
        self.effort += len(self.rows[vertex])
        cost: float = sum(
            [
                weight * (abs(xs[other] - x) + abs(ys[other] - y))
                for other, weight in self.rows[vertex]
            ]
        )
        for weight, links, _, _ in self.ports[vertex]:
            cost += weight * links[y * self.width + x]
        return cost

    def _exchange(self, vertex: int, here: tuple[int, int], there: tuple[int, int]) -> None:
        old, new = (place[1] * self.width + place[0] for place in (here, there))
        other = self.on[new]
        self.on[old], self.on[new] = other, vertex
        self._move(vertex, here, there)
        if other >= 0:
            self._move(other, there, here)
            self.own[other] = self._cost(other, *here)
        self.own[vertex] = self._cost(vertex, *there)

    def _move(self, vertex: int, here: tuple[int, int], there: tuple[int, int]) -> None:
        (x0, y0), (x1, y1), own = here, there, self.own
        self.x[vertex], self.y[vertex] = there
        for other, weight in self.rows[vertex]:
            x, y = self.x[other], self.y[other]
            own[other] += weight * (abs(x - x1) + abs(y - y1) - abs(x - x0) - abs(y - y0))


_Pull = tuple[float, Sequence[int], Sequence[int], Sequence[int]]
"""Bytes, and for each element the links to the nearest port, and that port's x and y."""


def _ports(outside: Pulls | None, vertices: int, mesh: Mesh) -> list[list[_Pull]]:
    """Return the pulls of the ports on each vertex."""
    pulls: list[list[_Pull]] = [[] for _ in range(vertices)]
    if outside is None:
        return pulls
    for gate, sizes in zip(outside.gates, outside.bytes, strict=True):
        nearest = gate.elements[gate.nearest]
        links, x, y = gate.links.tolist(), nearest % mesh.width, nearest // mesh.width
        pull = links, x.tolist(), y.tolist()
        for vertex in np.flatnonzero(sizes).tolist():
            pulls[vertex].append((float(sizes[vertex]), *pull))
    return pulls


def _median(values: list[tuple[int, float]]) -> int:
    """Return the weighted median: no point has a smaller sum of weighted distances."""
    values.sort()
    half = sum(weight for _, weight in values) / 2
    for value, weight in values:
        half -= weight
        if half <= 0:
            return value
    return values[-1][0]
