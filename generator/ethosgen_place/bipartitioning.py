"""Places replicas by dual recursive bipartitioning.

The elements are halved across their longer side, and the replicas are divided into as many for each
half, so that little flows between the two; and this repeats until each half is one element. The
method is that of F. Pellegrini, "Static mapping by dual recursive bipartitioning of process and
architecture graphs" (SHPCC 1994), which Scotch implements; METIS divides the graphs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pymetis

from ethosgen_place.adjacency import Adjacency
from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.ports import Pulls
from ethosgen_place.system import Mesh

_LARGEST_WEIGHT = 1 << 20
"""METIS counts in integers of 32 bits."""


Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Divide = Callable[[Adjacency, int, int], Mask]
"""Divides a graph in two with a small cut, by the vertices of the second part and a seed; returns a
mask of that part, which may have a few vertices too many or too few.
"""


def bisect(
    graph: Adjacency,
    elements: Ints,
    mesh: Mesh,
    seed: int,
    outside: Pulls | None = None,
    divide: Divide | None = None,
) -> Ints:
    """Return one of `elements` for each vertex of the graph; their numbers are equal.

    METIS divides the graphs unless another partitioner is given.
    """
    work = _Bisection(graph, mesh, seed, outside, divide or by_metis)
    parts = [(np.arange(len(elements)), np.sort(elements))]
    while parts:  # level by level, so that the rough places of all others are known
        parts = [half for part in parts for half in work.halve(*part)]
    return work.placed


@dataclass
class _Bisection:
    graph: Adjacency
    mesh: Mesh
    seed: int
    outside: Pulls | None
    divide: Divide

    def __post_init__(self) -> None:
        count = len(self.graph.starts) - 1
        self.placed = np.full(count, -1, np.int64)
        self._scratch = np.full(count, -1, np.int64)
        middle = (self.mesh.width - 1) / 2, (self.mesh.height - 1) / 2
        self._x, self._y = (np.full(count, value) for value in middle)

    def halve(self, vertices: Ints, elements: Ints) -> list[tuple[Ints, Ints]]:
        """Divide vertices and elements; place them if there is one of each."""
        if len(vertices) == 1:
            self.placed[vertices] = elements
            return []
        halves = _halves(elements, self.mesh)
        inner = self.graph.within(vertices, self._scratch)
        is_second = self._divided(inner, len(halves[1]))
        pulls = self._pulls(vertices, halves)
        if len(halves[0]) == len(halves[1]):
            straight = np.where(is_second, pulls[1], pulls[0]).sum()
            if np.where(is_second, pulls[0], pulls[1]).sum() < straight:
                is_second = ~is_second
        parts = []
        for half, some in zip(halves, (vertices[~is_second], vertices[is_second]), strict=True):
            y, x = np.divmod(half, self.mesh.width)
            self._x[some], self._y[some] = x.mean(), y.mean()
            parts.append((some, half))
        return parts

    def _divided(self, graph: Adjacency, second: int) -> Mask:
        count = len(graph.starts) - 1
        if not len(graph.neighbours):
            return np.arange(count) >= count - second
        is_second = self.divide(graph, second, self.seed)
        _even_out(graph, is_second, second)
        return is_second

    def _pulls(self, vertices: Ints, halves: tuple[Ints, Ints]) -> list[Floats]:
        """Return the hop-bytes of each vertex to all outside, if it is in either half."""
        places, owners = self.graph.rows(vertices)
        others = self.graph.neighbours[places]
        self._scratch[vertices] = 0
        outside = self._scratch[others] < 0
        self._scratch[vertices] = -1
        others, owners = others[outside], owners[outside]
        weights = self.graph.weights[places[outside]]
        pulls: list[Floats] = []
        for half in halves:
            y, x = np.divmod(half, self.mesh.width)
            far = np.abs(self._x[others] - x.mean()) + np.abs(self._y[others] - y.mean())
            inner = np.bincount(owners, weights * far, minlength=len(vertices))
            pull: Floats = inner.astype(np.float64)
            if self.outside is not None:
                pull = pull + self.outside.hop_bytes(vertices, half)
            pulls.append(pull)
        return pulls


def _halves(elements: Ints, mesh: Mesh) -> tuple[Ints, Ints]:
    """Cut a set of elements across its longer side, into halves that differ by at most one."""
    y, x = np.divmod(elements, mesh.width)
    order = np.lexsort((y, x) if np.ptp(x) >= np.ptp(y) else (x, y))
    middle = (len(elements) + 1) // 2
    return elements[order[:middle]], elements[order[middle:]]


def by_metis(graph: Adjacency, second: int, seed: int) -> Mask:
    """Divide a graph with METIS."""
    count = len(graph.starts) - 1
    _, parts = pymetis.part_graph(
        2,
        pymetis.CSRAdjacency(graph.starts.astype(np.int32), graph.neighbours.astype(np.int32)),
        eweights=whole_weights(graph),
        tpwgts=[1 - second / count, second / count],
        recursive=True,
        options=pymetis.Options(seed=seed, ufactor=1),
    )
    return np.array(parts, bool)


def whole_weights(graph: Adjacency) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the weights of a graph's edges as whole numbers from 1, which partitioners need."""
    scale = _LARGEST_WEIGHT / float(graph.weights.max())
    whole: np.ndarray[tuple[int], np.dtype[np.int32]] = np.maximum(graph.weights * scale, 1).astype(
        np.int32
    )
    return whole


def _even_out(graph: Adjacency, is_second: Mask, second: int) -> None:
    """Move the cheapest vertices, until the second part has exactly `second`."""
    owners = np.repeat(np.arange(len(is_second)), np.diff(graph.starts))
    while (surplus := int(is_second.sum()) - second) != 0:
        crosses = is_second[owners] != is_second[graph.neighbours]
        gains = np.bincount(
            owners, np.where(crosses, graph.weights, -graph.weights), minlength=len(is_second)
        )
        gains[is_second != (surplus > 0)] = -np.inf
        best = int(np.argmax(gains))
        is_second[best] = not is_second[best]
