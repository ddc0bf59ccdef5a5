"""Ethos-U as a backend: its configurations, its compiler Vela and its simulator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ethosgen.backend.ethosu.accelerator import (
    ACCELERATORS,
    DEFAULT_NPU,
    FAMILY,
    find_accelerator,
)
from ethosgen.backend.ethosu.firmware import FILES, firmware_facts
from ethosgen.backend.ethosu.invocation import partition_facts
from ethosgen.backend.ethosu.memory_system import MEMORY_MODES, SYSTEM_CONFIGS
from ethosgen.backend.ethosu.payload import CUSTOM_CODE, MEMORIES, is_compiled
from ethosgen.backend.ethosu.pmu_event import event_names
from ethosgen.backend.ethosu.stream import RegionKind, Stream, ports_of, stream_of
from ethosgen.backend.protocol import (
    AcceleratorBackend,
    Attach,
    BoardMemories,
    DivisionTask,
    Listing,
    Offer,
    ProjectFiles,
    Runner,
    SharedMemory,
)
from ethosgen.backend.timeline import ARENA, FAST, IO, WEIGHTS, NpuTimeline
from ethosgen.backend.trace import Trace
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import Allocation, OperatorIndex
from ethosgen.values.errors import InputError
from ethosgen.values.explanation import Explanation
from ethosgen.values.network import Network
from ethosgen.values.plan import Partition, Plan
from ethosgen.values.profile import NpuOperation
from ethosgen.values.schedule import USUAL_SCHEDULE
from ethosgen.values.watch import Watch

if TYPE_CHECKING:
    from ethosgen.backend.ethosu.offload import Division


_MEMORIES = {
    RegionKind.READ_ONLY: WEIGHTS,
    RegionKind.SCRATCH: ARENA,
    RegionKind.SCRATCH_FAST: FAST,
}


class EthosUFamily:
    """The Ethos-U family; AcceleratorBackend documents the methods.

    Compiler and simulator are imported on first use.
    """

    name = FAMILY
    accelerators: Mapping[str, Accelerator] = ACCELERATORS
    default = DEFAULT_NPU
    simulated = "Ethos-U55, U65 and U85"
    compiler = "Vela"
    packages = ("ethos-u-vela",)
    compiled_operators: Mapping[str, int] = {CUSTOM_CODE: MEMORIES}

    def events(self, accelerator: Accelerator) -> Mapping[int, str]:
        """Return the events of an NPU's performance monitor."""
        return event_names(accelerator.product)

    @property
    def start_cycles(self) -> int:
        """The CPU's estimated cycles for the start of a partition."""
        from ethosgen.backend.ethosu.offload.division import START

        return START

    def compiler_version(self) -> str:
        """Return the installed Vela's version, "" if there is none."""
        from ethosgen.backend.ethosu.offload import vela_version

        return vela_version()

    def operators(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return Regor's list: product → operator → types.

        It leaves out operators without a type: U85's operators with variables.
        """
        from ethosgen.backend.ethosu.offload import npu_operators

        return {
            product: {code: op.dtypes for code, op in known.items() if op.dtypes}
            for product, known in npu_operators().items()
        }

    def objection(self, accelerator: Accelerator, memory_mode: str) -> str:
        """Return the reason why an NPU does not support a memory mode, "" if it does."""
        if (accelerator.product, memory_mode) in SYSTEM_CONFIGS:
            return ""
        return "its second AXI port is read-only"

    def compiled_for(self, network: Network) -> Accelerator | None:
        """Return the NPU for which Vela compiled a network, None if it did not."""
        from ethosgen.backend.ethosu.offload import compiled_for

        return compiled_for(network) if is_compiled(network) else None

    def errata(self, task: DivisionTask, oracle: str) -> Allocation[OperatorIndex]:
        """Return the operators that an erratum of Vela or the NPU concerns."""
        from ethosgen.backend.ethosu.offload import CompileTarget, find_errata

        target = CompileTarget(task.accelerator.name, task.io, task.cpu.table_of)
        return find_errata(task.network, target, oracle)

    def explanations(self) -> Sequence[Explanation]:
        """Return an explanation of each erratum."""
        from ethosgen.backend.ethosu.offload.errata import explanations

        return explanations()

    def offers(
        self, asked: DivisionTask, allocation: Allocation[OperatorIndex]
    ) -> Mapping[OperatorIndex, Offer]:
        """Return Vela's estimates and refusals."""
        return _divide(asked, allocation).offers()

    def compile(self, asked: DivisionTask, allocation: Allocation[OperatorIndex]) -> Plan:
        """Compile the operators that Vela supports."""
        return _divide(asked, allocation).plan

    def files(self, plans: Sequence[Plan]) -> ProjectFiles:
        """Return the driver."""
        return FILES

    def runner(self, plan: Plan, trace: Trace | None = None) -> Runner:
        """Return a simulator of a plan's partitions."""
        from ethosgen.backend.ethosu.simulator.host import PartitionRunner

        return PartitionRunner(plan, trace)

    def attach(self, accelerator: Accelerator) -> Attach:
        """Return a function that attaches a simulator to a target's register page."""
        from ethosgen.backend.ethosu.simulator.machine import Machine
        from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
        from ethosgen.backend.ethosu.simulator.registers import RegisterFile

        npu = find_accelerator(accelerator.name)

        def attach(
            page: np.ndarray[Any, np.dtype[np.uint32]],
            memories: Sequence[SharedMemory],
            raise_irq: Callable[[], None],
        ) -> RegisterFile:
            segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memories]
            registers = RegisterFile(page, Machine(npu, Bus(segments)), raise_irq)
            registers.power_on()
            return registers

        return attach

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Simulate the NPU of a Zephyr application on native_sim, until the application ends."""
        from ethosgen.backend.ethosu.simulator.server import serve

        serve(requests, answers)

    def listings(
        self, source: Network | bytes, name: str, accelerator: Accelerator | None, watch: Watch
    ) -> list[Listing]:
        """List the commands of a network, of Vela's raw output, or of a bare stream."""
        from ethosgen.backend.ethosu.inspection import list_file, list_network

        npu = find_accelerator(accelerator.name) if accelerator else None
        if isinstance(source, bytes):
            return list_file(source, name, npu)
        return list_network(source, npu, watch)

    def firmware_facts(
        self,
        accelerator: Accelerator,
        memories: BoardMemories,
        platform: str,
        partitions: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return the NPU's and the driver's configuration."""
        npu = find_accelerator(accelerator.name)
        return firmware_facts(npu, memories, platform, partitions)

    def operations(self, plan: Plan, partition: Partition) -> Sequence[NpuOperation]:
        """Return a stream's operations; together their cycles are the simulated PMU's."""
        from ethosgen.backend.ethosu.simulator.listing import list_operations

        if plan.accelerator is None:
            return ()
        stream = stream_of(partition)
        npu = find_accelerator(plan.accelerator.name)
        issued = list_operations(stream.commands, npu, ports_of(plan, partition))
        return [_with_layer(operation, plan, stream, offset) for offset, operation in issued]

    def counts_memory(self, accelerator: Accelerator, memory_mode: str) -> bool:
        """Return False for U65's dedicated SRAM: its model assumes DRAM to be as fast as SRAM."""
        return accelerator.product != "u65" or memory_mode != "dedicated_sram"

    def timeline(self, plan: Plan, partition: Partition) -> NpuTimeline:
        """Return the times of a stream's operations, and the bytes that they use."""
        from ethosgen.backend.ethosu.simulator.timeline import observe

        if plan.accelerator is None:
            raise ValueError("a plan without an NPU has no timeline")
        stream = stream_of(partition)
        npu = find_accelerator(plan.accelerator.name)
        memories = [_MEMORIES[b] if isinstance(b, RegionKind) else IO for b in stream.bases]
        ports = ports_of(plan, partition)
        return observe(stream.commands, npu, ports, memories, stream.sources)

    def partition_facts(
        self, plan: Plan, partition: Partition, ports: Mapping[str, int], arena_bytes: int
    ) -> Mapping[str, Any]:
        """Return a command stream's registers, and the sizes of the memories that it addresses."""
        return partition_facts(plan, partition, ports, arena_bytes)


def _with_layer(operation: NpuOperation, plan: Plan, stream: Stream, offset: int) -> NpuOperation:
    """Return an operation with the network's operator that it computes, if known."""
    source = stream.sources.get(offset)
    if source is None:
        return operation
    graph = plan.network.graph
    operator = graph.operators[source]
    code = operator.custom_code or operator.code
    return replace(operation, operator=code, layer=graph.tensors[operator.outputs[0]].name)


def _divide(task: DivisionTask, allocation: Allocation[OperatorIndex]) -> "Division":
    from ethosgen.backend.ethosu.offload import Request, SchedulerGoal, Vela, divide

    asked = task.options.schedule
    if is_compiled(task.network) and asked != USUAL_SCHEDULE:
        raise InputError(
            f"'{task.network.name}' is already compiled: --strategy and --arena-limit do not apply "
            "to it; omit them, or pass the uncompiled network"
        )
    limits = [asked.arena_bytes]
    memories: dict[str, Any] = {}
    if task.memories is not None:
        mode = task.memories.mode
        memories = {
            "system_config": SYSTEM_CONFIGS[task.accelerator.product, mode].name,
            "memory_mode": MEMORY_MODES[mode],
        }
        limits.append(task.memories.near_bytes)
    least = min((limit for limit in limits if limit is not None), default=None)
    npu = find_accelerator(task.accelerator.name)

    def reach(stream: bytes, region: int) -> int:
        from ethosgen.backend.ethosu.simulator.extent import reached_bytes

        return reached_bytes(stream, npu, region)

    vela = Vela(
        npu,
        is_trusted=task.options.trust_compiler,
        schedule=SchedulerGoal(asked.strategy.value.capitalize(), least),
        **memories,
    )
    return divide(
        task.network,
        Request(
            vela,
            task.io,
            task.options.cpu_ops,
            allocation,
            task.cpu.require_places,
            reach if npu.has_simulator else None,
            asked.bands_above is not None,
        ),
    )


ETHOS_U: AcceleratorBackend = EthosUFamily()
