"""What plans a network for a verdict."""

from collections.abc import Mapping
from typing import Protocol

from ethosgen.values.accelerator import Accelerator
from ethosgen.values.network import Network
from ethosgen.values.plan import Kept, Plan


class Planner(Protocol):
    """Plans a network, or a part of one, always with the same settings."""

    @property
    def accelerator(self) -> Accelerator | None:
        """The NPU, None for the CPU alone."""

    def plan(self, network: Network, kept: Mapping[int, Kept], /) -> Plan:
        """Compile a network with operators kept on the CPU, by index; RefusalError if refused."""

    def errata(self, network: Network, oracle: str, /) -> Mapping[int, Kept]:
        """Return the operators to keep, as the NPU's results differ from those of an oracle."""
