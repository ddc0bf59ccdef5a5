"""Chooses the elements of a placement, and moves replicas off those with too little memory."""

import numpy as np

from ethosgen_place.arrays import Ints
from ethosgen_place.system import Mesh


def compact(usable: Ints, count: int, mesh: Mesh) -> Ints:
    """Return `count` of the usable elements, as close to a square in a corner as they allow."""
    y, x = np.divmod(usable, mesh.width)
    high = min(mesh.height, max(1, int(np.ceil(np.sqrt(count)))))
    while np.count_nonzero(y < high) < count:
        high += 1
    inside = np.flatnonzero(y < high)
    order = np.lexsort((y[inside], x[inside]))  # column by column
    return usable[inside[order[:count]]]


def fitted(placed: Ints, needs: Ints, limits: Ints, mesh: Mesh) -> Ints:
    """Return a placement in which each replica's need is at most its element's limit.

    The most demanding move first, to the nearest element that is large enough and has no replica
    or a less demanding one, which takes their place and may have to move later. This ends, because
    no replica is moved by a less demanding one.
    """
    placed = placed.copy()
    on = np.full(mesh.elements, -1, np.int64)
    on[placed] = np.arange(len(placed))
    demand = np.where(on >= 0, needs[on], -1)
    while len(wrong := np.flatnonzero(needs > limits[placed])):
        replica = wrong[np.argmax(needs[wrong])]
        here, need = placed[replica], needs[replica]
        able = np.flatnonzero((limits >= need) & (demand < need))
        (y, x), (y0, x0) = np.divmod(able, mesh.width), divmod(int(here), mesh.width)
        there = able[np.argmin(np.abs(x - x0) + np.abs(y - y0))]
        other = on[there]
        on[here], on[there] = other, replica
        demand[here], demand[there] = demand[there], need
        placed[replica] = there
        if other >= 0:
            placed[other] = here
    return placed
