"""The steps from a network to C code: Network, Plan, Program."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ethosgen import frontend
from ethosgen.backend import (
    compiled_for,
    compiler_of,
    default_accelerator,
    find_accelerator,
    is_compiled,
    load_wrapped,
    wrapped_of,
)
from ethosgen.backend.protocol import BoardMemories, DivisionTask, Wrapped
from ethosgen.flow.choice import faster_plan
from ethosgen.flow.head import with_head
from ethosgen.flow.lowered import npu_for
from ethosgen.flow.optimizing import Costing, optimized_for
from ethosgen.flow.wrapping import UserAccelerators, estimate, offered_by
from ethosgen.oracle.answers import Answer
from ethosgen.samples.drawing import random_samples
from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.allocation import FREE, Allocation, OperatorIndex
from ethosgen.values.errors import InputError, InternalError, UnsupportedError
from ethosgen.values.extension import Extension
from ethosgen.values.naming import check_name, name_from_file
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import (
    CPU,
    EXACT,
    IoStyle,
    Offered,
    OffloadMode,
    OffloadOptions,
    Placing,
    Plan,
)
from ethosgen.values.program import Program
from ethosgen.values.schedule import USUAL_SCHEDULE
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import REASON as NO_NPU_REASON
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.errata import errata_of
from ethosgen.verdict.exactness import Ask, ask_oracles, exact_plan
from ethosgen.verdict.execution import blame_file

if TYPE_CHECKING:  # pydantic's models take a quarter of a second
    from ethosgen.board import Board, MemoryMode
    from ethosgen.project.info import NetworkInfo, ProjectInfo


def read(path: Path, name: str | None, watch: Watch, options: ReadOptions = AS_GIVEN) -> Network:
    """Read a network and give it a name that C accepts."""
    chosen = check_name(name) if name is not None else name_from_file(path.stem)
    with watch.phase("read", f"reading {path.name}"):
        network = frontend.read(path, None, options)
    return replace(network, name=chosen)


def read_stored(network: "NetworkInfo", watch: Watch) -> Network:
    """Read a network from the source that its project stores."""
    with watch.phase("read", f"reading {network.source.name}"):
        read = frontend.read(network.source, network.format, network.reading)
    return replace(read, name=network.name)


def choose_npu(network: Network, npu: str | None) -> str | None:
    """Return the NPU that the user or a file names, None if neither does."""
    if npu is not None:
        return npu
    compiled = compiled_for(network)
    return compiled.name if compiled else npu_for(network)


def choose_accelerator(
    network: Network, npu: str | None, board: "Board | None"
) -> Accelerator | None:
    """Return the NPU to compile for: the named one, else the file's, else the board's.

    None for NO_NPU, or a board without an NPU: everything runs on the CPU. InputError if the board
    does not have the named NPU.
    """
    name = choose_npu(network, npu)
    if name == NO_NPU or (name is None and board is not None and board.npu is None):
        return None
    if board is not None:
        return board.accelerator(name)
    return find_accelerator(name) if name else default_accelerator()


def choose_common_npu(networks: Sequence[Network], npu: str | None) -> str | None:
    """Return the NPU that the user names, or compiled files agree on; None if there is none."""
    users = {chosen: network.name for network in networks if (chosen := choose_npu(network, npu))}
    if len(users) > 1:
        (npu, its), (other, others) = list(users.items())[:2]
        raise InputError(
            f"'{its}' was compiled for {npu} and '{others}' for {other}, but a firmware has one "
            "NPU; pass the uncompiled networks"
        )
    return next(iter(users), None)


@dataclass(frozen=True)
class PlanSettings:
    """The settings that decide how networks are divided.

    `memories` are the board's. The accelerators in `wrapped` make offers, in turn, for operators
    that the NPU leaves. The CPU's costs are those with its `extension`. With `is_apart` the NPU's
    compiler does not place the inputs and outputs of its partitions.
    """

    accelerator: Accelerator | None
    options: OffloadOptions = EXACT
    io: IoStyle = IoStyle.ARENA
    wrapped: Sequence[Wrapped] = ()
    memories: BoardMemories | None = None
    extension: Extension = Extension.HELIUM
    is_apart: bool = False

    def on(self, board: "Board", memory_mode: "MemoryMode") -> "PlanSettings":
        """Return the settings with a board's processor and memories."""
        memories = board.memories_in(memory_mode)
        return replace(self, memories=memories, extension=board.cpu.extension)

    def unchecked(self) -> "PlanSettings":
        """Return the settings without the comparison with the oracle."""
        return replace(self, options=replace(self.options, check=False))

    def planner(self) -> "NetworkPlanner":
        """Return the planner with these settings."""
        from ethosgen import aot

        options, is_none = self.options, self.options.mode is OffloadMode.NONE
        has_helium = self.extension is Extension.HELIUM
        others = [
            wrapped.allowing(options.steps).beside(has_helium).lowered_by(aot.c_function)
            for wrapped in self.wrapped
        ]
        return NetworkPlanner(
            None if is_none else self.accelerator,
            self.io,
            self.memories,
            UserAccelerators(() if is_none else others, options, aot.ProcessorSide(self.extension)),
            "you asked for --offload none" if is_none and self.accelerator else NO_NPU_REASON,
            self.is_apart,
        )


def stored_settings(info: "ProjectInfo", index: int) -> PlanSettings:
    """Return the settings with which a project's network was planned."""
    accelerator = None if info.npu == NO_NPU else find_accelerator(info.npu)
    wrapped = [load_wrapped(str(folder)) for folder in info.accelerators]
    settings = PlanSettings(accelerator, info.networks[index].options, info.io, wrapped)
    return settings.on(info.board, info.board.choose_memory_mode(info.memory_mode, accelerator))


def make_plan(
    network: Network, settings: PlanSettings, watch: Watch, ask: Ask = ask_oracles
) -> Plan:
    """Divide a network between the NPU, if there is one, users' accelerators, and the CPU.

    The plan is for the optimized network. `ask` runs the oracle on the original for the check.
    """
    planner, options = settings.planner(), settings.options
    if is_compiled(network):  # neither an optimizer nor an oracle reads what a compiler made
        options = replace(options, optimize=False, trust_compiler=True)

    def arena_bytes(plan: Plan) -> int:
        from ethosgen.aot import compile_program

        # Without limits: one answer for all points of a front, and no search for bands.
        whole = replace(options, schedule=USUAL_SCHEDULE)
        asked = replace(plan, options=whole, extension=settings.extension)
        return compile_program(asked, "network").arena_bytes

    costing = Costing.of(planner.accelerators.cpu, settings.accelerator, arena_bytes)
    optimized = optimized_for(network, options, planner, costing, watch)
    planned = optimized.network if optimized else network

    def ask_original(
        _planned: Network, samples: Sequence[Arrays], oracle: str | None
    ) -> Answer | str:
        return ask(network, samples, oracle)

    plan = exact_plan(planned, planner, options, watch, ask_original)
    plan = _with_reasons(plan, planned)
    plan = replace(plan, options=settings.options, extension=settings.extension)
    if optimized:
        plan = replace(plan, before=network, optimization=optimized.facts)
    return _with_placings(plan, planner.accelerators, planner.task(planned))


@dataclass(frozen=True)
class NetworkPlanner:
    """Plans networks, and parts of them, with one board's and one user's settings.

    `reason` says why operators are on the CPU if there is no NPU.
    """

    accelerator: Accelerator | None
    io: IoStyle
    memories: BoardMemories | None
    accelerators: UserAccelerators
    reason: str
    is_apart: bool = False

    def task(self, network: Network) -> DivisionTask | None:
        """Return the NPU's task, None without an NPU."""
        if self.accelerator is None:
            return None
        others, io = self.accelerators, IoStyle.CALLER if self.is_apart else self.io
        return DivisionTask(
            network, self.accelerator, io, others.cpu, self.memories, others.options
        )

    def plan(self, network: Network, allocation: Allocation[OperatorIndex]) -> Plan:
        """Plan a network with operators kept on the CPU; RefusalError if refused."""
        task = self.task(network)
        if task is None:
            return self.accelerators.plan(plan_cpu_only(network, self.io, self.reason), allocation)
        allocation = with_head(network.graph, self.accelerators.options.schedule, allocation)
        if self.accelerators.options.mode is OffloadMode.AUTO:
            return fastest_plan(task, allocation, self.accelerators, self.io)
        plan = compiler_of(task.accelerator).compile(task, allocation)
        return self.accelerators.plan(replace(plan, io=self.io), allocation)

    def has_code(self, operator: Operator, graph: Graph) -> bool:
        """Return whether the CPU can run an operator of a graph."""
        from ethosgen import aot

        return aot.can_run(operator, graph)

    def errata(self, network: Network, oracle: str) -> Allocation[OperatorIndex]:
        """Return the operators that errata keep on the CPU."""
        task = self.task(network)
        return errata_of(task, oracle) if task else FREE


def fastest_plan(
    task: DivisionTask,
    allocation: Allocation[OperatorIndex],
    accelerators: UserAccelerators,
    io: IoStyle,
) -> Plan:
    """Return the plan with the fewest estimated cycles, in the style `io`.

    With users' accelerators, three plans are compared: the NPU runs operators that are cheapest
    there; the NPU runs operators that are cheaper there than on the CPU; the accelerators run
    alone.
    """
    compiler = compiler_of(task.accelerator)
    plan = replace(faster_plan(compiler, task, allocation), io=io)
    if not accelerators.all or is_compiled(task.network):
        return plan
    starts = {offer.start for offer in compiler.offers(task, allocation).values()}
    alternatives = accelerators.alternatives(task.network, io, allocation)
    shared = faster_plan(compiler, replace(task, cpu=alternatives), allocation)
    plans = [
        accelerators.plan(replace(shared, io=io), allocation),
        accelerators.plan(plan, allocation),
        accelerators.plan(plan_cpu_only(task.network, io), allocation),
    ]
    return min(plans, key=lambda candidate: estimate(candidate, task.cpu, max(starts, default=0)))


def _with_reasons(plan: Plan, network: Network) -> Plan:
    """Return the plan, with the front end's reason for operators that it left in float."""
    operators = tuple(
        replace(cpu, reason=f"it computes floats: {network.in_float[cpu.output]}")
        if cpu.output in network.in_float
        else cpu
        for cpu in plan.cpu_operators
    )
    return replace(plan, cpu_operators=operators)


_CHEAPEST = "the lowest estimate"
Compile = Callable[[Plan], Program]
Offers = Mapping[int, tuple[Offered, ...]]
"""All offers for an operator of the network, by its index."""


def _with_placings(plan: Plan, accelerators: UserAccelerators, task: DivisionTask | None) -> Plan:
    """Return the plan with its placings; `task` is the NPU's, if there is one.

    Offers cost time: only --offload auto and users' accelerators need them.
    """
    if plan.is_precompiled:
        return plan
    placed = _places(plan)
    must_ask = bool(accelerators.all) or plan.options.mode is OffloadMode.AUTO
    offered = _offered(plan, accelerators, task) if must_ask else {}
    graph = plan.network.graph
    placings = []
    for operator in graph.operators:
        index, output = OperatorIndex(operator.index), graph.output_name(operator)
        on, reason = placed.get(operator.index, ("", "it disappears in other operators"))
        offers = offered.get(operator.index, ())
        if reason == _CHEAPEST and _is_undercut(on, offers):
            reason = "the plan with the lowest estimate"
        placings.append(Placing(index, operator.title, output, on, reason, offers))
    return replace(plan, placings=tuple(placings))


def _is_undercut(on: str, offers: Sequence[Offered]) -> bool:
    """Return whether another backend alone would be cheaper: moving may split a partition."""
    known = {offer.backend: offer.cycles for offer in offers if offer.cycles is not None}
    return on in known and min(known.values()) < known[on]


def _places(plan: Plan) -> dict[int, tuple[str, str]]:
    """Return the place and the reason for each operator of the network."""
    is_auto = plan.options.mode is OffloadMode.AUTO
    libraries = {library.name for library in wrapped_of(plan) if library.is_library}
    unknown = {share.name for share in plan.shares if share.cycles is None}
    places: dict[int, tuple[str, str]] = {}
    for partition in plan.partitions:
        is_cheapest = is_auto or partition.backend in libraries
        is_cheapest &= partition.backend not in unknown
        why = _CHEAPEST if is_cheapest else "the first that takes it"
        places |= dict.fromkeys(partition.operators, (partition.backend or plan.npu, why))
    for cpu in plan.cpu_operators:
        origin = plan.origins.get(cpu.operator)
        if origin is not None:
            places[origin] = (CPU, cpu.reason)
    return places


def _offered(plan: Plan, accelerators: UserAccelerators, task: DivisionTask | None) -> Offers:
    """Return all offers by operator: the NPU's, the accelerators', the CPU's."""
    graph = plan.network.graph
    npu = compiler_of(task.accelerator).offers(task, FREE) if task else {}
    on_npu = dict(offered_by(plan.npu, npu))
    theirs = accelerators.offered(plan.network, plan.io)
    offered = {}
    for operator in graph.operators:
        index = OperatorIndex(operator.index)
        first = (on_npu[index],) if index in on_npu else ()
        last = Offered(CPU, accelerators.cpu.cpu_cycles(operator, graph))
        offered[operator.index] = (*first, *theirs.get(operator.index, ()), last)
    return offered


def make_program(plan: Plan, watch: Watch) -> Program:
    """Compile the CPU's operators to C with TVM."""
    with watch.phase("aot", "compiling for the CPU (TVM)"):
        from ethosgen.aot import compile_program

        try:
            return compile_program(plan, plan.network.name)
        except InternalError as error:
            blame_file(error, plan, random_samples(plan.network, 1, seed=0))
            raise


def compile_placed(plan: Plan, board: "Board", mode: str, watch: Watch) -> Program:
    """Compile for a board's memories.

    Fast scratch is outside the arena if it has its own memory, and weights are copied where reading
    them is slow, or where the schedule grants SRAM for it.
    """
    asked = plan.options.schedule.fetch_bytes
    plan = replace(plan, fetch=board.fetch_rule(mode, asked))
    if board.placement(mode).fast is None:
        return make_program(plan, watch)
    program = make_program(plan.without_fast(), watch)
    return replace(program, plan=plan)


def faster_program(
    network: Network, settings: PlanSettings, compile_plan: Compile, watch: Watch
) -> Program:
    """Return the program of a network's usual plan, or of one whose ends are apart.

    The NPU's compiler places a network's tensors in its scratch, and may overwrite what an
    accelerator reads that works at the same time. If the NPU's partitions get the address of each
    input and output, the memory plan places them where nothing disturbs them. The faster program
    counts, by estimated cycles, if its arena fits.
    """
    program = compile_plan(make_plan(network, settings, watch))
    if not _may_gain(program.plan):
        return program
    apart = replace(settings, is_apart=True)
    limit = settings.options.schedule.arena_bytes
    with suppress(UnsupportedError):  # the usual program remains valid
        other = compile_plan(make_plan(network, apart.unchecked(), Watch()))
        is_fitting = limit is None or other.arena_bytes <= max(limit, program.arena_bytes)
        if is_fitting and other.cycles < program.cycles:
            return compile_plan(make_plan(network, apart, watch))
    return program


def _may_gain(plan: Plan) -> bool:
    """Return whether a plan has the NPU, and an accelerator that could work beside it."""
    if plan.is_precompiled or plan.io is not IoStyle.ARENA:
        return False
    is_started = any(p.call.awaited and not p.call.copies for p in plan.partitions)
    return is_started and any(partition.on_npu for partition in plan.partitions)
