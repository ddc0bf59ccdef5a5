"""A planner for verdicts that compiles by a function of a test."""

from collections.abc import Callable
from dataclasses import dataclass

from ethosgen import aot
from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.protocol import DivisionTask
from ethosgen.values.allocation import FREE, Allocation, OperatorIndex
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import IoStyle, Plan
from ethosgen.verdict.errata import errata_of

Compile = Callable[[Network, Allocation[OperatorIndex]], Plan]


@dataclass(frozen=True)
class FunctionPlanner:
    """Plans by a function; `ethosgen.verdict.planner.Planner` documents the methods."""

    accelerator: EthosU | None
    compile: Compile
    io: IoStyle = IoStyle.ARENA

    def plan(self, network: Network, allocation: Allocation[OperatorIndex]) -> Plan:
        """Call the function."""
        return self.compile(network, allocation)

    def has_code(self, operator: Operator, graph: Graph) -> bool:
        """Return whether the CPU can run an operator."""
        return aot.can_run(operator, graph)

    def errata(self, network: Network, oracle: str) -> Allocation[OperatorIndex]:
        """Return the operators that errata concern."""
        if self.accelerator is None:
            return FREE
        return errata_of(
            DivisionTask(network, self.accelerator, self.io, aot.ProcessorSide()), oracle
        )
