"""The traffic of replicas on elements: senders, receivers, links and bytes.

Samples take turns: replica s mod r of a task with r replicas does sample s. So a pair of replicas
on an edge meets once in lcm(r, r') samples; beyond MOST_PAIRS, the first samples represent all.
Routes go along x first, then along y, which cannot deadlock.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ethosgen.stages.task_graph import TaskGraph
from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.system import Mesh

EAST, WEST, SOUTH, NORTH = range(4)
"""Directions, by their places in STEPS. Link 4 * e + d leaves element e in direction d."""


MOST_PAIRS = 100_000
"""The most pairs of one edge that are looked at: replicas of 3,000 and 3,001 make nine million."""


@dataclass(frozen=True)
class Replication:
    """A task graph with a number of replicas for each task.

    Replicas are numbered task by task; `first[i]` is the number of task i's replica 0.
    """

    graph: TaskGraph
    counts: Sequence[int]

    @cached_property
    def first(self) -> Sequence[int]:
        """The number of each task's first replica."""
        return [0, *np.cumsum(self.counts).tolist()][:-1]

    @property
    def total(self) -> int:
        """The number of replicas of all tasks."""
        return sum(self.counts)

    @cached_property
    def task_of(self) -> Ints:
        """The task of each replica."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def pairs(self, sender: int, receiver: int) -> int:
        """Return the number of pairs of two tasks' replicas, or MOST_PAIRS."""
        return min(math.lcm(self.counts[sender], self.counts[receiver]), MOST_PAIRS)

    @cached_property
    def flows(self) -> "Flows":
        """The traffic by sender and receiver."""
        senders, receivers, loads, shares = [], [], [], []
        for edge, (i, j) in zip(self.graph.edges, self.graph.ends, strict=True):
            turns = np.arange(self.pairs(i, j))
            senders.append(self.first[i] + turns % self.counts[i])
            receivers.append(self.first[j] + turns % self.counts[j])
            loads.append(np.full(len(turns), edge.bytes / len(turns)))
            shares.append(np.full(len(turns), 1 / len(turns)))
        if not loads:
            none = np.zeros(0, np.int64)
            return Flows(none, none, np.zeros(0), np.zeros(0))
        return Flows(*map(np.concatenate, (senders, receivers, loads, shares)))


@dataclass(frozen=True)
class Flows:
    """Pairs of replicas, or of a replica and a port.

    `bytes` are those between them for each sample, on average; `shares` are the fractions of
    samples for which they meet.
    """

    senders: Ints
    receivers: Ints
    bytes: Floats
    shares: Floats

    def some(self, indices: Ints) -> "Flows":
        """Return some of the pairs."""
        return Flows(
            self.senders[indices],
            self.receivers[indices],
            self.bytes[indices],
            self.shares[indices],
        )

    def __add__(self, other: "Flows") -> "Flows":
        """Return both together."""
        return Flows(
            np.concatenate((self.senders, other.senders)),
            np.concatenate((self.receivers, other.receivers)),
            np.concatenate((self.bytes, other.bytes)),
            np.concatenate((self.shares, other.shares)),
        )


def hop_bytes(flows: Flows, elements: Ints, mesh: Mesh) -> float:
    """Return the bytes on all links for each sample, if replica r is on `elements[r]`."""
    dx, dy = _distances(flows, elements, mesh)
    return float(np.sum(flows.bytes * (dx + dy)))


def hops(flows: Flows, elements: Ints, mesh: Mesh) -> Ints:
    """Return the number of links between each pair."""
    dx, dy = _distances(flows, elements, mesh)
    return np.asarray(dx + dy)


def _distances(flows: Flows, elements: Ints, mesh: Mesh) -> tuple[Ints, Ints]:
    y, x = np.divmod(elements, mesh.width)
    return (
        np.abs(x[flows.senders] - x[flows.receivers]),
        np.abs(y[flows.senders] - y[flows.receivers]),
    )


def link_bytes(flows: Flows, elements: Ints, mesh: Mesh) -> Floats:
    """Return the bytes on each link for each sample, by the link's number."""
    y, x = np.divmod(elements, mesh.width)
    x0, y0, x1, y1 = x[flows.senders], y[flows.senders], x[flows.receivers], y[flows.receivers]
    passed = np.zeros((mesh.elements, 4))
    for direction, start, end, row, is_along_x in (
        (EAST, x0, x1, y0, True),
        (WEST, x1 + 1, x0 + 1, y0, True),
        (SOUTH, y0, y1, x1, False),
        (NORTH, y1 + 1, y0 + 1, x1, False),
    ):
        some = start < end  # the links that leave start, start + 1, …, end - 1
        length = mesh.width if is_along_x else mesh.height
        changes = np.zeros((mesh.height if is_along_x else mesh.width, length + 1))
        np.add.at(changes, (row[some], start[some]), flows.bytes[some])
        np.add.at(changes, (row[some], end[some]), -flows.bytes[some])
        loads = np.cumsum(changes, axis=1)[:, :-1]
        passed[:, direction] = (loads if is_along_x else loads.T).ravel()
    passed[passed < _rounding(flows)] = 0
    return passed.ravel()


def _rounding(flows: Flows) -> float:
    """Return the rounding error, in bytes, of cumulative sums where nothing flows."""
    return 1e-9 * float(flows.bytes.max(initial=0))


def route(sender: int, receiver: int, mesh: Mesh) -> list[int]:
    """Return the numbers of the links between two elements, in order."""
    (y, x), (y1, x1) = divmod(sender, mesh.width), divmod(receiver, mesh.width)
    row, column = 4 * mesh.width * y, 4 * x1
    if x < x1:
        links = list(range(row + 4 * x + EAST, row + 4 * x1 + EAST, 4))
    else:
        links = list(range(row + 4 * x + WEST, row + 4 * x1 + WEST, -4))
    down = 4 * mesh.width
    if y < y1:
        links += range(down * y + column + SOUTH, down * y1 + column + SOUTH, down)
    else:
        links += range(down * y + column + NORTH, down * y1 + column + NORTH, -down)
    return links
