"""Partitions on the functional model, in process: no firmware, no QEMU."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ethosgen.model import Tensor
from ethosgen.npu.machine import Machine, RunReport
from ethosgen.npu.memory import Bus, Segment
from ethosgen.npu.trace import Trace
from ethosgen.outcome import Arrays
from ethosgen.plan import Memory, OffloadPlan, Partition

_ALIGNMENT = 4096
"""Segments start on pages of their own, so that an overrun faults and never meets a neighbour."""


class PartitionRunner:
    """Runs the partitions of one plan on the functional model.

    Every memory is a segment of its own: the read-only blob and the command streams cannot be
    written, the scratch is exactly as large as Vela says, and so an access outside faults.
    """

    def __init__(self, plan: OffloadPlan, trace: Trace | None = None) -> None:
        """Take the plan, and what is to be told of each operation."""
        if plan.accelerator is None:
            raise ValueError("a plan without an NPU has no partitions to run")
        self._plan = plan
        self._trace = trace
        self._segments: list[Segment] = []
        self._next_addr = _ALIGNMENT
        self._memories = {
            Memory.READ_ONLY: self._add("read_only", _bytes(plan.read_only), writable=False),
            Memory.SCRATCH: self._add("scratch", _zeros(plan.scratch_bytes)),
        }
        self._memories[Memory.SCRATCH_FAST] = (
            self._add("scratch_fast", _zeros(plan.scratch_fast_bytes))
            if plan.scratch_fast_bytes
            else self._memories[Memory.SCRATCH]
        )
        self._streams = {
            p.name: self._add(f"{p.name} commands", _bytes(p.commands), writable=False)
            for p in plan.partitions
        }
        self._tensors = self._own_tensors()
        self._machine = Machine(plan.accelerator, Bus(self._segments), trace)
        self.reports: list[RunReport] = []

    def __call__(self, partition: Partition, inputs: Arrays) -> Arrays:
        """Run one partition: inputs by tensor name to outputs by tensor name.

        What it leaves in variables among its inputs is returned too.
        NpuFault if the command stream does something that the NPU cannot.
        """
        for index in partition.inputs:
            tensor = self._plan.residual.tensors[index]
            place = self._place(index, tensor)
            place[:] = np.ascontiguousarray(inputs[tensor.name]).view(np.uint8).reshape(-1)
        if self._trace is not None:
            self._trace.begin_partition(partition.name)
        bases = [self._base_addr(base) for base in partition.bases]
        stream = self._streams[partition.name]
        report = self._machine.run(stream.start, len(partition.commands), bases)
        self.reports.append(report)
        kept = [i for i in partition.inputs if self._tensor(i).is_variable]
        return {t.name: self._fetch(t) for t in map(self._tensor, (*partition.outputs, *kept))}

    def _tensor(self, index: int) -> Tensor:
        return self._plan.residual.tensors[index]

    def _fetch(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        return self._place(tensor.index, tensor).copy().view(tensor.dtype).reshape(tensor.shape)

    def _add(self, name: str, memory: np.ndarray[Any, Any], writable: bool = True) -> Segment:
        segment = Segment(self._next_addr, memory, writable, name)
        self._segments.append(segment)
        pages = -(-max(len(memory), 1) // _ALIGNMENT)
        self._next_addr += (pages + 1) * _ALIGNMENT
        return segment

    def _own_tensors(self) -> Mapping[int, Segment]:
        """Return a segment for each tensor that has a base pointer of its own."""
        owned = {b for p in self._plan.partitions for b in p.bases if isinstance(b, int)}
        tensors = self._plan.residual.tensors
        return {
            i: self._add(tensors[i].name, _zeros(self._plan.buffer_bytes(tensors[i])))
            for i in sorted(owned)
        }

    def _base_addr(self, base: Memory | int) -> int:
        if isinstance(base, Memory):
            return self._memories[base].start
        return self._tensors[base].start

    def _place(self, index: int, tensor: Tensor) -> np.ndarray[Any, Any]:
        if index in self._tensors:
            return self._tensors[index].memory[: tensor.bytes]
        offset = self._plan.offsets[index]
        return self._memories[Memory.SCRATCH].memory[offset : offset + tensor.bytes]


def _bytes(data: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(data, np.uint8)


def _zeros(size: int) -> np.ndarray[Any, Any]:
    return np.zeros(size, np.uint8)
