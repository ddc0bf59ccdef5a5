"""Finds links whose transfers could wait for each other in a circle.

A transfer that is longer than a router's buffer keeps a link until it gets the next one. If these
waits can form a circle, the mesh can block for ever (Dally and Seitz, "Deadlock-free message
routing in multiprocessor interconnection networks", 1987). Ways along x first, then along y, form
none; ways around broken links may.
"""

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from ethosgen_place.layout import Placement


def find_circle(layout: Placement) -> Sequence[int] | None:
    """Return links that can wait for each other, each for the next and the last for the first."""
    if not layout.routing.broken:
        return None
    waits: dict[int, set[int]] = {}
    for way in _ways(layout):
        for held, wanted in pairwise(way):
            waits.setdefault(wanted, set()).add(held)
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        circle: list[int] = error.args[1]
        return circle[1:]
    return None


def _ways(layout: Placement) -> Iterator[Sequence[int]]:
    """Yield the way of each flow, without the ports' own links, which nothing waits to pass."""
    flows, ends = layout.flows, layout.ends
    pairs = zip(ends[flows.senders].tolist(), ends[flows.receivers].tolist(), strict=True)
    for sender, receiver in set(pairs):
        yield layout.routing.route(sender, receiver)
