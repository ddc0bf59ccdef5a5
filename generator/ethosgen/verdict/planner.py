"""The planner that a verdict needs."""

from typing import Protocol

from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import Allocation, OperatorIndex
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import Plan


class Planner(Protocol):
    """Plans a network, or a part of one, always with the same settings."""

    @property
    def accelerator(self) -> Accelerator | None:
        """The NPU, None for the CPU alone."""

    def plan(self, network: Network, allocation: Allocation[OperatorIndex], /) -> Plan:
        """Compile a network with operators kept on the CPU; RefusalError if it is refused."""

    def has_code(self, operator: Operator, graph: Graph, /) -> bool:
        """Return whether the CPU can run an operator of a graph."""

    def errata(self, network: Network, oracle: str, /) -> Allocation[OperatorIndex]:
        """Return the operators whose results on the NPU differ from an oracle's."""
