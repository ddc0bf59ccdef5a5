"""Counts the buffers for hand-overs, and the memory that a task takes with them.

An input is double-buffered: an element receives a sample while it works on another. So is an
output, which leaves while the next is computed. Where tensors on two paths meet, the one on the
shorter path waits, and takes as many additional buffers as samples are on the longer path.
"""

import math
from collections.abc import Sequence

from ethosgen.stages.task_graph import TaskGraph

LEAST = 2
"""The buffers of an input, and of an output."""


def base_bytes(graph: TaskGraph, task: int) -> int:
    """Return the memory of a task with the fewest buffers that its edges allow."""
    needs = graph.tasks[task]
    inputs = sum(
        graph.edges[e].bytes * (graph.edges[e].buffers or LEAST) for e in graph.incoming[task]
    )
    written = needs.made_bytes
    if written is None:
        written = sum(graph.edges[e].bytes for e in graph.outgoing[task])
    return needs.memory_bytes + inputs + LEAST * (needs.input_bytes + written + needs.output_bytes)


def wanted_depths(graph: TaskGraph, counts: Sequence[int]) -> list[int]:
    """Return the number of samples that the receiving element of each edge should hold.

    `counts` are the tasks' replicas: each of them has a sample in transit.
    """
    wanted = [LEAST] * len(graph.edges)
    level = [0] * len(graph.tasks)
    for task in graph.order:
        incoming = graph.incoming[task]
        reached = [level[graph.ends[e][0]] + counts[graph.ends[e][0]] for e in incoming]
        level[task] = max(reached, default=0)
        for e, samples in zip(incoming, reached, strict=True):
            wanted[e] += math.ceil((level[task] - samples) / counts[task])
    return wanted


def depths(graph: TaskGraph, counts: Sequence[int], memories: Sequence[int]) -> list[int]:
    """Return the number of samples that the receiving element of each edge can hold.

    That is the wanted number, or the edge's own, or less if memory is short. `memories` are the
    bytes that each task may take.
    """
    held = [edge.buffers or LEAST for edge in graph.edges]
    wanted = wanted_depths(graph, counts)
    for task, incoming in enumerate(graph.incoming):
        spare = memories[task] - base_bytes(graph, task)
        for e in incoming:
            size, more = graph.edges[e].bytes, wanted[e] - LEAST
            if graph.edges[e].buffers is None and more:
                more = min(more, spare // size) if size else more
                held[e] += more
                spare -= more * size
    return held


def describe_need(graph: TaskGraph, task: int) -> str:
    """Return a task's need of memory for people, with what its buffers take."""
    need, own = base_bytes(graph, task), graph.tasks[task].memory_bytes
    return f"{need:,} B ({own:,} for itself, {need - own:,} for buffers)"
