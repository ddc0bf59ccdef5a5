"""Choose the cuts of a pipeline whose links are given: each tensor must find a way over them.

A stage can read a tensor only if links lead to it from the stage that makes it. So the best rest
of the stages depends on where the cut is, and on which stages have made what is read after it.
"""

from collections.abc import Sequence
from functools import cache
from math import inf

from ethosgen.stages.balance import Cost
from ethosgen.stages.cuts import crossing, ports
from ethosgen.values.network import Graph
from ethosgen.values.wiring import HOST, Ways

_Makers = tuple[tuple[int, int], ...]
"""Tensors with the stages that made them, in order."""


def balance_linked(
    graph: Graph, positions: Sequence[int], stages: int, ways: Ways, cost: Cost
) -> tuple[int, ...] | None:
    """Return the boundaries of the stages as balance() does; None if no cuts fit the links too."""
    last = len(positions) - 1
    reached = reachable(ways, stages)

    @cache
    def ends(start: int, stop: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return ports(graph, positions[start], positions[stop])

    @cache
    def best(stage: int, start: int, makers: _Makers) -> tuple[float, tuple[int, ...]]:
        """Return the time of the slowest stage from this one on, and where these stages end."""
        if stage == stages:
            return (0.0 if start == last else inf), ()
        stage_of, least = dict(makers), inf
        stops: tuple[int, ...] = ()
        for stop in range(start + 1, last + 1 - (stages - stage - 1)):
            reads, makes = ends(start, stop)
            if any(i in stage_of and (stage_of[i], stage) not in reached for i in reads):
                break  # and so do longer stages
            own = cost(stage, positions[start], positions[stop])
            if own < least:
                now = stage_of | dict.fromkeys(makes, stage)
                live = ((i, now[i]) for i in crossing(graph, positions[stop]) if i in now)
                rest, after = best(stage + 1, stop, tuple(live))
                if max(own, rest) < least:
                    least, stops = max(own, rest), (stop, *after)
        return least, stops

    slowest, stops = best(0, 0, ())
    return None if slowest == inf else tuple(positions[i] for i in (0, *stops))


def reachable(ways: Ways, stages: int) -> Ways:
    """Return the pairs of stages from the first of which ways lead to the second."""
    reached = {(a, b) for a, b in ways if HOST not in (a, b)}
    for between in range(stages):
        for a in range(between):
            if (a, between) in reached:
                reached |= {(a, b) for b in range(between, stages) if (between, b) in reached}
    return frozenset(reached)
