"""A network divided between NPU and CPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.offload.cost import INVOKE, npu_cycles
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.vela import Compiled, Row
from ethosgen.backend.ethosu.stream import VELA, way_out
from ethosgen.backend.protocol import Offer
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Partition, Plan


@dataclass(frozen=True)
class Division:
    """A network divided between NPU and CPU, as Vela compiled it.

    `on_cpu` maps the plan's CPU operators to the network's, where known. `tables` are Regor's.
    """

    plan: Plan
    on_cpu: Mapping[int, int] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict, repr=False)

    def offers(self) -> dict[int, Offer]:
        """Return an offer for each operator, with Vela's estimates; {} for a compiled network."""
        plan = self.plan
        if plan.npu_cycles is None:
            return {}
        cycles = npu_cycles(self.tables, len(plan.network.graph.operators), plan.npu_cycles)
        left = ((self.on_cpu.get(cpu.operator), cpu) for cpu in plan.cpu_operators)
        return {i: Offer(refusal=cpu.reason) for i, cpu in left if i is not None} | {
            i: Offer(cycles[i], group=group, start=INVOKE)
            for group, partition in enumerate(plan.partitions)
            for i in partition.operators
        }


def compiled_plan(
    network: Network,
    accelerator: Accelerator,
    io: IoStyle,
    compiled: Compiled,
    residual: Residual,
    partitions: tuple[Partition, ...],
) -> Plan:
    """Return the plan of a network that Vela compiled in one piece, without CPU operators."""
    return Plan(
        network=network,
        accelerator=accelerator,
        io=io,
        residual=residual.graph,
        partitions=partitions,
        npu_operators=sum(len(partition.operators) for partition in partitions),
        blobs=residual.blobs(partitions),
        scratches=residual.scratches,
        offsets=residual.offsets,
        lives=residual.lives,
        sram_bytes=compiled.peak_bytes.get("Sram", 0),
        npu_cycles=compiled.npu_cycles,
        memory_mode=compiled.memory_mode,
        reach=residual.reach,
        compiler=VELA,
        way_out=way_out(partitions),
    )
