"""Settings for Vela: accelerator, strategy, arena and memory mode."""

from collections.abc import Mapping
from dataclasses import dataclass

from ethosgen.backend.ethosu.accelerator import EthosU, find_accelerator
from ethosgen.backend.ethosu.offload import SchedulerGoal, offload
from ethosgen.backend.ethosu.offload.site import Table
from ethosgen.values.allocation import FREE, Kept, OperatorIndex
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import IoStyle, Plan
from tests.corpus.choices import Choices

PRODUCTS = {
    "u55": ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256"),
    "u65": ("ethos-u65-256", "ethos-u65-512"),
}
NPUS = {
    **PRODUCTS,
    "u85": ("ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048"),
}
"""The columns of the page."""

_DRAM = {"u65": "Ethos_U65_High_End", "u85": "Ethos_U85_SYS_DRAM_Mid"}
"""The systems of vela.ini that have the writable second memory of Dedicated_Sram."""


@dataclass(frozen=True)
class Setting:
    """One way to compile a network."""

    npu: str
    memory_mode: str = "Shared_Sram"
    optimise: str = "Performance"
    arena_bytes: int | None = None
    io: IoStyle = IoStyle.ARENA

    @property
    def accelerator(self) -> EthosU:
        """The NPU's configuration."""
        return find_accelerator(self.npu)

    @property
    def schedule(self) -> SchedulerGoal:
        """The aim of Vela's scheduler."""
        return SchedulerGoal(self.optimise, self.arena_bytes)

    @property
    def system_config(self) -> str | None:
        """The system of vela.ini that goes with the memory mode."""
        if not self.memory_mode.startswith("Dedicated"):
            return None
        return _DRAM[self.accelerator.product]

    def table_of(self, operator: Operator, graph: Graph) -> Table | None:
        """Return the CPU's lookup table of an 8-bit operator, None if it has none."""
        from ethosgen.aot import table_of

        return table_of(operator, graph)

    def compile(self, network: Network, allocation: Mapping[OperatorIndex, Kept] = FREE) -> Plan:
        """Compile with Vela, except what an allocation has; EthosgenError if refused."""
        return offload(
            network,
            self.accelerator,
            self.io,
            system_config=self.system_config,
            memory_mode=self.memory_mode,
            schedule=self.schedule,
            allocation=allocation,
        )

    def __str__(self) -> str:
        arena = f", arena {self.arena_bytes}" if self.arena_bytes else ""
        caller = ", caller's buffers" if self.io is IoStyle.CALLER else ""
        return f"{self.npu}, {self.memory_mode}, {self.optimise}{arena}{caller}"


def choose_setting(choices: Choices, product: str) -> Setting:
    """Choose a setting for a product; a small arena makes Vela cascade, stripe and buffer."""
    npu = choices.pick(NPUS[product])
    modes = ("Shared_Sram", "Sram_Only")
    mode = choices.pick((*modes, "Dedicated_Sram") if product in _DRAM else modes)
    io = choices.pick((IoStyle.ARENA,) * 4 + (IoStyle.CALLER,))
    if choices.chance(3):
        return Setting(npu, mode, "Size", io=io)
    arena = choices.pick((None, 1 << choices.integer(12, 17)))
    return Setting(npu, mode, "Performance", arena, io)
