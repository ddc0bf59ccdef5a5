"""What one configuration of a network costs: its time and memory by estimates, its exactness."""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from ethosgen.backend import Task, backend_of, is_compiled
from ethosgen.board import Board, MemoryMode, load_board
from ethosgen.frontend import read_source
from ethosgen.pipeline.execution import simulate_samples
from ethosgen.pipeline.judgement import Reference, decisive_outputs
from ethosgen.pipeline.planning import choose_accelerator, compile_placed, make_plan
from ethosgen.project import check_capacity, part_sizes
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.comparison import Cost, Energy, Exactness, Point, Result, Setting
from ethosgen.values.errors import CapacityError, EthosgenError, RefusalError, UnsupportedError
from ethosgen.values.naming import name_from_file
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, OffloadOptions, Plan
from ethosgen.values.program import Program
from ethosgen.values.source import Source
from ethosgen.values.watch import Watch
from ethosgen.values.workload import default_samples, period

SAMPLES = 5
"""Default number of samples for exactness: one of each distribution."""
MOST_WORK = 2_000_000_000
"""Limit on the multiplications of these samples; a larger network gets fewer."""

SRAM = ("sram", "tcm")
"""The kinds of memory that count as SRAM."""


@dataclass(frozen=True)
class Place:
    """A network on a board, with the NPU and the memory mode that were chosen."""

    network: Network
    board: Board
    accelerator: Accelerator | None
    mode: MemoryMode

    def setting(self, asked: Setting) -> Setting:
        """Return a setting with the memory mode that was chosen."""
        return replace(asked, memory_mode=self.mode)

    @cached_property
    def start_cycles(self) -> int:
        """The CPU's cycles for the start of a partition, as the backend offers it."""
        from ethosgen import aot

        if self.accelerator is None:
            return 0
        memories = self.board.memories_in(self.mode)
        task = Task(self.network, self.accelerator, IoStyle.ARENA, aot, memories)
        try:
            offers = backend_of(self.accelerator).offers(task, {})
        except RefusalError:
            return 0
        return max((offer.start for offer in offers.values()), default=0)


def find_place(point: Point) -> Place:
    """Read a point's network and board; InputError if the board lacks the NPU or the mode."""
    setting = point.setting
    source = point.source
    network = replace(_read(source), name=name_from_file(Path(source.name).stem))
    board = load_board(setting.board)
    accelerator = choose_accelerator(network, setting.npu, board)
    return Place(
        network, board, accelerator, board.choose_memory_mode(setting.memory_mode, accelerator)
    )


@lru_cache(maxsize=4)
def _read(source: Source) -> Network:
    return read_source(source)


def compile_at(place: Place, options: OffloadOptions) -> Program:
    """Compile a network as `ethosgen project` does, for bare metal without a file."""
    board, watch = place.board, Watch()
    plan = make_plan(
        place.network,
        place.accelerator,
        IoStyle.ARENA,
        watch,
        options,
        board.memories_in(place.mode),
        extension=board.cpu.extension,
    )
    return compile_placed(plan, board.placement(place.mode), watch)


def cost_of(program: Program, place: Place) -> Cost:
    """Return the estimates of a program's time, and the bytes that it needs."""
    from ethosgen import aot

    plan, board = program.plan, place.board
    free = {one.operator for one in plan.cpu_operators}
    processor = aot.Processor(board.cpu.extension)
    residual = plan.residual
    on_cpu = [processor.cpu_cycles(op, residual) for op in residual.operators if op.index in free]
    on_cpu += [share.cycles for share in plan.shares]
    sizes = part_sizes(program, board)
    partitions = sum(partition.on_npu for partition in plan.partitions)
    cost = Cost(
        npu_cycles=plan.npu_cycles,
        model_cycles=_model_cycles(plan),
        cpu_cycles=sum(cycles for cycles in on_cpu if cycles is not None),
        start_cycles=partitions * place.start_cycles if partitions else 0,
        unknown_operators=on_cpu.count(None),
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
    """Return the energy of an inference, None if the power of what computes is not published.

    No board file has an NPU's power, so only what runs on the CPU alone has a figure.
    """
    power, seconds = board.cpu.power, cost.seconds
    if power is None or seconds is None or cost.partitions or cost.unknown_operators:
        return None
    return Energy(power.watts * seconds, power.source)


def sram_bytes(program: Program, board: Board, mode: str) -> int:
    """Return the bytes of a network's parts that lie in SRAM in a memory mode."""
    chosen, sizes = board.placement(mode).npu_parts(), part_sizes(program, board)
    return sum(
        sizes[part] for part, memory in chosen.items() if board.memories[memory].kind in SRAM
    )


def _model_cycles(plan: Plan) -> int | None:
    """Return the NPU model's estimate for all partitions, None without an NPU."""
    if plan.accelerator is None:
        return None
    backend = backend_of(plan.accelerator)
    npu = [partition for partition in plan.partitions if partition.on_npu]
    return sum(one.cycles for partition in npu for one in backend.operations(plan, partition))


def measure_point(point: Point) -> Result:
    """Compile a configuration, estimate its cost, and compare its outputs with the oracle's.

    Whatever refuses it becomes the result's reason; only a bug of ethosgen's is raised. The result
    depends on the point, the installed versions and the board's file alone.
    """
    setting = point.setting
    try:
        place = find_place(point)
        setting = place.setting(setting)
        program = compile_at(place, replace(point.options, schedule=setting.schedule))
        cost = cost_of(program, place)
        exactness, unmeasured = _measure_exactness(point, place, program.plan)
    except EthosgenError as error:
        return Result(setting, refusal=str(error))
    return Result(
        setting,
        cost,
        exactness,
        misfit=misfit(program, place),
        unmeasured=unmeasured,
        notes=tuple(_notes(place)),
    )


def misfit(program: Program, place: Place) -> str:
    """Return which memory of the board is too small, "" if none is."""
    try:
        check_capacity([program], place.board, place.mode)
    except CapacityError as error:
        return str(error)
    return ""


def _notes(place: Place) -> list[str]:
    """Return what a reader of the times must know about the board."""
    doubtful = {"cpu.clock_hz", "npu.clock_hz"} & set(place.board.unverified)
    return [f"{fact} of board '{place.board.name}' is unverified" for fact in sorted(doubtful)]


def _measure_exactness(point: Point, place: Place, plan: Plan) -> tuple[Exactness | None, str]:
    """Run the plan on the NPU model and compare it with the oracle; or say why not."""
    network = place.network
    if point.samples == 0:
        return None, "no samples were asked for"
    if is_compiled(network):
        return None, "the file is compiled already: no oracle runs it"
    count = point.samples or default_samples(network, SAMPLES, MOST_WORK)
    count = max(count, period(network))
    try:
        samples, oracle, golden = _golden(point.source, point.options.oracle, count, point.seed)
    except UnsupportedError as error:
        return None, str(error)
    outputs = simulate_samples(plan, samples, Watch())
    found = Reference(network, samples, oracle, golden).against(outputs, plan.steps)
    return Exactness(
        oracle, len(samples), found.elements, found.mismatches, found.max_abs_diff, found.left_out
    ), ""


@lru_cache(maxsize=4)
def _golden(
    source: Source, oracle: str | None, count: int, seed: int
) -> tuple[list[Arrays], str, list[Arrays]]:
    """Return samples, the oracle that decides and its outputs, once for all NPUs and modes."""
    network = _read(source)
    samples = draw_samples(network, count, seed)
    return samples, *decisive_outputs(network, samples, oracle)
