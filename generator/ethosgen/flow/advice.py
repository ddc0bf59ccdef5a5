"""Gathers the facts for advice about a network: costs of layers, memories, and other attempts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethosgen.aot.times import paced, stored_costs
from ethosgen.backend import simulation_of
from ethosgen.backend.timeline import NpuTimeline
from ethosgen.board.any_board import ANY_BOARD
from ethosgen.flow.alternatives import alternatives, command_of
from ethosgen.flow.costs import Place
from ethosgen.project import part_sizes, room_bytes
from ethosgen.report.advice import AdviceFacts, advise
from ethosgen.report.calls import calls_of
from ethosgen.report.content import ReportLayer
from ethosgen.report.layers import make_layers
from ethosgen.values.advice import Improvement, ranked
from ethosgen.values.plan import Plan
from ethosgen.values.profile import NPU
from ethosgen.values.program import Program


def with_advice(program: Program, place: Place) -> Program:
    """Return a program with the advice that its plan's estimates suggest."""
    return replace(program, advice=advise(_layers(program, place), _facts(program, place)))


def thorough_advice(program: Program, place: Place) -> tuple[Improvement, ...]:
    """Return advice that also estimates other configurations, which takes longer."""
    layers, facts = _layers(program, place), _facts(program, place)
    if place.accelerator is not None:
        facts = replace(facts, cpu_shares=_cpu_shares(program.plan, place, layers))
    return ranked((*advise(layers, facts), *alternatives(program, place)))


def timelines_of(plan: Plan) -> Mapping[str, NpuTimeline]:
    """Return the NPU's timeline of each partition; none if no model covers the NPU."""
    if plan.accelerator is None or not plan.accelerator.has_simulator:
        return {}
    simulation = simulation_of(plan.accelerator)
    return {
        partition.name: simulation.timeline(plan, partition)
        for partition in plan.partitions
        if partition.on_npu
    }


def cpu_estimates(plan: Plan, core: str) -> Mapping[int, int | None]:
    """Return the cycles of each operator on the CPU by stored costs."""
    costs = stored_costs(plan).items()
    return {index: None if cost is None else paced(core, cost) for index, cost in costs}


def _layers(program: Program, place: Place) -> Sequence[ReportLayer]:
    plan, board = program.plan, place.board
    estimates = cpu_estimates(plan, board.cpu.core)
    calls = calls_of(program, timelines_of(plan), estimates, None, _pace(place))
    return make_layers(plan, calls)


def _pace(place: Place) -> float:
    """Return the NPU's cycles in one of the CPU's."""
    board = place.board
    npu = board.npu.clock_hz if board.npu and place.accelerator else None
    return npu / board.cpu.clock_hz if npu and board.cpu.clock_hz else 1.0


def _facts(program: Program, place: Place) -> AdviceFacts:
    plan, board = program.plan, place.board
    is_known = board.name != ANY_BOARD
    sizes = part_sizes(program, board)
    stored = sizes["weights"] + sizes["commands"]
    summary = program.summary()
    return AdviceFacts(
        command=command_of(place),
        npu=plan.npu,
        channels_first=summary.channels_first,
        quantize_with=summary.quantize_with,
        flash=stored / room_bytes(board, place.mode)[0] if is_known else None,
        can_be_apart=not plan.apart,
    )


def _cpu_shares(plan: Plan, place: Place, layers: Sequence[ReportLayer]) -> dict[int, float]:
    """Return each NPU layer's time on the CPU, as a fraction of the whole time."""
    from ethosgen.aot import cpu_cycles

    total = sum(layer.cycles or 0 for layer in layers)
    graph, core = plan.network.graph, place.board.cpu.core
    shares = {}
    for layer in layers if total else ():
        if layer.on == NPU and layer.cycles:
            operator = graph.operators[layer.operator]
            cycles = cpu_cycles(operator, graph, place.board.cpu.extension)
            if cycles is not None:
                shares[layer.operator] = _pace(place) * paced(core, cycles) / total
    return shares
