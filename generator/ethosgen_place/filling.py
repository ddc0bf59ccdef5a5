"""The state of a full mesh, from which a simulation may start instead of from an empty one.

Without waiting for links, task t starts sample s at `starts[t]` + s periods. Two kinds of rules
limit these starts: a task needs its inputs, and a sender needs a free buffer of its receiver.
Together they are difference constraints, whose least solution a Bellman-Ford iteration finds. What
links delay, the simulation then adds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np

from ethosgen_place.arrays import Floats
from ethosgen_place.bound import bound_of
from ethosgen_place.layout import Placement

_SWEEPS = 50
"""The most sweeps over all tasks; a buffer that delays tasks all around a circle needs more."""
_ROUNDING = 1e-6
"""A part of a period that is a rounding error."""
_LONGER, _MOST_LONGER = 1.1, 5.0
"""Where buffers are too few for the bound, periods by this factor longer, up to so many times."""


@dataclass(frozen=True)
class Filling:
    """The samples that each task has finished and begun when the simulation begins, at 0 s.

    `turns` samples have entered, one each `period_s`; `arrivals_s` says for each edge how much
    later than its turn a sample arrives, `ends_s` the same for the end of each task's work.
    """

    turns: int
    period_s: float
    done: Sequence[int]
    begun: Sequence[int]
    ends_s: Sequence[float]
    arrivals_s: Sequence[float]


def empty(layout: Placement) -> Filling:
    """Return the state of an empty mesh."""
    graph = layout.replication.graph
    none = [0] * len(graph.tasks)
    return Filling(0, 0.0, none, none, [0.0] * len(none), [0.0] * len(graph.edges))


def full(layout: Placement) -> Filling | None:
    """Return the state of a full mesh, None if buffers are too few for any."""
    longer = 1.0
    while longer < _MOST_LONGER:
        state = _full(layout, longer * bound_of(layout).period_s)
        if state is not None:
            return state
        longer *= _LONGER
    return None


def _full(layout: Placement, period: float) -> Filling | None:
    graph, counts = layout.replication.graph, layout.replication.counts
    seconds, ways = _seconds(layout), _ways(layout)
    starts = _starts(layout, period, seconds, ways)
    if starts is None:
        return None
    ends = starts + seconds
    turns = floor(float(ends.max()) / period)  # so the last task is not done with sample 0
    done = [max(0, ceil(turns - end / period - _ROUNDING)) for end in ends.tolist()]
    begun = [max(0, ceil(turns - start / period - _ROUNDING)) for start in starts.tolist()]
    for task in reversed(graph.order):
        for e in graph.outgoing[task]:
            receiver = graph.ends[e][1]
            done[task] = min(done[task], done[receiver] + layout.depths[e] * counts[receiver])
        begun[task] = min(begun[task], done[task] + counts[task])
    if any(begun[j] > done[i] for i, j in graph.ends):
        return None
    arrivals = [float(ends[i]) + way_s for (i, _), way_s in zip(graph.ends, ways, strict=True)]
    return Filling(turns, period, done, begun, ends.tolist(), arrivals)


def in_flight(layout: Placement) -> int:
    """Return the number of samples in the mesh at a time, if none has to wait."""
    graph, link = layout.replication.graph, layout.system.link
    seconds = _seconds(layout)
    most = int(layout.hops.max(initial=0))
    done = [0.0] * len(graph.tasks)
    for task in graph.order:
        arrivals = [link.transfer_s(most, graph.tasks[task].input_bytes)]
        for e in graph.incoming[task]:
            arrivals.append(done[graph.ends[e][0]] + link.transfer_s(most, graph.edges[e].bytes))
        done[task] = max(arrivals) + float(seconds[task])
    ends = zip(done, graph.tasks, strict=True)
    last = max(time + link.transfer_s(most, task.output_bytes) for time, task in ends)
    return ceil(last / bound_of(layout).period_s) + 1


def _starts(
    layout: Placement, period: float, seconds: Floats, ways: Sequence[float]
) -> Floats | None:
    """Return when each task starts a sample after its turn, None if there is no such time."""
    graph, counts = layout.replication.graph, layout.replication.counts
    inputs = layout.gates[0].links[layout.elements]
    starts = np.zeros(len(graph.tasks))
    for task, details in enumerate(graph.tasks):
        first = layout.replication.first[task]
        links = int(inputs[first : first + counts[task]].max())
        starts[task] = layout.system.link.transfer_s(links, details.input_bytes)
    for _ in range(_SWEEPS):
        for task in graph.order:
            for e in graph.incoming[task]:
                sender = graph.ends[e][0]
                starts[task] = max(starts[task], starts[sender] + seconds[sender] + ways[e])
        has_changed = False
        for task in reversed(graph.order):
            for e in graph.outgoing[task]:
                receiver = graph.ends[e][1]
                held = layout.depths[e] * counts[receiver] * period
                least = starts[receiver] + seconds[receiver] - held - seconds[task]
                if least > starts[task] + _ROUNDING * period:
                    starts[task], has_changed = least, True
        if not has_changed:
            return starts
    return None


def _seconds(layout: Placement) -> Floats:
    """Return the longest time of each task's replicas."""
    seconds = np.zeros(len(layout.replication.graph.tasks))
    np.maximum.at(seconds, layout.replication.task_of, layout.seconds)
    return seconds


def _ways(layout: Placement) -> list[float]:
    """Return the seconds of each edge's transfer on the longest of its ways."""
    replication = layout.replication
    hops, at, ways = layout.routing.hops(replication.flows, layout.elements), 0, []
    for edge, (i, j) in zip(replication.graph.edges, replication.graph.ends, strict=True):
        pairs = replication.pairs(i, j)
        longest = int(hops[at : at + pairs].max())
        ways.append(layout.system.link.transfer_s(longest, edge.bytes))
        at += pairs
    return ways
