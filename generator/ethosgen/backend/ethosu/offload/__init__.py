"""Offload: divide a network between NPU and CPU. Owns Vela (`ethosu`).

Vela gets the original .tflite and alone decides which operators the NPU supports. It runs in a
child process (see ethosgen.host.child), so a crash becomes an error message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.offload.apart import compile_apart
from ethosgen.backend.ethosu.offload.bools import kept_for_bools
from ethosgen.backend.ethosu.offload.constraints import NpuOperator, npu_operators
from ethosgen.backend.ethosu.offload.cutting import divide_tosa
from ethosgen.backend.ethosu.offload.division import Division, compiled_plan
from ethosgen.backend.ethosu.offload.errata import CompileTarget, find_errata
from ethosgen.backend.ethosu.offload.erratum import vela_version
from ethosgen.backend.ethosu.offload.joining import Reach
from ethosgen.backend.ethosu.offload.keeping import (
    mark,
    marked_operators,
    unmark,
    with_absent_inputs,
)
from ethosgen.backend.ethosu.offload.order import awaited, in_order, outgrown, stateful_operators
from ethosgen.backend.ethosu.offload.origin import Origin
from ethosgen.backend.ethosu.offload.precompiled import (
    accelerator_for,
    compiled_for,
    compiled_streams,
    plan_compiled,
    require_npu,
)
from ethosgen.backend.ethosu.offload.reasons import cpu_operators, why_it_ends
from ethosgen.backend.ethosu.offload.refusal import compile_around
from ethosgen.backend.ethosu.offload.regions import read_spans
from ethosgen.backend.ethosu.offload.reshaping import with_own_shapes
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.rewording import reworded
from ethosgen.backend.ethosu.offload.sources import with_sources
from ethosgen.backend.ethosu.offload.vela import (
    FASTEST,
    MEMORY_MODE,
    Compiled,
    SchedulerGoal,
    compile_network,
)
from ethosgen.backend.ethosu.payload import is_compiled
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.errors import InputError
from ethosgen.values.network import ABSENT, Graph, Network
from ethosgen.values.plan import CpuOperator, IoStyle, Kept, Plan
from ethosgen.values.tosa import is_tosa

__all__ = [
    "CompileTarget",
    "Division",
    "NpuOperator",
    "SchedulerGoal",
    "accelerator_for",
    "compiled_for",
    "compiled_streams",
    "divide",
    "find_errata",
    "npu_operators",
    "offload",
    "require_npu",
    "vela_version",
]


def offload(network: Network, npu: EthosU, io: IoStyle = IoStyle.ARENA, **how: Any) -> Plan:
    """Return the plan of a network's division; see `divide`."""
    return divide(network, npu, io, **how).plan


def divide(
    network: Network,
    npu: EthosU,
    io: IoStyle = IoStyle.ARENA,
    *,
    ignore: Sequence[str] = (),
    system_config: str | None = None,
    memory_mode: str = MEMORY_MODE,
    schedule: SchedulerGoal = FASTEST,
    kept: Mapping[int, Kept] | None = None,
    require: Callable[[Plan], None] = lambda _plan: None,
    reach: Reach | None = None,
    is_trusted: bool = False,
) -> Division:
    """Divide a network between NPU and CPU.

    A precompiled network is used unchanged: the options do not apply to it. `ignore` names
    operators (CONV_2D) that must stay on the CPU. `system_config` and `memory_mode` are sections of
    Vela's vela.ini; the default is a Cortex-M board's SRAM and flash. `schedule` is Vela's
    optimisation goal. Operators in `kept` (by index) stay on the CPU. So do operators whose removal
    makes Vela accept the network, or makes `require` accept the plan; `require` raises RefusalError
    for a plan that the CPU cannot execute. `reach` returns how many bytes of a region a stream of a
    precompiled network uses, for networks that do not say so. `is_trusted` accepts streams
    with an erratum. Raises InputError or UnsupportedError if Vela, or a limit of the NPU, rejects
    the rest.
    """
    if is_compiled(network):
        if ignore:
            raise InputError(f"'{network.name}' is already compiled: its operators cannot move now")
        return Division(plan_compiled(network, npu, io, reach))

    kept = kept or {}
    run_vela = _vela(npu, (system_config, memory_mode), schedule, is_trusted)
    if is_tosa(network):
        return divide_tosa(network, npu, io, run_vela, ignore, kept, require)
    hidden = {i: why.reason for i, why in kept.items()} | stateful_operators(network.graph)
    offered, waiting = reworded(network), awaited(network)

    def compile_with(more: Mapping[int, str], limit_s: float | None = None) -> Division:
        stay = hidden | dict(more)
        around = kept_for_bools(network.graph, stay, computes=npu.computes_in_bool)
        while True:
            stay |= around
            compiled = run_vela(mark(offered, stay, waiting), io, limit_s, ignore)
            why = {index: Kept(reason) for index, reason in stay.items()} | dict(kept)
            division = _division(network, npu, io, compiled, ignore, why)
            refused = {**_refused(division), **stay}
            around = kept_for_bools(network.graph, refused, computes=npu.computes_in_bool)
            if around.keys() <= stay.keys():
                require(division.plan)
                return division
            stay = refused

    return compile_around(compile_with, _kinds(network.graph))[0]


def _vela(
    npu: EthosU, system: tuple[str | None, str], schedule: SchedulerGoal, is_trusted: bool
) -> Callable[..., Compiled]:
    """Return a function that compiles a network, or a part of one."""

    def run_vela(
        part: Network, io: IoStyle, limit_s: float | None = None, ignore: Sequence[str] = ()
    ) -> Compiled:
        def compile_for(goal: SchedulerGoal) -> Compiled:
            return compile_network(part, npu, io, ignore, *system, goal, limit_s)

        return compile_for(schedule) if is_trusted else compile_apart(compile_for, schedule)

    return run_vela


def _refused(division: Division) -> dict[int, str]:
    """Return the network's operators that a division leaves on the CPU, each with the reason."""
    left = ((division.on_cpu.get(cpu.operator), cpu.reason) for cpu in division.plan.cpu_operators)
    return {index: reason for index, reason in left if index is not None}


def _kinds(graph: Graph) -> list[tuple[str | None, ...]]:
    """Return, for each operator, its code and types; Vela treats equal ones alike."""
    return [
        (op.code, op.custom_code, *(graph.tensors[i].dtype for i in ports if i != ABSENT))
        for op in graph.operators
        for ports in ((*op.inputs, *op.outputs),)
    ]


def _division(
    network: Network,
    accelerator: Accelerator,
    io: IoStyle,
    compiled: Compiled,
    ignore: Sequence[str],
    kept: Mapping[int, Kept],
) -> Division:
    """Return the division from Vela's output."""
    spans = read_spans(compiled.log) if io is IoStyle.CALLER else None
    residual = Residual(unmark(compiled.network, network), network, spans)
    origin = Origin(network.graph, residual.graph, compiled.tables)
    on_cpu = tuple(
        _with_reason(cpu, kept.get(origin.on_cpu.get(cpu.operator, -1)))
        for cpu in cpu_operators(network, residual.graph, origin, compiled.log, ignore)
    )
    partitions = residual.partitions(
        origin.on_npu, [why_it_ends(residual.graph, p, on_cpu) for p in residual.npu_operators]
    )
    partitions = with_sources(partitions, residual, origin.sources())
    graph = with_absent_inputs(residual.graph, network.graph, origin.on_cpu)
    marked = marked_operators(compiled.network)
    ordered = in_order(graph, marked, network, placed=bool(residual.offsets))
    moved = outgrown(graph, ordered.operators)  # only the CPU uses them, so they can move
    plan = replace(
        compiled_plan(network, accelerator, io, compiled, residual, partitions),
        residual=with_own_shapes(ordered, network.graph, origin.on_cpu),
        cpu_operators=on_cpu,
        origins=origin.on_cpu,
        offsets={i: at for i, at in residual.offsets.items() if i not in moved},
    )
    return Division(plan, origin.on_cpu, compiled.tables)


def _with_reason(cpu: CpuOperator, kept: Kept | None) -> CpuOperator:
    return cpu if kept is None else replace(cpu, reason=kept.reason, erratum=kept.erratum)
