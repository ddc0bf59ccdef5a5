"""Find the hand-overs between stages: the way of each tensor from the stage that makes it.

A tensor takes the shortest of the ways that there are. In a linear pipeline it passes through all
stages between; in a graph it goes directly to each stage that reads it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ethosgen.stages.cuts import Stage
from ethosgen.values.errors import InputError
from ethosgen.values.network import Graph
from ethosgen.values.wiring import HOST, StageEdge, Ways, Wiring


def route(
    graph: Graph,
    stages: Sequence[Stage],
    names: Sequence[str],
    ways: Ways,
    replicas: Sequence[int],
    is_shared: bool = False,
) -> Wiring:
    """Return the hand-overs of stages, which have `names`; `is_shared` if they share memory.

    InputError if no way leads from a stage to one that reads its tensors, or if a stage would
    have nothing to receive or to send.
    """
    carried: dict[tuple[int, int], list[int]] = {}
    for tensor, sender, receivers in _needs(graph, stages):
        came = _ways_from(sender, ways, len(stages))
        used = {step for to in receivers for step in _way(came, sender, to, names)}
        for step in used:
            carried.setdefault(step, []).append(tensor)
    edges = tuple(
        StageEdge(a, b, tuple(tensors), sum(graph.tensors[i].bytes for i in tensors))
        for (a, b), tensors in sorted(carried.items(), key=lambda each: _in_order(each[0], stages))
    )
    wiring = Wiring(tuple(replicas), edges, is_shared)
    _require_ends(wiring, names)
    return wiring


def _needs(graph: Graph, stages: Sequence[Stage]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield each tensor that is handed over, the stage that makes it, and those that read it."""
    makers = {i: k for k, stage in enumerate(stages) for i in stage.makes}
    outputs = set(graph.outputs)
    for tensor in _tensors(graph):
        sender = makers.get(tensor, HOST)
        receivers = [k for k, stage in enumerate(stages) if tensor in stage.reads]
        if tensor in outputs and sender != HOST:
            receivers.append(HOST)
        if receivers:
            yield tensor, sender, receivers


def _tensors(graph: Graph) -> Iterable[int]:
    """Return the network's inputs, and then what operators write, in their order."""
    written = (i for op in graph.operators for i in op.outputs)
    return dict.fromkeys((*graph.inputs, *written))


def _ways_from(start: int, ways: Ways, stages: int) -> dict[int, int]:
    """Return the stage before each on the shortest way from `start`; none is through the host."""
    came: dict[int, int] = {}
    reached = deque([start])
    while reached:
        at = reached.popleft()
        for to in (*range(stages), HOST):
            if (at, to) in ways and to not in came and to != start:
                came[to] = at
                if to != HOST:
                    reached.append(to)
    return came


def _way(
    came: dict[int, int], start: int, stop: int, names: Sequence[str]
) -> Iterator[tuple[int, int]]:
    if stop not in came:
        ends = ["the host" if k == HOST else f"element '{names[k]}'" for k in (start, stop)]
        raise InputError(
            f"no [[links]] lead from {ends[0]} to {ends[1]}, which reads what that makes; add one "
            "with from and to"
        )
    at = stop
    while at != start:
        yield came[at], at
        at = came[at]


def bring_everything(graph: Graph, stages: Sequence[Stage], handovers: Sequence[StageEdge]) -> bool:
    """Return whether hand-overs give each stage what it reads, and the host the outputs.

    Each must come from an earlier stage or the host, which has what it hands over.
    """
    if len({(each.sender, each.receiver) for each in handovers}) < len(handovers):
        return False
    owned = {HOST: set(graph.inputs)}
    for number, stage in enumerate(stages):
        came = _brought(number, handovers, owned)
        sends = any(each.sender == number for each in handovers)
        if not came or not {*stage.reads} <= came or not sends:
            return False
        owned[number] = came | {*stage.makes}
    del owned[HOST]  # which sends itself nothing
    came = _brought(HOST, handovers, owned)
    results = {i for stage in stages for i in stage.makes}
    return came is not None and results & {*graph.outputs} <= came


def _brought(
    receiver: int, handovers: Sequence[StageEdge], owned: Mapping[int, set[int]]
) -> set[int] | None:
    """Return the tensors that a receiver gets; None if a sender does not own what it sends."""
    came: set[int] = set()
    for each in handovers:
        if each.receiver == receiver:
            if each.sender not in owned or not {*each.tensors} <= owned[each.sender]:
                return None
            came |= {*each.tensors}
    return came


def _in_order(ends: tuple[int, int], stages: Sequence[Stage]) -> tuple[int, int]:
    sender, receiver = ends
    return sender, len(stages) if receiver == HOST else receiver


def _require_ends(wiring: Wiring, names: Sequence[str]) -> None:
    for stage, name in enumerate(names):
        if not wiring.edges_before(stage):
            raise InputError(
                f"element '{name}' would receive nothing, as its operators compute constants; cut "
                "elsewhere"
            )
        if not wiring.edges_behind(stage):
            raise InputError(
                f"element '{name}' would send nothing, as nobody reads what it computes; cut "
                "elsewhere"
            )
