"""A network divided between NPU and CPU."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.offload.joining import Reach
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.vela import Compiled, Row, Vela
from ethosgen.backend.ethosu.stream import VELA, way_out
from ethosgen.backend.protocol import Offer
from ethosgen.values.allocation import FREE, Allocation, OperatorIndex, ResidualIndex
from ethosgen.values.network import Network
from ethosgen.values.plan import IoStyle, Partition, Plan

START = 242
"""The CPU's instructions for an inference with one command stream, counted on QEMU."""
INVOKE = START + 58
"""Cycles of one more command stream: the CPU's, and a guess for the NPU's reset and first fetch."""


def accept(_plan: Plan) -> None:
    """Accept any plan."""


@dataclass(frozen=True)
class Request:
    """A request to divide a network: the compiler, the place of inputs and outputs, and the
    operators that stay on the CPU.

    `ignore` names operators (CONV_2D) that must stay, `allocation` has others. `require` raises
    RefusalError for a plan that the CPU cannot execute. `reach` returns how many bytes of a region
    a stream of a precompiled network uses, for networks that do not say so. With `is_apart` Vela
    places no tensors that only the CPU uses.
    """

    vela: Vela
    io: IoStyle = IoStyle.ARENA
    ignore: Sequence[str] = ()
    allocation: Allocation[OperatorIndex] = FREE
    require: Callable[[Plan], None] = accept
    reach: Reach | None = None
    is_apart: bool = False


@dataclass(frozen=True)
class Division:
    """A network divided between NPU and CPU, as compiled by Vela.

    `on_cpu` maps the plan's CPU operators to the network's, where known. `tables` are Regor's.
    """

    plan: Plan
    on_cpu: Mapping[ResidualIndex, OperatorIndex] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict, repr=False)

    def offers(self) -> dict[OperatorIndex, Offer]:
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
    request: Request,
    compiled: Compiled,
    residual: Residual,
    partitions: tuple[Partition, ...],
) -> Plan:
    """Return the plan of a network that Vela compiled in one piece, without CPU operators."""
    return Plan(
        network=network,
        accelerator=request.vela.npu,
        io=request.io,
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


def npu_cycles(tables: Mapping[str, Sequence[Row]], count: int, whole: int) -> list[int]:
    """Return Vela's estimate for each of the original's operators, 0 where it has none.

    Vela's figures for single operators ignore that weights arrive while another operator runs; they
    are scaled so that their sum is `whole`, its figure for all of them.
    """
    cycles = [0.0] * count
    for row in tables.get("perf", ()):
        source = int(row.get("source_id") or 0) - 1
        if 0 <= source < count:
            cycles[source] += float(row.get("op_cycles") or 0)
    scale = whole / sum(cycles) if any(cycles) else 1.0
    return [round(scale * cycle) for cycle in cycles]
