"""Run partitions on the NPU model in process, without firmware or QEMU."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.machine import Machine, RunReport
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.trace import TraceObserver
from ethosgen.backend.ethosu.stream import (
    RegionKind,
    ports_of,
    read_only,
    scratch_bytes,
    stream_of,
)
from ethosgen.backend.trace import Trace
from ethosgen.values.errors import NpuFault
from ethosgen.values.multiples import pieces
from ethosgen.values.network import ABSENT, Tensor
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import Partition, Plan

_ALIGNMENT = 4096
"""Segments start on separate pages, so that an overrun faults instead of reaching a neighbour."""


Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _Call:
    """A prepared partition: its tensors in memory, and its addresses."""

    inputs: list[tuple[str, Array, tuple[int, ...]]]
    outputs: list[tuple[str, Array]]
    stream_addr: int
    stream_bytes: int
    bases: tuple[int, ...]
    ports: tuple[int, ...] | None


class PartitionRunner:
    """Runs the partitions of one plan on the NPU model.

    Every memory is a separate segment: the read-only blob and the command streams are not
    writable, and the scratch is exactly as large as Vela says, so an access outside faults.
    """

    def __init__(self, plan: Plan, trace: Trace | None = None) -> None:
        """Prepare the plan's memories; `trace` observes each operation."""
        if plan.accelerator is None:
            raise ValueError("a plan without an NPU has no partitions to run")
        self._plan = plan
        self._trace = trace
        self._segments: list[Segment] = []
        self._next_addr = _ALIGNMENT
        self._memories = {
            RegionKind.READ_ONLY: self._add_constant("read_only", read_only(plan)),
            RegionKind.SCRATCH: self._add("scratch", _zeros(scratch_bytes(plan))),
        }
        fast_bytes = scratch_bytes(plan, RegionKind.SCRATCH_FAST)
        self._memories[RegionKind.SCRATCH_FAST] = (
            self._add("scratch_fast", _zeros(fast_bytes))
            if fast_bytes
            else self._memories[RegionKind.SCRATCH]
        )
        self._streams = {
            p.name: self._add_constant(f"{p.name} commands", stream_of(p).commands)
            for p in plan.partitions
            if p.on_npu
        }
        self._tensors = self._own_tensors()
        self._leaving = _leaving(plan)
        self._calls: dict[str, _Call] = {}
        npu = find_accelerator(plan.accelerator.name)
        observer = TraceObserver(trace) if trace is not None else None
        self._machine = Machine(npu, Bus(self._segments), observer)
        self.reports: list[RunReport] = []

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name.

        The result also has the new values of variables among the inputs. NpuFault if the command
        stream is invalid or accesses other memory.
        """
        call = self._calls.get(partition.name)
        if call is None:
            call = self._calls[partition.name] = self._prepare(partition)
        for name, place, shape in call.inputs:
            array = inputs[name]
            place[...] = array if array.shape == shape else array.reshape(shape)
        if self._trace is not None:
            self._trace.begin_partition(partition.name)
        try:
            report = self._machine.run(call.stream_addr, call.stream_bytes, call.bases, call.ports)
        except NpuFault as fault:
            raise self._located(fault, partition) from None
        self.reports.append(report)
        self._check_bools(partition, call)
        return {name: place.copy() for name, place in call.outputs}

    def check_accesses(self) -> None:
        """Raise NpuFault for the first access outside the plan's memories, without running."""
        for partition in filter(lambda p: p.on_npu, self._plan.partitions):
            call = self._prepare(partition)
            try:
                self._machine.check_accesses(call.stream_addr, call.stream_bytes, call.bases)
            except NpuFault as fault:
                raise self._located(fault, partition) from None

    def _check_bools(self, partition: Partition, call: _Call) -> None:
        """Raise NpuFault for a bool other than 0 and 1 that leaves the NPU.

        Vela computes with -1 for true. Code on the CPU would read it, and NumPy would hide it.
        """
        for name, place in call.outputs:
            if (
                place.dtype == np.bool_
                and name in self._leaving
                and np.any(place.view(np.uint8) > 1)
            ):
                reason = f"the bool '{name}' leaves the NPU as {place.view(np.int8).min()} for true"
                raise self._located(NpuFault("bool", reason), partition)

    def _located(self, fault: NpuFault, partition: Partition) -> NpuFault:
        """Return a fault with its command's operator and tensor.

        If Vela does not name the operator, it is the whole partition.
        """
        source = stream_of(partition).sources.get(fault.offset)
        if source is None:
            tensors = [self._plan.residual.tensors[index] for index in partition.outputs]
            where = f"in partition '{partition.name}'"
        else:
            operator = self._plan.network.graph.operators[source]
            tensors = [self._plan.network.graph.tensors[operator.outputs[0]]]
            where = f"for operator {source}, {operator.custom_code or operator.code}"
        names = ", ".join(f"'{tensor.name}'" for tensor in tensors)
        reason = f"{fault.reason}; {where}, which makes {names}"
        return NpuFault(fault.kind, reason, fault.offset, fault.command)

    def _prepare(self, partition: Partition) -> "_Call":
        tensors = self._plan.residual.tensors
        inputs = [tensors[i] for i in partition.inputs]
        outputs = [tensors[i] for i in partition.outputs]
        return _Call(
            [(t.name, self._view(t), t.shape) for t in inputs],
            [(t.name, self._view(t)) for t in (*outputs, *(t for t in inputs if t.is_variable))],
            self._streams[partition.name].start,
            len(stream_of(partition).commands),
            tuple(self._base_addr(base) for base in stream_of(partition).bases),
            ports_of(self._plan, partition),
        )

    def _view(self, tensor: Tensor) -> Array:
        return self._place(tensor.index, tensor).view(tensor.dtype).reshape(tensor.shape)

    def _add_constant(self, name: str, data: bytes) -> Segment:
        return self._add(name, np.frombuffer(data, np.uint8), writable=False)

    def _add(self, name: str, memory: Array, writable: bool = True) -> Segment:
        segment = Segment(self._next_addr, memory, writable, name, constant=not writable)
        self._segments.append(segment)
        pages = pieces(max(len(memory), 1), _ALIGNMENT)
        self._next_addr += (pages + 1) * _ALIGNMENT
        return segment

    def _own_tensors(self) -> Mapping[int, Segment]:
        """Return a segment for each tensor that has its own base pointer."""
        bases = (base for p in self._plan.partitions if p.on_npu for base in stream_of(p).bases)
        owned = {base for base in bases if isinstance(base, int)}
        tensors = self._plan.residual.tensors
        return {
            i: self._add(tensors[i].name, _zeros(self._plan.buffer_bytes(tensors[i])))
            for i in sorted(owned)
        }

    def _base_addr(self, base: RegionKind | int) -> int:
        if isinstance(base, RegionKind):
            return self._memories[base].start
        return self._tensors[base].start

    def _place(self, index: int, tensor: Tensor) -> Array:
        if index in self._tensors:
            return self._tensors[index].memory[: tensor.bytes]
        offset = self._plan.offsets[index]
        return self._memories[RegionKind.SCRATCH].memory[offset : offset + tensor.bytes]


def _leaving(plan: Plan) -> frozenset[str]:
    """Return the names of tensors that the CPU, another accelerator or the caller reads."""
    graph = plan.residual
    on_npu = {p.operator for p in plan.partitions if p.on_npu}
    others = (op.inputs for op in graph.operators if op.index not in on_npu)
    indices = {*graph.outputs, *(i for inputs in others for i in inputs if i != ABSENT)}
    return frozenset(graph.tensors[i].name for i in indices)


def _zeros(size: int) -> Array:
    return np.zeros(size, np.uint8)
