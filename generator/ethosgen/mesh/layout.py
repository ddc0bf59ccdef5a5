"""A placement with everything that it is judged by: replicas, their elements, their buffers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ethosgen.mesh.system import System
from ethosgen.mesh.traffic import Floats, Ints, Replication, link_bytes


@dataclass(frozen=True)
class Layout:
    """Replicas on elements: replica r, as the replication numbers them, is on `elements[r]`.

    `depths[e]` is the number of samples of edge e that a receiving element can hold.
    """

    replication: Replication
    system: System
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
    def link_bytes(self) -> Floats:
        """The bytes of each link for each sample."""
        return link_bytes(self.replication.flows, self.elements, self.system.mesh)

    def title(self, replica: int) -> str:
        """Return a replica's name for people."""
        task = int(self.replication.task_of[replica])
        name = f"'{self.replication.graph.tasks[task].name}'"
        if self.replication.counts[task] == 1:
            return name
        return f"{name} replica {replica - self.replication.first[task]}"
