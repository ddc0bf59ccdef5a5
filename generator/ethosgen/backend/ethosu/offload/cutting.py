"""Divide a network of TOSA's operators: Vela gets the whole network, else each part that it
accepts.

Vela is first offered each operator alone. Those that it accepts are compiled in parts; if it still
refuses a part, a search finds the operators to omit. A part's inputs and outputs have their own
base pointers, so it can be anywhere between operators on the CPU, and all parts share one blob of
weights.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.division import Division, Request, compiled_plan
from ethosgen.backend.ethosu.offload.origins import read_sources, sourced, with_sources
from ethosgen.backend.ethosu.offload.parts import Part, divide_graph, make_part, units
from ethosgen.backend.ethosu.offload.pieces import divided_operators
from ethosgen.backend.ethosu.offload.reasons import why_it_ends
from ethosgen.backend.ethosu.offload.refusal import compile_around
from ethosgen.backend.ethosu.offload.regions import read_spans, shifted
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.side_effects import stateful_operators
from ethosgen.backend.ethosu.offload.vela import Compiled, Row
from ethosgen.backend.ethosu.payload import CUSTOM_CODE
from ethosgen.backend.ethosu.stream import (
    VELA,
    Base,
    RegionKind,
    Stream,
    invoke,
    make_blobs,
    stream_of,
    way_out,
)
from ethosgen.values.allocation import Allocation, Kept, OperatorIndex, ResidualIndex
from ethosgen.values.dialect import CUSTOM
from ethosgen.values.errors import RefusalError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import CpuOperator, IoStyle, Partition, Plan, Scratch
from ethosgen.values.tosa import PREFIX

_BLOB = 0
"""The region of a part's weights."""
_ALIGNMENT = 16
"""The alignment of a part's weights in the blob that all share."""


def divide_tosa(network: Network, request: Request) -> Division:
    """Divide a network of TOSA's operators between NPU and CPU.

    Operators of the request's allocation, and those that it ignores, with or without their prefix,
    stay on the CPU. So do operators on floats, those that Vela refuses, and those that the
    request's plan must not contain.
    """
    asked = {PREFIX + name.removeprefix(PREFIX) for name in request.ignore}
    operators, why = network.graph.operators, Kept("you asked for it")
    ignored = {OperatorIndex(op.index): why for op in operators if op.code in asked}
    graph = network.graph
    staying = divided_operators(graph) | stateful_operators(graph) | _float_operators(graph)
    allocation = (
        Allocation(ignored)
        | {index: Kept(reason) for index, reason in staying.items()}
        | request.allocation
    )
    if not allocation:
        with suppress(RefusalError, UnsupportedError):
            division = _whole(network, request)
            request.require(division.plan)
            return division
    cutter = _Cutter(network, request)
    refused = cutter.refused(allocation)
    offered = [unit for unit in units(network.graph, allocation) if not set(unit) & set(refused)]
    attempt = _CutAttempt(cutter, request, Allocation(refused) | allocation, offered)
    kinds = [tuple(cutter.kind(index) for index in unit) for unit in offered]
    return compile_around(attempt, kinds)[0]


def _float_operators(graph: Graph) -> dict[OperatorIndex, str]:
    """Return the operators on floats, each with the reason to stay."""
    return {
        OperatorIndex(op.index): "no Ethos-U computes floats"
        for op in graph.operators
        if any(graph.tensors[i].dtype == "float32" for i in (*op.inputs, *op.outputs))
    }


def _whole(network: Network, request: Request) -> Division:
    """Return the division of a network that Vela accepts as a whole."""
    graph = network.graph
    part = make_part(graph, range(len(graph.operators)))
    part = replace(part, inputs=graph.inputs, outputs=graph.outputs)
    compiled = request.vela.compile(part.network(network), request.io)
    spans = read_spans(compiled.log) if request.io is IoStyle.CALLER else None
    residual = Residual(_shaped(compiled, part, network), network, spans)
    _require_one(residual)
    partitions = residual.partitions([part.operators], ["the network ends here"])
    sources = read_sources(compiled.tables, 1, _source_in(part, network))
    partitions = with_sources(partitions, residual, sources)
    plan = compiled_plan(network, request, compiled, residual, partitions)
    return Division(plan, {}, {"perf": _rows(part, network, compiled)})


def _shaped(compiled: Compiled, part: Part, network: Network) -> Network:
    """Return Vela's output with the part's own shapes, which a RESHAPE at an end may have changed.

    Only the bytes matter to the NPU.
    """
    graph = compiled.network.graph
    ours = (network.graph.tensors[i] for i in (*part.inputs, *part.outputs))
    theirs = (*graph.inputs, *graph.outputs)
    shapes = {
        i: t.shape
        for i, t in zip(theirs, ours, strict=False)
        if t.elements == graph.tensors[i].elements
    }
    tensors = (replace(t, shape=shapes.get(t.index, t.shape)) for t in graph.tensors)
    return compiled.network.edited(replace(graph, tensors=tuple(tensors)))


def _require_one(residual: Residual) -> None:
    if len(residual.npu_operators) != 1 or len(residual.graph.operators) != 1:
        why = f"Vela makes {counted(len(residual.graph.operators), 'operator')} of it"
        raise RefusalError(why, why)


def _source_in(part: Part, network: Network) -> Callable[[Row], int | None]:
    """Return the function that finds the network's operator of a row.

    Regor counts the constants, too, which come first in our files.
    """
    tensors, operators = network.graph.tensors, network.graph.operators
    read = {i for index in part.operators for i in operators[index].inputs}
    constants = sum(tensors[i].data is not None for i in read)

    def source(row: Row) -> int | None:
        position = int(row.get("source_id") or 0) - 1 - constants
        return part.operators[position] if 0 <= position < len(part.operators) else None

    return source


def _rows(part: Part, network: Network, compiled: Compiled) -> list[Row]:
    """Return Regor's estimates, by the network's operators, which count from 1."""
    source = _source_in(part, network)
    sources = ((row, source(row)) for row in compiled.tables.get("perf", ()))
    return [{**row, "source_id": str(index + 1)} for row, index in sources if index is not None]


@dataclass(frozen=True)
class _CompiledPart:
    """A part as Vela compiled it; the residual has the tensors of its file."""

    compiled: Compiled
    residual: Residual


class _Cutter:
    """Compiles parts of a network, each once."""

    def __init__(self, network: Network, request: Request) -> None:
        self._network = network
        self._graph = network.graph
        self._request = request
        self._attempts: dict[tuple[int, ...], _CompiledPart | RefusalError] = {}

    def kind(self, index: int) -> tuple[object, ...]:
        """Return a key of everything that decides Vela's answer; constants' values do not."""
        op = self._graph.operators[index]
        ends = [self._graph.tensors[i] for i in (*op.inputs, *op.outputs)]
        options = tuple(sorted((name, str(value)) for name, value in op.options.items()))
        small = tuple(t.data for t in ends if t.data is not None and t.elements <= _ALIGNMENT)
        return (op.code, options, small, *((t.shape, t.dtype, t.data is None) for t in ends))

    def refused(self, allocation: Allocation[OperatorIndex]) -> dict[OperatorIndex, Kept]:
        """Return the operators that Vela refuses even alone, with the reason."""
        known: dict[tuple[object, ...], str] = {}
        refused: dict[OperatorIndex, Kept] = {}
        offered = units(self._graph, allocation)
        for unit in offered:
            kind = tuple(self.kind(index) for index in unit)
            if kind not in known:
                known[kind] = self._objection(unit)
            if known[kind]:
                refused |= dict.fromkeys(unit, Kept(known[kind]))
        inside = {index for unit in offered for index in unit} | set(allocation)
        wide = Kept("the NPU does not store int48, and another operator of its sum is on the CPU")
        operators = (OperatorIndex(op.index) for op in self._graph.operators)
        return refused | {index: wide for index in operators if index not in inside}

    def _objection(self, unit: Sequence[int]) -> str:
        try:
            self._compiled(make_part(self._graph, unit), None)
        except RefusalError as error:
            return f"Vela refuses it ({error.why})"
        return ""

    def _compiled(self, part: Part, limit_s: float | None) -> _CompiledPart:
        if part.operators not in self._attempts:
            try:
                self._attempts[part.operators] = self._attempted(part, limit_s)
            except RefusalError as error:
                self._attempts[part.operators] = error
        compiled = self._attempts[part.operators]
        if isinstance(compiled, RefusalError):
            raise compiled
        return compiled

    def _attempted(self, part: Part, limit_s: float | None) -> _CompiledPart:
        if not part.outputs or not part.inputs:
            raise RefusalError("nothing reads it", "nothing reads its result or makes its input")
        network = part.network(self._network)
        compiled = self._request.vela.compile(network, IoStyle.CALLER, limit_s)
        try:
            residual = Residual(_shaped(compiled, part, network), network, read_spans(compiled.log))
            _require_one(residual)
            residual.partitions([part.operators], [""])
        except UnsupportedError as error:
            raise RefusalError(str(error), str(error)) from None
        return _CompiledPart(compiled, residual)

    def division(self, allocation: Allocation[OperatorIndex], limit_s: float | None) -> Division:
        """Return the division with some operators on the CPU; RefusalError if Vela refuses it."""
        on_npu = {op.index for op in self._graph.operators} - set(allocation)
        steps = divide_graph(self._graph, on_npu)
        compiled = [self._compiled(step, limit_s) for step in steps if isinstance(step, Part)]
        return _Assembly(self._network, self._request, steps, compiled, allocation).division()


@dataclass(frozen=True)
class _CutAttempt:
    """Divides with some of the offered units on the CPU; the search for refusals calls it."""

    cutter: _Cutter
    request: Request
    allocation: Allocation[OperatorIndex]
    offered: Sequence[Sequence[OperatorIndex]]

    def __call__(self, refused: Mapping[int, str], limit_s: float | None = None, /) -> Division:
        """Divide without refused units; RefusalError if Vela or the CPU refuses the rest."""
        units_left = {
            index: Kept(why) for unit, why in refused.items() for index in self.offered[unit]
        }
        division = self.cutter.division(self.allocation | units_left, limit_s)
        self.request.require(division.plan)
        return division


class _Assembly:
    """Joins compiled parts and CPU operators to a plan."""

    def __init__(
        self,
        network: Network,
        request: Request,
        steps: Sequence[Part | Operator],
        compiled: Sequence[_CompiledPart],
        allocation: Allocation[OperatorIndex],
    ) -> None:
        self._network = network
        self._request = request
        self._steps = steps
        self._compiled = compiled
        self._allocation = allocation
        self._blob = b""
        self._reach: dict[int, int] = {}

    def division(self) -> Division:
        """Return the plan, and its known costs."""
        graph = replace(self._network.graph, operators=tuple(self._operators()))
        on_cpu = self._cpu_operators(graph.operators)
        partitions = tuple(self._partitions(graph.operators))
        partitions = tuple(
            replace(p, why_it_ends=why_it_ends(graph, p.operator, on_cpu)) for p in partitions
        )
        plan = Plan(
            network=self._network,
            accelerator=self._request.vela.npu,
            io=self._request.io,
            residual=graph,
            partitions=partitions,
            cpu_operators=on_cpu,
            npu_operators=sum(len(part.operators) for part in self._parts),
            blobs=make_blobs(self._blob, partitions),
            scratches=self._scratches(),
            sram_bytes=max(
                (part.compiled.peak_bytes.get("Sram", 0) for part in self._compiled), default=0
            ),
            npu_cycles=sum(part.compiled.npu_cycles for part in self._compiled),
            memory_mode=next((part.compiled.memory_mode for part in self._compiled), ""),
            reach=self._reach,
            compiler=VELA,
            way_out=way_out(partitions),
        )
        rows = [
            row
            for part, compiled in zip(self._parts, self._compiled, strict=True)
            for row in _rows(part, self._network, compiled.compiled)
        ]
        sources = (step.index if isinstance(step, Operator) else -1 for step in self._steps)
        origins = {
            ResidualIndex(position): OperatorIndex(index)
            for position, index in enumerate(sources)
            if index >= 0
        }
        return Division(plan, origins, {"perf": rows})

    @property
    def _parts(self) -> list[Part]:
        return [step for step in self._steps if isinstance(step, Part)]

    def _operators(self) -> list[Operator]:
        """Return the residual graph's operators: those on the CPU, and one for each part."""
        return [
            replace(step, index=position)
            if isinstance(step, Operator)
            else Operator(position, CUSTOM, step.inputs, step.outputs, CUSTOM_CODE)
            for position, step in enumerate(self._steps)
        ]

    def _cpu_operators(self, operators: Sequence[Operator]) -> tuple[CpuOperator, ...]:
        tensors = self._network.graph.tensors
        return tuple(
            CpuOperator(
                ResidualIndex(op.index),
                op.code,
                tensors[op.outputs[0]].name,
                self._allocation[OperatorIndex(step.index)].reason,
                self._allocation[OperatorIndex(step.index)].erratum,
            )
            for op, step in zip(operators, self._steps, strict=True)
            if isinstance(step, Operator)
        )

    def _partitions(self, operators: Sequence[Operator]) -> list[Partition]:
        compiled = iter(self._compiled)
        return [
            self._partition(number, op.index, step, next(compiled))
            for number, (op, step) in enumerate(
                (op, step)
                for op, step in zip(operators, self._steps, strict=True)
                if isinstance(step, Part)
            )
        ]

    def _partition(
        self, number: int, operator: int, part: Part, compiled: _CompiledPart
    ) -> Partition:
        """Return a part's partition, whose weights are appended to the blob."""
        (own,) = compiled.residual.partitions([part.operators], [""])
        indices = self._indices(part, compiled.residual)
        stream = stream_of(own)
        bases: tuple[Base, ...] = tuple(
            indices[base] if isinstance(base, int) else base for base in stream.bases
        )
        start = rounded_up(len(self._blob), _ALIGNMENT)
        data = compiled.residual.blobs((own,))[0].data
        commands = stream.commands
        if start and data:
            commands = shifted(commands, _BLOB, start, instruction_set(stream.config_word))
        if data:
            self._blob = self._blob.ljust(start, b"\0") + data
        for index, size in compiled.residual.reach.items():
            tensor = indices[index]
            self._reach[tensor] = max(size, self._reach.get(tensor, 0))
        (known,) = read_sources(compiled.compiled.tables, 1, _source_in(part, self._network))
        shifted_stream = Stream(commands, stream.id_word, stream.config_word, bases)
        return Partition(
            f"partition_{number}",
            ResidualIndex(operator),
            invoke(number, bases),
            part.inputs,
            part.outputs,
            part.operators,
            "",
            sourced(shifted_stream, compiled.residual.commands(0), known),
        )

    @staticmethod
    def _indices(part: Part, residual: Residual) -> dict[int, int]:
        """Return the network's tensor for each end of a compiled part, whose order Vela keeps."""
        theirs = (*residual.graph.inputs, *residual.graph.outputs)
        return dict(zip(theirs, (*part.inputs, *part.outputs), strict=True))

    def _scratches(self) -> tuple[Scratch, ...]:
        """Return memory for the largest part; nothing in it outlives a part."""
        scratches = []
        for kind in (RegionKind.SCRATCH, RegionKind.SCRATCH_FAST):
            sizes = [
                scratch.bytes
                for part in self._compiled
                for scratch in part.residual.scratches
                if scratch.name == kind.value
            ]
            is_fast = kind is RegionKind.SCRATCH_FAST
            scratches.append(Scratch(kind.value, max(sizes, default=0), is_fast=is_fast))
        return tuple(scratches)
