"""Places a task graph on a system: tasks on elements, with a number of replicas each.

First the slowest stage is made as fast as the elements allow, by its work or by its incoming or
outgoing bytes, whichever takes longest. Then the paths of its bytes are shortened: dual recursive
bipartitioning, then exchanges. If links are still slower than the slowest stage, a balance by work
alone is tried, and more lanes, which cost balance and save traffic.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np

from ethosgen.stages.task_graph import TaskGraph
from ethosgen.values.errors import CapacityError
from ethosgen.values.grammar import counted
from ethosgen.values.watch import Watch
from ethosgen_place.adjacency import adjacency_of
from ethosgen_place.arrays import Ints
from ethosgen_place.bound import bound_of
from ethosgen_place.buffers import base_bytes, depths, describe_need
from ethosgen_place.layout import Placement
from ethosgen_place.ports import gates_of, pulls_of
from ethosgen_place.refinement import refine
from ethosgen_place.region import compact, fitted
from ethosgen_place.replication import Demand, balance, balance_in_lanes, slowest
from ethosgen_place.simulation import lone_latency_s
from ethosgen_place.system import MeshSystem
from ethosgen_place.traffic import Replication

TOLERANCES = (0.02, 0.1, 0.3)
"""The shares by which lanes may make the slowest stage slower, tried while links are slower."""

Goal = Literal["throughput", "latency"]
_FEW, _TRIES = 1024, 4
"""Placements of at most _FEW replicas take so little time that the best of _TRIES is taken."""


def place(
    graph: TaskGraph,
    system: MeshSystem,
    replicas: int | None,
    seed: int,
    watch: Watch,
    goal: Goal = "throughput",
) -> Placement:
    """Return a placement with as many replicas as help, or `replicas` of each task.

    A task's own number comes first. For a short latency there is one of each, since a sample meets
    only one. CapacityError if there are too many tasks or one fits nowhere.
    """
    merit = MERITS[goal]
    choice = _Choice(graph, system, replicas if goal == "throughput" else replicas or 1)
    choice.check()
    best: Placement | None = None
    tried: list[list[int]] = []
    for tolerance, with_ways in product(TOLERANCES, (True, False)):
        counts = choice.counts(tolerance, with_ways)
        if counts in tried:
            continue
        tried.append(counts)
        watch.say(f"placing {counted(sum(counts), 'replica')}")
        layout = min(_placed(graph, system, counts, choice, seed), key=merit)
        if best is None or merit(layout) < merit(best):
            best = layout
        if not choice.is_free or not bound_of(best).is_link:
            break
    assert best is not None
    return best


@dataclass(frozen=True)
class _Choice:
    """The used elements, and the number of them for each task."""

    graph: TaskGraph
    system: MeshSystem
    replicas: int | None

    @cached_property
    def fixed(self) -> list[int | None]:
        return [task.replicas or self.replicas for task in self.graph.tasks]

    @property
    def is_free(self) -> bool:
        return None in self.fixed

    @cached_property
    def needs(self) -> Ints:
        """The memory of each task, with the fewest buffers."""
        return np.array([base_bytes(self.graph, i) for i in range(len(self.graph.tasks))])

    def check(self) -> None:
        """Raise CapacityError if tasks and elements do not fit."""
        alive, wanted = int(self.system.alive.sum()), sum(count or 1 for count in self.fixed)
        name = f"task graph '{self.graph.name}'"
        if wanted > alive:
            what = "task" if wanted == len(self.fixed) else "replica"
            raise CapacityError(
                f"{name} has {counted(wanted, what)}, but the {self.system.mesh} mesh has only "
                f"{counted(alive, 'working element')}; merge tasks, or name a larger mesh"
            )
        most, worst = int(self.system.memories.max()), int(np.argmax(self.needs))
        if self.needs[worst] > most:
            raise CapacityError(
                f"{name}: task '{self.graph.tasks[worst].name}' takes "
                f"{describe_need(self.graph, worst)}, {int(self.needs[worst]) - most:,} B more "
                f"than the {most:,} B of the largest element; split it, or give the elements more"
            )
        if balance(self._demand(self._clocks[-1])) is None:
            raise CapacityError(f"{name}: {self._shortage()}")

    def counts(self, tolerance: float, with_ways: bool) -> list[int]:
        """Return the tasks' numbers of replicas, with or without the paths of their bytes."""
        counts = balance_in_lanes(self._demand(self.clock, with_ways), tolerance)
        assert counts is not None
        return counts

    @cached_property
    def clock(self) -> float:
        """The clock below which elements are left out: slow ones may delay the others."""
        shares: list[tuple[float, float]] = []
        for clock in self._clocks:
            demand = self._demand(clock)
            if (counts := balance(demand)) is not None:
                shares.append((slowest(demand.times, counts), clock))
        return min(shares)[1]

    @property
    def usable(self) -> Ints:
        """The elements that are used."""
        return np.flatnonzero(self.system.clocks >= self.clock)

    def memory_of(self, task: int) -> int:
        """Return the memory of the smallest elements that a task fits."""
        memories = np.unique(self.system.memories[self.usable])
        return int(memories[np.searchsorted(memories, self.needs[task])])

    @cached_property
    def _ways(self) -> list[float]:
        """The seconds in which an element's links carry a task's bytes in or out."""
        tasks, edges = self.graph.tasks, self.graph.edges
        bytes_in = [task.input_bytes for task in tasks]
        bytes_out = [task.output_bytes for task in tasks]
        for edge, (sender, receiver) in zip(edges, self.graph.ends, strict=True):
            bytes_in[receiver] += edge.bytes
            bytes_out[sender] += edge.bytes
        per_s = self.system.link.bytes_per_s
        return [max(pair) / per_s for pair in zip(bytes_in, bytes_out, strict=True)]

    @cached_property
    def _clocks(self) -> list[float]:
        """The clocks of elements, the fastest first."""
        alive = self.system.clocks[self.system.alive]
        return [float(clock) for clock in np.unique(alive)[::-1]]

    def _demand(self, clock: float, with_ways: bool = True) -> Demand:
        memories = self.system.memories[self.system.clocks >= clock]
        classes, capacities = np.unique(memories, return_counts=True)
        levels = np.searchsorted(classes, self.needs)
        lacking = levels == len(classes)  # one more class, without elements
        return Demand(
            [
                max(task.cycles / clock, way * with_ways)
                for task, way in zip(self.graph.tasks, self._ways, strict=True)
            ],
            self.fixed,
            levels.tolist(),
            [*capacities.tolist(), 0] if lacking.any() else capacities.tolist(),
        )

    def _shortage(self) -> str:
        demand = self._demand(self._clocks[-1])
        room = demand.room([count or 1 for count in self.fixed])
        level = next(k for k, left in enumerate(room) if left < 0)
        least = int(np.unique(self.system.memories[self.system.alive])[level])
        some = [i for i, task_level in enumerate(demand.levels) if task_level >= level]
        wanted = sum(self.fixed[i] or 1 for i in some)
        return (
            f"{counted(wanted, 'replica')} of {counted(len(some), 'task')}, such as "
            f"'{self.graph.tasks[some[0]].name}', fit only elements of {least:,} B or more, and "
            f"{-room[level]:,} of these are lacking; give more elements more memory"
        )


def _merit(layout: Placement) -> tuple[float, float]:
    """Return the objective to minimize: the time of each sample, then the traffic."""
    return bound_of(layout).period_s, layout.hop_bytes


def _lone_merit(layout: Placement) -> tuple[float, float]:
    """Return the objective for the latency: that of a sample alone, then the traffic."""
    return lone_latency_s(layout), layout.hop_bytes


MERITS: Mapping[Goal, Callable[[Placement], tuple[float, float]]] = {
    "throughput": _merit,
    "latency": _lone_merit,
}
"""The objectives to minimize, by goal."""


def _placed(
    graph: TaskGraph, system: MeshSystem, counts: Sequence[int], choice: _Choice, seed: int
) -> list[Placement]:
    """Return placements to choose from."""
    from ethosgen_place.bipartitioning import bisect  # pymetis

    replication = Replication(graph, counts)
    memories = [choice.memory_of(task) for task in range(len(graph.tasks))]
    buffers = depths(graph, counts, memories)
    links = adjacency_of(replication.flows, replication.total)
    needs = choice.needs[replication.task_of]
    limits = np.where(system.clocks >= choice.clock, system.memories, -1)
    elements = compact(choice.usable, replication.total, system.mesh)
    pulls = pulls_of(replication, gates_of(system))
    layouts = []
    for attempt in range(_TRIES if replication.total <= _FEW else 1):
        number = _TRIES * seed + attempt
        halved = bisect(links, elements, system.mesh, number, pulls)
        first = fitted(halved, needs, limits, system.mesh)
        better = refine(links, first, needs.tolist(), limits.tolist(), system.mesh, number, pulls)
        layouts += [Placement(replication, system, placed, buffers) for placed in (first, better)]
    return layouts
