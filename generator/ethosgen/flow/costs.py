"""The cost of one configuration of a network: estimated time and memory, and exactness."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ethosgen.aot.times import paced, stored_costs, unknown_operators
from ethosgen.backend import compiler_of, simulation_of
from ethosgen.board import Board, MemoryMode
from ethosgen.flow.head import head_limits
from ethosgen.flow.planning import PlanSettings, compile_placed, faster_program, make_plan
from ethosgen.flow.reserve import with_reserve
from ethosgen.project import part_sizes
from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.configurations import Cost, Energy, Setting
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Network
from ethosgen.values.plan import OffloadMode, Plan
from ethosgen.values.program import Program
from ethosgen.values.schedule import Schedule, Streaming
from ethosgen.values.watch import Watch

SRAM = ("sram", "tcm")
"""The kinds of memory that count as SRAM."""


@dataclass(frozen=True)
class Place:
    """A network on a board, in the chosen memory mode, with its planner's settings.

    With `reserve`, its weights are apart from the code, and scratches have those sizes, or a
    reserve.
    """

    network: Network
    board: Board
    mode: MemoryMode
    settings: PlanSettings
    reserve: Mapping[str, int] | None = None

    @property
    def accelerator(self) -> Accelerator | None:
        """The NPU, None without one."""
        return self.settings.accelerator

    @property
    def npu(self) -> str:
        """The NPU's name, or NO_NPU."""
        return self.accelerator.name if self.accelerator else NO_NPU

    def setting(self, asked: Setting) -> Setting:
        """Return a setting with the chosen memory mode."""
        return replace(asked, memory_mode=self.mode)

    def unchecked(self) -> "Place":
        """Return the place without the comparison with the oracle."""
        return replace(self, settings=self.settings.unchecked())

    def scheduled(self, schedule: Schedule) -> "Place":
        """Return the place with a schedule for the NPU's compiler."""
        options = replace(self.settings.options, schedule=schedule)
        return replace(self, settings=replace(self.settings, options=options))

    def compiled(self, watch: Watch) -> Program:
        """Compile the network as in its project."""
        if self.reserve is not None:
            plan = with_reserve(make_plan(self.network, self.settings, watch), self.reserve)
            return compile_placed(plan, self.board, self.mode, watch)

        def compile_plan(plan: Plan) -> Program:
            return compile_placed(plan, self.board, self.mode, watch)

        return faster_program(self.network, self.settings, compile_plan, watch)

    def attempt(self, schedule: Schedule) -> Cost | None:
        """Return the cost with a schedule, not compared with the oracle; None if it is refused."""
        try:
            return cost_of(self.unchecked().scheduled(schedule).compiled(Watch()), self)
        except EthosgenError:
            return None

    def heads(self) -> list[int]:
        """Return the limits of the heads that the CPU may compute in bands, shortest first.

        Only `--offload auto` divides so, and only where NPU and CPU share the arena in SRAM.
        """
        options, is_apart = self.settings.options, self.board.placement(self.mode).fast is not None
        is_auto = options.mode is OffloadMode.AUTO and self.accelerator is not None
        if is_apart or not is_auto or options.schedule.stream is Streaming.OFF:
            return []
        return head_limits(self.network.graph)

    @property
    def start_cycles(self) -> int:
        """The CPU's cycles for the start of a partition, as the backend estimates them."""
        return compiler_of(self.accelerator).start_cycles if self.accelerator else 0


def cost_of(program: Program, place: Place) -> Cost:
    """Return the estimates of a program's time, and the bytes that it needs."""
    plan, board = program.plan, place.board
    costs, shares = stored_costs(plan), [share.cycles for share in plan.shares]
    unknown = unknown_operators(plan, costs)
    sizes = part_sizes(program, board)
    partitions = sum(partition.on_npu for partition in plan.partitions)
    own = sum(filter(None, costs.values())) + program.stream_cycles
    starts = partitions * place.start_cycles
    start_cycles = paced(board.cpu.core, starts)
    apart = sum(filter(None, shares))
    hidden = min(program.hidden_cycles, apart)
    cost = Cost(
        npu_cycles=plan.npu_cycles,
        model_cycles=model_cycles(plan),
        cpu_cycles=paced(board.cpu.core, own + starts) - start_cycles + apart - hidden,
        start_cycles=start_cycles,
        unknown_operators=len(unknown) + shares.count(None),
        without=tuple(dict.fromkeys(unknown)),
        npu_hz=board.npu.clock_hz if board.npu else None,
        cpu_hz=board.cpu.clock_hz,
        arena_bytes=sizes["arena"],
        fast_bytes=sizes["fast"] if board.placement(place.mode).fast else 0,
        sram_bytes=sram_bytes(program, board, place.mode),
        constant_bytes=sizes["commands"] + sizes["weights"],
        npu_operators=plan.npu_operators,
        cpu_operators=len(plan.cpu_operators),
        partitions=partitions,
    )
    return replace(cost, energy=_energy(cost, board))


def _energy(cost: Cost, board: Board) -> Energy | None:
    """Return the energy of an inference, None if the core's power is not published.

    No board file has an NPU's power, so only networks on the CPU alone have a figure.
    """
    power, seconds = board.cpu.power, cost.seconds
    if power is None or seconds is None or cost.partitions or cost.unknown_operators:
        return None
    return Energy(power.watts * seconds, power.source)


def sram_bytes(program: Program, board: Board, mode: str) -> int:
    """Return the bytes of a network's parts that are in SRAM in a memory mode."""
    chosen, sizes = board.placement(mode).npu_parts(), part_sizes(program, board)
    return sum(
        sizes[part] for part, memory in chosen.items() if board.memories[memory].kind in SRAM
    )


def model_cycles(plan: Plan) -> int | None:
    """Return the NPU model's estimate for all partitions.

    None without an NPU, without a model of it, or if the model does not count the mode's memories.
    """
    if plan.accelerator is None or not plan.accelerator.has_simulator:
        return None
    simulation = simulation_of(plan.accelerator)
    if not simulation.counts_memory(plan.accelerator, plan.memory_mode):
        return None
    npu = [partition for partition in plan.partitions if partition.on_npu]
    return sum(
        operation.cycles
        for partition in npu
        for operation in simulation.operations(plan, partition)
    )
