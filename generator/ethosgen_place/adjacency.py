"""The bytes between replicas as a graph in compressed rows: the form that partitioners read."""

from dataclasses import dataclass

import numpy as np

from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.traffic import Flows


@dataclass(frozen=True)
class Adjacency:
    """An undirected weighted graph: vertex v has `neighbours[starts[v]:starts[v + 1]]`."""

    starts: Ints
    neighbours: Ints
    weights: Floats

    def within(self, vertices: Ints, scratch: Ints) -> "Adjacency":
        """Return the part between some vertices, which it renumbers in their order.

        `scratch` has an element for each vertex of the whole, all -1, and has so afterwards.
        """
        scratch[vertices] = np.arange(len(vertices))
        places, owners = self.rows(vertices)
        renumbered = scratch[self.neighbours[places]]
        scratch[vertices] = -1
        inside = renumbered >= 0
        degrees = np.bincount(owners[inside], minlength=len(vertices))
        starts = np.concatenate(([0], np.cumsum(degrees)))
        return Adjacency(starts, renumbered[inside], self.weights[places[inside]])

    def rows(self, vertices: Ints) -> tuple[Ints, Ints]:
        """Return the places of some vertices' neighbours, and for each the index of its vertex."""
        lengths = self.starts[vertices + 1] - self.starts[vertices]
        owners = np.repeat(np.arange(len(vertices)), lengths)
        ends = np.cumsum(lengths)
        offsets = np.arange(len(owners)) - (ends - lengths)[owners]
        return self.starts[vertices][owners] + offsets, owners


def adjacency_of(flows: Flows, vertices: int) -> Adjacency:
    """Return the graph of flows, with those between the same two replicas added up."""
    sources = np.concatenate((flows.senders, flows.receivers))
    other = np.concatenate((flows.receivers, flows.senders))
    keys, where = np.unique(sources * vertices + other, return_inverse=True)
    weights: Floats = np.bincount(
        where, np.concatenate((flows.bytes, flows.bytes)), minlength=len(keys)
    ).astype(np.float64)
    some = weights > 0
    owners, neighbours = np.divmod(keys[some], vertices)
    degrees = np.bincount(owners, minlength=vertices)
    return Adjacency(np.concatenate(([0], np.cumsum(degrees))), neighbours, weights[some])
