"""Offload: divide a network between NPU and CPU. Owns Vela (`ethosu`).

Vela gets the original .tflite and alone decides which operators the NPU supports. It runs in a
child process (see ethosgen.host.child), so a crash becomes an error message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.offload.bools import beside_bools, on_bool_ends
from ethosgen.backend.ethosu.offload.constraints import NpuOperator, npu_operators
from ethosgen.backend.ethosu.offload.cutting import divide_tosa
from ethosgen.backend.ethosu.offload.division import Division, Request, accept, compiled_plan
from ethosgen.backend.ethosu.offload.errata import CompileTarget, find_errata
from ethosgen.backend.ethosu.offload.erratum import vela_version
from ethosgen.backend.ethosu.offload.keeping import (
    mark,
    marked_operators,
    unmark,
    with_absent_inputs,
)
from ethosgen.backend.ethosu.offload.origin import Origin
from ethosgen.backend.ethosu.offload.origins import with_sources
from ethosgen.backend.ethosu.offload.pieces import divided_operators
from ethosgen.backend.ethosu.offload.precompiled import (
    accelerator_for,
    compiled_for,
    plan_compiled,
    require_npu,
)
from ethosgen.backend.ethosu.offload.reasons import cpu_operators, why_it_ends
from ethosgen.backend.ethosu.offload.refusal import compile_around
from ethosgen.backend.ethosu.offload.regions import read_spans
from ethosgen.backend.ethosu.offload.reshaping import with_own_shapes
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.rewording import reworded
from ethosgen.backend.ethosu.offload.side_effects import (
    awaited,
    in_order,
    outgrown,
    stateful_operators,
)
from ethosgen.backend.ethosu.offload.vela import (
    Compiled,
    SchedulerGoal,
    Vela,
)
from ethosgen.backend.ethosu.payload import is_compiled
from ethosgen.values.allocation import FREE, Allocation, Kept, OperatorIndex
from ethosgen.values.errors import InputError
from ethosgen.values.network import ABSENT, Graph, Network
from ethosgen.values.plan import CpuOperator, IoStyle, Plan

__all__ = [
    "CompileTarget",
    "Division",
    "NpuOperator",
    "Request",
    "SchedulerGoal",
    "Vela",
    "accelerator_for",
    "compiled_for",
    "divide",
    "find_errata",
    "npu_operators",
    "offload",
    "require_npu",
    "vela_version",
]


def offload(
    network: Network,
    npu: EthosU,
    io: IoStyle = IoStyle.ARENA,
    *,
    ignore: Sequence[str] = (),
    allocation: Mapping[OperatorIndex, Kept] = FREE,
    require: Callable[[Plan], None] = accept,
    **settings: Any,
) -> Plan:
    """Return the plan of a network's division; `settings` are Vela's."""
    vela = Vela(npu, **settings)
    return divide(network, Request(vela, io, ignore, Allocation(allocation), require)).plan


def divide(network: Network, request: Request) -> Division:
    """Divide a network between NPU and CPU.

    A precompiled network is used unchanged: only its NPU and the I/O style apply to it. Besides
    what the request leaves to the CPU, operators stay there whose removal makes Vela accept the
    network, or the CPU the plan. Raises InputError or UnsupportedError if Vela, or a limit of the
    NPU, rejects the rest.
    """
    if is_compiled(network):
        if request.ignore:
            raise InputError(f"'{network.name}' is already compiled: its operators cannot move now")
        return Division(plan_compiled(network, request.vela.npu, request.io, request.reach))
    if network.is_tosa:
        return divide_tosa(network, request)
    staying = divided_operators(network.graph) | stateful_operators(network.graph)
    control = {index: Kept(why) for index, why in staying.items()}
    allocation = Allocation(control) | request.allocation
    attempt = _Attempt(network, request, allocation, reworded(network), awaited(network))
    return compile_around(attempt, _kinds(network.graph))[0]


@dataclass(frozen=True)
class _Attempt:
    """Compiles a network with operators on the CPU; the search for refusals calls it.

    Those of the `allocation` always stay there. `reworded` is the network in the form that Vela
    supports best, `awaited` are additional inputs that keep the order of operators on the CPU.
    """

    network: Network
    request: Request
    allocation: Allocation[OperatorIndex]
    reworded: Network
    awaited: Mapping[int, Sequence[int]]

    def __call__(self, refused: Mapping[int, str], limit_s: float | None = None, /) -> Division:
        """Compile without the refused operators and without those that bools tie to the CPU."""
        request = self.request
        staying = {index: why.reason for index, why in self.allocation.items()}
        staying |= {OperatorIndex(index): reason for index, reason in refused.items()}
        tied = self._tied(staying)
        while True:
            staying |= tied
            marked = mark(self.reworded, staying, self.awaited, is_apart=request.is_apart)
            compiled = request.vela.compile(marked, request.io, limit_s, request.ignore)
            reasons = Allocation({index: Kept(reason) for index, reason in staying.items()})
            division = _division(self.network, request, compiled, reasons | request.allocation)
            on_cpu = {**_on_cpu(division), **staying}
            tied = self._tied(on_cpu)
            converted = on_bool_ends(self.network.graph, on_cpu)
            if tied.keys() | converted <= staying.keys():
                request.require(division.plan)
                return division
            staying = on_cpu

    def _tied(self, staying: Mapping[OperatorIndex, str]) -> dict[OperatorIndex, str]:
        """Return the operators that bool tensors keep on the CPU besides those that stay."""
        computes = self.request.vela.npu.computes_in_bool
        return beside_bools(self.network.graph, staying, computes=computes)


def _on_cpu(division: Division) -> dict[OperatorIndex, str]:
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
    request: Request,
    compiled: Compiled,
    allocation: Allocation[OperatorIndex],
) -> Division:
    """Return the division from Vela's output."""
    spans = read_spans(compiled.log) if request.io is IoStyle.CALLER else None
    restored = unmark(compiled.network, network, is_apart=request.is_apart)
    residual = Residual(restored, network, spans)
    origin = Origin(network.graph, residual.graph, compiled.tables)
    on_cpu = tuple(
        _with_reason(cpu, origin.on_cpu.get(cpu.operator), allocation)
        for cpu in cpu_operators(network, residual.graph, origin, compiled.log, request.ignore)
    )
    partitions = residual.partitions(
        origin.on_npu, [why_it_ends(residual.graph, p, on_cpu) for p in residual.npu_operators]
    )
    partitions = with_sources(partitions, residual, origin.sources())
    graph = with_absent_inputs(residual.graph, network.graph, origin.on_cpu)
    marked = marked_operators(compiled.network)
    ordered = in_order(graph, marked, network, placed=bool(residual.offsets))
    moved = outgrown(graph, ordered.operators)  # only the CPU uses them, so they can move
    if request.is_apart:
        moved |= residual.offsets.keys() - residual.npu_tensors
    plan = replace(
        compiled_plan(network, request, compiled, residual, partitions),
        residual=with_own_shapes(ordered, network.graph, origin.on_cpu),
        cpu_operators=on_cpu,
        origins=origin.on_cpu,
        offsets={i: at for i, at in residual.offsets.items() if i not in moved},
    )
    return Division(plan, origin.on_cpu, compiled.tables)


def _with_reason(
    cpu: CpuOperator, origin: OperatorIndex | None, allocation: Allocation[OperatorIndex]
) -> CpuOperator:
    if origin is None or origin not in allocation:
        return cpu
    why = allocation[origin]
    return replace(cpu, reason=why.reason, erratum=why.erratum)
