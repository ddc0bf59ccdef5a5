"""A planner for verdicts that compiles by a function of a test."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ethosgen import aot
from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.protocol import Task
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Kept, Plan
from ethosgen.verdict.errata import errata_of

Compile = Callable[[Network, Mapping[int, Kept]], Plan]


@dataclass(frozen=True)
class FunctionPlanner:
    """Plans by a function; `ethosgen.verdict.planner.Planner` documents the methods."""

    accelerator: EthosU | None
    compile: Compile
    io: IoStyle = IoStyle.ARENA

    def plan(self, network: Network, kept: Mapping[int, Kept]) -> Plan:
        """Call the function."""
        return self.compile(network, kept)

    def errata(self, network: Network, oracle: str) -> Mapping[int, Kept]:
        """Return the operators that errata concern."""
        if self.accelerator is None:
            return {}
        return errata_of(Task(network, self.accelerator, self.io, aot.Processor()), oracle)
