"""The least period of a placement: no sample can follow another sooner.

Three things bound the period: an element that is always busy, a link that is always busy, and a
hand-over, because its receiver can hold only some samples: it takes one more when it has finished
one, so `depth` samples take at least one transfer and the work on one.
"""

from dataclasses import dataclass

import numpy as np

from ethosgen_place.buffers import LEAST
from ethosgen_place.layout import Placement
from ethosgen_place.system import STEPS


@dataclass(frozen=True)
class Bound:
    """The least period in seconds, and its cause in words."""

    period_s: float
    limit: str
    is_link: bool = False


def bound_of(layout: Placement) -> Bound:
    """Return the least period that any simulation of a placement can reach."""
    kinds = (_of_elements, _of_links, _of_hand_overs, _of_inputs)
    return max((kind(layout) for kind in kinds), key=_period)


def _period(bound: Bound) -> float:
    return bound.period_s


def _of_elements(layout: Placement) -> Bound:
    counts = np.array(layout.replication.counts)[layout.replication.task_of]
    periods = layout.seconds / counts
    worst = int(np.argmax(periods))
    name = layout.replication.graph.tasks[int(layout.replication.task_of[worst])].name
    return Bound(float(periods[worst]), f"task '{name}'")


def _of_links(layout: Placement) -> Bound:
    loads = layout.link_bytes
    hottest = int(np.argmax(loads))
    period = float(loads[hottest]) / layout.system.link.bytes_per_s
    is_link = hottest < 4 * layout.system.mesh.elements  # a port is what it is
    return Bound(period, f"the link {link_title(layout, hottest)}", is_link)


def _of_hand_overs(layout: Placement) -> Bound:
    replication = layout.replication
    flows = replication.flows
    if not len(flows.senders):
        return Bound(0.0, "nothing")
    graph, sizes = replication.graph, []
    for edge, (i, j), depth in zip(graph.edges, graph.ends, layout.depths, strict=True):
        each = [edge.bytes, depth * replication.counts[j]]
        sizes.append(np.tile(each, (replication.pairs(i, j), 1)))
    edges = np.concatenate(sizes)
    ways = layout.routing.hops(flows, layout.elements)
    transfers = layout.system.link.transfers_s(ways, edges[:, 0])
    periods = (transfers + layout.seconds[flows.receivers]) / edges[:, 1]
    worst = int(np.argmax(periods))
    sender, other = (layout.title(int(ends[worst])) for ends in (flows.senders, flows.receivers))
    return Bound(float(periods[worst]), f"the hand-over from {sender} to {other}")


def _of_inputs(layout: Placement) -> Bound:
    replication = layout.replication
    sizes = np.array([task.input_bytes for task in replication.graph.tasks])
    some = np.flatnonzero(sizes[replication.task_of])
    if not len(some):
        return Bound(0.0, "nothing")
    tasks = replication.task_of[some]
    ways = layout.gates[0].links[layout.elements[some]]
    transfers = layout.system.link.transfers_s(ways, sizes[tasks])
    counts = np.array(replication.counts)[tasks]
    periods = (transfers + layout.seconds[some]) / (LEAST * counts)
    worst = int(np.argmax(periods))
    return Bound(float(periods[worst]), f"the input of {layout.title(int(some[worst]))}")


def link_title(layout: Placement, link: int) -> str:
    """Return a link's two ends for people."""
    inner = 4 * layout.system.mesh.elements
    if link >= inner:
        inputs, outputs = (gate.elements for gate in layout.gates)
        port = link - inner
        if port < len(inputs):
            return f"input → {layout.system.place(int(inputs[port]))}"
        return f"{layout.system.place(int(outputs[port - len(inputs)]))} → output"
    x, y = layout.system.place(link // 4)
    dx, dy = STEPS[link % 4]
    return f"({x}, {y}) → ({x + dx}, {y + dy})"
