"""Improves a placement by exchanging elements, as long as that shortens the ways of bytes.

A replica is best off at the weighted median of those it exchanges bytes with, along x and along y
alike. It is tried there and on the elements around; who was there takes its place.
"""

import math
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from ethosgen.mesh.adjacency import Adjacency
from ethosgen.mesh.system import Mesh
from ethosgen.mesh.traffic import Ints

_MOST_PASSES = 40
_MOST_EFFORT = 20_000_000
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
) -> Ints:
    """Return a placement with no more hop-bytes; elements without a replica may be taken too.

    A replica may be on an element whose limit is its need at least.
    """
    work = _Exchange(graph, placed, needs, limits, mesh)
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
    """A placement, and what it costs."""

    def __init__(
        self,
        graph: Adjacency,
        placed: Ints,
        needs: Sequence[int],
        limits: Sequence[int],
        mesh: Mesh,
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
        self.cost = sum(self._cost(v, self.x[v], self.y[v], -1) for v in range(len(placed))) / 2

    def elements(self) -> Ints:
        """Return the element of each vertex."""
        found: Ints = np.array(self.y) * self.width + np.array(self.x)
        return found

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
        row = self.rows[vertex]
        if not row:
            return
        x = _median([(self.x[other], weight) for other, weight in row])
        y = _median([(self.y[other], weight) for other, weight in row])
        for dx, dy in _AROUND:
            if 0 <= x + dx < self.width and 0 <= y + dy < self.height:
                yield x + dx, y + dy

    def _change(self, vertex: int, here: tuple[int, int], there: tuple[int, int]) -> float:
        """Return the cost that an exchange adds, infinity if it is impossible."""
        element = there[1] * self.width + there[0]
        other = self.on[element]
        if self.needs[vertex] > self.limits[element]:
            return math.inf
        change = self._cost(vertex, *there, other) - self._cost(vertex, *here, other)
        if other >= 0:
            if self.needs[other] > self.limits[here[1] * self.width + here[0]]:
                return math.inf
            change += self._cost(other, *here, vertex) - self._cost(other, *there, vertex)
        return change

    def _cost(self, vertex: int, x: int, y: int, without: int) -> float:
        """Return the hop-bytes of a vertex at x, y, except to the one that it changes with."""
        xs, ys = self.x, self.y
        self.effort += len(self.rows[vertex])
        return math.fsum(
            weight * (abs(xs[other] - x) + abs(ys[other] - y))
            for other, weight in self.rows[vertex]
            if other != without
        )

    def _exchange(self, vertex: int, here: tuple[int, int], there: tuple[int, int]) -> None:
        old, new = (place[1] * self.width + place[0] for place in (here, there))
        other = self.on[new]
        self.on[old], self.on[new] = other, vertex
        self.x[vertex], self.y[vertex] = there
        if other >= 0:
            self.x[other], self.y[other] = here


def _median(values: list[tuple[int, float]]) -> int:
    """Return the weighted median: no point has a smaller sum of weighted distances."""
    values.sort()
    half = sum(weight for _, weight in values) / 2
    for value, weight in values:
        half -= weight
        if half <= 0:
            return value
    return values[-1][0]
