"""The judgement of a placement: its speed, and the limit."""

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from ethosgen_place.arrays import Floats
from ethosgen_place.bound import Bound, bound_of, link_title
from ethosgen_place.buffers import wanted_depths
from ethosgen_place.circles import find_circle
from ethosgen_place.layout import Placement
from ethosgen_place.measurement import Simulated
from ethosgen_place.replication import lanes
from ethosgen_place.simulation import lone_latency_s
from ethosgen_place.splitting import RunCut


def rate(value: float) -> str:
    """Return a number for each second, with four digits: "435,200", "12.34"."""
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:g}"


def energy(joules: float) -> str:
    """Return an energy with three digits: "12.3 µJ"."""
    for factor, unit in ((1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ"), (1e-9, "nJ")):
        if joules >= factor or unit == "nJ":
            break
    return f"{joules / factor:.3g} {unit}"


@dataclass(frozen=True)
class PlacementReport:
    """A placement, its bound, the result of its simulation, and which operators were cut how."""

    layout: Placement
    bound: Bound
    simulated: Simulated
    cuts: tuple[RunCut, ...] = ()

    @property
    def slowest(self) -> tuple[str, float]:
        """The name of the slowest stage, and its seconds for each sample."""
        replication = self.layout.replication
        counts = np.array(replication.counts)[replication.task_of]
        periods = self.layout.seconds / counts
        worst = int(np.argmax(periods))
        return replication.graph.tasks[int(replication.task_of[worst])].name, float(periods[worst])

    @property
    def link_loads(self) -> Floats:
        """The fraction of the time in which each link is busy, from its bytes for each sample."""
        seconds = self.layout.link_bytes / self.layout.system.link.bytes_per_s
        return seconds / self.simulated.period_s

    @property
    def hottest(self) -> tuple[str, float] | None:
        """The most loaded link and the share of the time that it is busy, None if none is used."""
        loads = self.link_loads
        worst = int(np.argmax(loads))
        return (link_title(self.layout, worst), float(loads[worst])) if loads[worst] else None

    @property
    def short(self) -> tuple[str, int, int] | None:
        """The hand-over that lacks the most buffers, how many it has and needs; None if none does.

        Where tensors on two paths meet, the shorter path then delays the longer one.
        """
        replication, depths = self.layout.replication, self.layout.depths
        wanted = wanted_depths(replication.graph, replication.counts)
        if not wanted:
            return None
        worst = int(np.argmax(np.array(wanted) / np.array(depths)))
        edge = replication.graph.edges[worst]
        if depths[worst] >= wanted[worst]:
            return None
        return f"from '{edge.sender}' to '{edge.receiver}'", depths[worst], wanted[worst]

    @property
    def circle(self) -> list[str] | None:
        """The links on which transfers could wait for each other in a circle, None if none can."""
        links = find_circle(self.layout)
        return None if links is None else [link_title(self.layout, link) for link in links]

    @property
    def lanes(self) -> int:
        """The groups of replicas that exchange nothing with each other."""
        return lanes(self.layout.replication.counts)

    @property
    def bytes_per_sample(self) -> int:
        """The bytes that tasks hand over for each sample, with inputs and outputs."""
        graph = self.layout.replication.graph
        outside = sum(task.input_bytes + task.output_bytes for task in graph.tasks)
        return outside + sum(edge.bytes for edge in graph.edges)

    @property
    def hop_bytes(self) -> float:
        """The same, counted on every link on the path."""
        return self.layout.hop_bytes

    @property
    def hops(self) -> float:
        """The links that a byte passes, on average."""
        return self.hop_bytes / self.bytes_per_sample if self.bytes_per_sample else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the report as an object of JSON types."""
        run, replication = self.simulated, self.layout.replication
        latencies, hottest = run.latencies_s, self.hottest
        name, seconds = self.slowest
        short, (work, links) = self.short, self.layout.energy_j
        return {
            "graph": replication.graph.name,
            "mesh": self.layout.system.mesh.model_dump(),
            "ports": self.layout.system.ports.model_dump(),
            "elements": int(self.layout.system.alive.sum()),
            "used_elements": replication.total,
            "lanes": self.lanes,
            "tasks": [
                {"name": task.name, "replicas": count}
                for task, count in zip(replication.graph.tasks, replication.counts, strict=True)
            ],
            "cuts": [cut.as_json() for cut in self.cuts],
            "slowest_task": {"name": name, "seconds_per_sample": seconds},
            "bound": {"samples_per_s": 1 / self.bound.period_s, "limit": self.bound.limit},
            "samples_per_s": 1 / run.period_s,
            "latency_s": {
                "mean": float(latencies.mean()),
                "max": float(latencies.max()),
                "alone": lone_latency_s(self.layout),
            },
            "energy_j_per_sample": {"work": work, "links": links} if work or links else None,
            "bytes_per_sample": self.bytes_per_sample,
            "hop_bytes_per_sample": self.hop_bytes,
            "hottest_link": hottest and {"link": hottest[0], "load": hottest[1]},
            "short_of_buffers": short
            and {"hand_over": short[0], "buffers": short[1], "needed": short[2]},
            "blocking_circle": self.circle,
            "simulated": {
                "samples": run.samples,
                "measured": run.measured.stop - run.measured.start,
                "full": run.is_full,
                "was_full": run.was_full,
                "steady": run.is_steady,
                "unsteadiness": run.unsteadiness,
                "uncertainty": None if isnan(run.uncertainty) else run.uncertainty,
                "events": run.events,
            },
        }


def report_of(
    layout: Placement, simulated: Simulated, cuts: tuple[RunCut, ...] = ()
) -> PlacementReport:
    """Return the judgement of a simulated placement."""
    return PlacementReport(layout, bound_of(layout), simulated, cuts)
