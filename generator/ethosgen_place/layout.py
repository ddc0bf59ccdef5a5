"""A placement with everything needed to judge it: replicas, their elements, their buffers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.ports import Gate, gates_of, port_flows
from ethosgen_place.routing import Routing, routing_of
from ethosgen_place.system import MeshSystem
from ethosgen_place.traffic import Flows, Replication


@dataclass(frozen=True)
class Placement:
    """Replicas on elements: replica r, in the replication's numbering, is on `elements[r]`.

    `depths[e]` is the number of samples of edge e that a receiving element can hold.
    """

    replication: Replication
    system: MeshSystem
    elements: Ints
    depths: Sequence[int]

    @cached_property
    def seconds(self) -> Floats:
        """The time that each replica takes for a sample."""
        cycles = np.array([task.cycles for task in self.replication.graph.tasks], np.float64)
        seconds: np.ndarray[Any, np.dtype[np.float64]] = (
            cycles[self.replication.task_of] / self.system.clocks[self.elements]
        )
        return seconds

    @cached_property
    def routing(self) -> Routing:
        """The ways through the mesh."""
        return routing_of(self.system)

    @cached_property
    def gates(self) -> tuple[Gate, Gate]:
        """The ports for inputs and those for outputs."""
        return gates_of(self.system)

    @cached_property
    def flows(self) -> Flows:
        """The traffic between replicas, then that with ports, as `port_flows` numbers them."""
        return self.replication.flows + port_flows(self.replication, self.elements, self.gates)

    @cached_property
    def hops(self) -> Ints:
        """The links of each flow."""
        with_port = np.arange(len(self.flows.bytes)) >= len(self.replication.flows.bytes)
        return self.routing.hops(self.flows, self.ends) + with_port

    @property
    def hop_bytes(self) -> float:
        """The bytes of each sample, counted on every link that they pass."""
        return float(self.flows.bytes @ self.hops)

    @cached_property
    def link_bytes(self) -> Floats:
        """The bytes of each link for each sample; the ports' links come last."""
        flows, total = self.flows, self.replication.total
        inner = self.routing.link_bytes(flows, self.ends)
        outer = np.zeros(len(self.ends) - total)
        for ends in (flows.senders, flows.receivers):
            some = ends >= total
            np.add.at(outer, ends[some] - total, flows.bytes[some])
        return np.concatenate((inner, outer))

    @property
    def energy_j(self) -> tuple[float, float]:
        """The joules of each sample's work, and of its bytes on links."""
        energy, tasks = self.system.energy, self.replication.graph.tasks
        work = sum(
            task.cycles * energy.cycle_j + task.multiplications * energy.multiplication_j
            for task in tasks
        )
        return work, self.hop_bytes * energy.link_byte_j

    @cached_property
    def ends(self) -> Ints:
        """The elements of replicas, and those with the ports."""
        return np.concatenate((self.elements, *(gate.elements for gate in self.gates)))

    def title(self, replica: int) -> str:
        """Return a replica's name for people."""
        task = int(self.replication.task_of[replica])
        name = f"'{self.replication.graph.tasks[task].name}'"
        if self.replication.counts[task] == 1:
            return name
        return f"{name} replica {replica - self.replication.first[task]}"
